#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Print the rings in the maps pinned in a directory: "POOL POSITION BACKEND" lines.

Reads bpf/ring_abi.h's layout past the daemon. Fails if an arc is moving.

Usage: rings.py PIN-DIR
"""

import json
import struct
import subprocess
import sys

POOL, BACKEND = 1, 2
HEADER = "=QIIIIIHH"  # seed, len, shift, starts_at, entries_at, clocks_at, clocks, moving
ENTRY = "=QHHHH"  # position, owner, previous, flags, clock


def dump(*which):
    command = ["bpftool", "-j", "map", "dump", *which]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def octets(values):
    return bytes(int(value, 16) for value in values)


def text(field):
    return field.split(b"\0")[0].decode()


def labels(pin_dir):
    found = {POOL: {}, BACKEND: {}}
    for entry in dump("pinned", f"{pin_dir}/labels"):
        kind, number = struct.unpack("=II", octets(entry["key"]))
        pool, backend = struct.unpack("=64s64s", octets(entry["value"]))
        found[kind][number] = text(pool if kind == POOL else backend)
    return found


def ring(map_id):
    """(position, backend id) pairs of one ring map."""
    value = octets(dump("id", str(map_id))[0]["value"])
    _, length, _, _, entries_at, _, _, moving = struct.unpack_from(HEADER, value)
    if moving:
        sys.exit("rings.py: an arc is moving")
    for slot in range(length):
        at = entries_at + slot * struct.calcsize(ENTRY)
        position, owner, *_ = struct.unpack_from(ENTRY, value, at)
        yield position, owner


def live_rings(pin_dir):
    """(pool, map id) pairs: those of the class that counts."""
    for entry in dump("pinned", f"{pin_dir}/ring_classes"):
        (pool,) = struct.unpack("=I", octets(entry["key"]))
        (number,) = struct.unpack("=Q", octets(entry["value"]))
        key = ["key", *map(str, struct.pack("=I", pool))]
        command = ["bpftool", "-j", "map", "lookup", "pinned", f"{pin_dir}/rings_{number}", *key]
        found = subprocess.run(command, check=False, capture_output=True)
        if found.returncode == 0 and "value" in (answer := json.loads(found.stdout)):
            yield pool, struct.unpack("=I", octets(answer["value"]))[0]


def main():
    names = labels(sys.argv[1])
    rings = {}
    for pool, map_id in live_rings(sys.argv[1]):
        if pool in names[POOL]:
            rings[names[POOL][pool]] = map_id
    for pool in sorted(rings):
        for position, owner in ring(rings[pool]):
            print(pool, f"{position:#018x}", names[BACKEND][owner])


if __name__ == "__main__":
    main()
