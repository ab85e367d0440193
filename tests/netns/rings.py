#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Print the rings in the maps pinned in a directory: "POOL POSITION BACKEND" lines.

Reads bpf/abi.h's layout past the daemon. Fails if an arc is moving.

Usage: rings.py PIN-DIR
"""

import json
import struct
import subprocess
import sys

POOL, BACKEND = 1, 2
HEADER_LEN = 2  # elements: header, seed
OWNERS_PER_ELEMENT = 4


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
    elements = [octets(entry["value"]) for entry in dump("id", str(map_id))]
    length, moving, _ = struct.unpack("=IHH", elements[0])
    if moving:
        sys.exit("rings.py: an arc is moving")
    positions = elements[HEADER_LEN : HEADER_LEN + length]
    owners = b"".join(elements[HEADER_LEN + length :])
    for slot, position in enumerate(positions):
        (owner,) = struct.unpack_from("=H", owners, 2 * slot)
        yield struct.unpack("=Q", position)[0], owner


def main():
    names = labels(sys.argv[1])
    rings = {}
    for entry in dump("pinned", f"{sys.argv[1]}/rings"):
        (pool,) = struct.unpack("=I", octets(entry["key"]))
        if pool in names[POOL] and "error" not in entry["value"]:
            (rings[names[POOL][pool]],) = struct.unpack("=I", octets(entry["value"]))
    for pool in sorted(rings):
        for position, owner in ring(rings[pool]):
            print(pool, f"{position:#018x}", names[BACKEND][owner])


if __name__ == "__main__":
    main()
