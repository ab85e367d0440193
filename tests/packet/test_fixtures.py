#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Another balancer's test cases. Each gives the same bytes here, but for what is stated below:
the RULES of ringlb's outer headers, and the rows in DIFFERS, each with its reason and what
ringlb makes of it. A row that is neither fails, and so does one that comes to agree."""
import collections
import sys

sys.dont_write_bytecode = True

import fixtures  # noqa: E402
from packets import Tap  # noqa: E402

RULES = {
    "id": "outer IPv4 id and DF are the inner packet's where that may be fragmented (RFC 2003)",
    "label": "outer IPv6 flow label from the flow's hash, for ECMP on the way (RFC 6438)",
}
REASONS = {
    "options": "IPv4 options are stepped over and the packet is balanced",
    "fragment": "fragments of protocols that are not balanced are left to the kernel",
    "hash": "no VIP is hashed by its destination port alone",
    "memory": "outside of moving arcs no flow is remembered: unknown ids go by hash",
    "version": "which packets of a private QUIC version carry a server's id is not known",
    "quic": "ids of QUIC-LB begin on an octet, this one in the middle of one",
    "tcp-id": "no server ids in TCP options: flows go by hash",
    "udp-id": "no server ids in UDP payloads but QUIC's: flows go by hash",
    "source": "no routing by source address: flows go by hash",
    "decap": "tunnels end at the backends, in ringlb-backend; here they pass",
    "mark": "health checks come from the daemon's own sockets: marked packets are like others",
    "told": "ICMP errors about what is too long tell the MTU of the way, less what the tunnel takes, "
            "and quote as much as RFC 1812 and RFC 4443 allow",
}


class Wrong(Exception):
    """What was found is not what it must be."""


def require(fine, text):
    if not fine:
        raise Wrong(text)


def reals_of(state, packet):
    pool = state.pool_of(packet)
    return [real for real in pool.reals if real not in pool.down]


def equal(found, expected):
    """Compare two Encapsulated, field by field."""
    for field in fixtures.dataclasses.fields(found):
        ours, theirs = getattr(found, field.name), getattr(expected, field.name)
        require(ours == theirs, f"outer {field.name}: found {ours!r}, expected {theirs!r}")


def check_destination(state, case, real):
    rule, before = case["dst_rule"], state.reals.get(case.get("depends_on"))
    if rule == "hash":
        fine = real in reals_of(state, case["input"][14:])
    elif rule in ("lru", "same-flow", "same-real"):
        fine = real == before
    elif rule == "hash-moved":
        fine = real in reals_of(state, case["input"][14:]) and real != before
    else:  # fixed by what is in the packet
        fine = real == case["outer_dst"]
    require(fine, f"goes to {real} by rule '{rule}', {before} before")


def as_there(state, case, action, frame):
    """The fixture's bytes, masked as its README says. Returns the rules that were needed."""
    require(f"XDP_{action}" == case["action"], f"found {action}, expected {case['action']}")
    if "encap" not in case:
        require(frame == case["output"], f"found {frame.hex()}, expected {case['output'].hex()}")
        return ()
    found, there = fixtures.read_outer(frame), fixtures.read_outer(case["output"])
    check_destination(state, case, found.destination)
    # Its header is as ours would be to that real, but for the rules.
    ours = fixtures.outer_of(there.inner, there.destination, state.forward)
    rules = []
    if (ours.id, ours.fragment) != (there.id, there.fragment):
        rules.append("id")
    if ":" in there.destination:
        rules.append("label")
    equal(there.but(id=ours.id, fragment=ours.fragment, wrong=""), ours)
    equal_to_ours(state, found, there.inner)
    return rules


def equal_to_ours(state, found, inner):
    ours = fixtures.outer_of(inner, found.destination, state.forward)
    require((":" in found.destination) == (found.label > 0), f"flow label is {found.label:#x}")
    equal(found, ours.but(label=found.label))


def balanced(like=None, unlike=None):
    """Sent as any packet of its flow, to a real of its VIP: that of the row @like, say."""
    def check(state, case, action, frame):
        require(action == "TX", f"found {action}, expected TX")
        inner, found = case["input"][14:], fixtures.read_outer(frame)
        real = found.destination
        require(real in reals_of(state, inner), f"goes to {real}, not of the VIP's")
        if like:
            require(real == state.reals[f"{case['set']}/{like}"], f"goes to {real}, not as {like}")
        if unlike:
            require(real != state.reals[f"{case['set']}/{unlike}"], f"goes to {real}, as {unlike}")
        equal_to_ours(state, found, inner)
    return check


def told(mtu):
    """Answered by the ICMP error of a VIP, byte for byte but for the checksums, which others see."""
    def check(state, case, action, frame):
        packet = case["input"][14:]
        is_ipv6 = packet[0] >> 4 == 6
        at = 14 + (40 if is_ipv6 else 20)
        source, destination = (slice(8, 24), slice(24, 40)) if is_ipv6 else (slice(12, 16),
                                                                             slice(16, 20))
        require(action == "TX", f"found {action}, expected TX")
        require(frame[:14] == case["input"][6:12] + case["input"][:6] + case["input"][12:14],
                "the MAC addresses are not swapped")
        require((frame[14:][source], frame[14:][destination])
                == (packet[destination], packet[source]), "the addresses are not swapped")
        require(frame[at:at + 2] == (b"\2\0" if is_ipv6 else b"\3\4"), "type or code is wrong")
        require(frame[at + 4:at + 8] == mtu.to_bytes(4, "big"), f"the MTU is not {mtu}")
        quoted = packet[:(1280 if is_ipv6 else 576) - (at - 14) - 8]
        require(frame[at + 8:] == quoted, "the quote is not the packet's beginning")
    return check


def left_alone(state, case, action, frame):
    require((action, frame) == ("PASS", case["input"]), f"found {action} {frame.hex()}")


def rows(sets, names, reason, check):
    return {f"{one}/{name}": (reason, check) for one in sets for name in names.split()}


BOTH = ("base", "gue")
DIFFERS = {
    **rows(BOTH, "drop-ip-options", "options", balanced(like="tcp-v4-vip-ack")),
    **rows(BOTH, "drop-v6-fragment", "fragment", left_alone),
    **rows(BOTH, "dport-hash-2", "hash", balanced(unlike="dport-hash-1")),
    **rows(BOTH, "quic-handshake-cid-v1 quic-retry-cid-v1", "version",
           balanced(like="quic-initial")),
    **rows(BOTH, "quic-short-cid-v1", "quic", balanced(like="quic-initial")),
    **rows(BOTH, "quic-short-unknown-cid-v2", "memory", balanced(like="quic-initial")),
    **rows(("base",), "drop-too-big", "told", told(1480)),
    **rows(("icmp-too-big",), "generate-frag-needed", "told", told(1480)),
    **rows(("icmp-too-big",), "generate-too-big-v6", "told", told(1460)),
    **rows(("icmp-too-big-origin-gue",), "generate-frag-needed-gue", "told", told(1472)),
    **rows(("icmp-too-big-origin-gue",), "generate-too-big-v6-gue", "told", told(1452)),
    **rows(("tpr", "tpr-gue"), "ack-server-id-v4 ack-server-id-any-port ack-server-id-v6-real "
           "ack-server-id-v6 server-id-over-lru-v4 server-id-over-lru-v6 "
           "server-id-after-many-options dport-hash-server-id", "tcp-id", balanced()),
    **rows(("lpm-src",), "src-17 src-17-again src-24 src-64 src-64-over-32 src-64-other-host",
           "source", balanced()),
    **rows(("udp-stable-rt",), "stable-id-same-src stable-id-other-port stable-id-other-ip",
           "udp-id", balanced()),
    **rows(("decap-stats",), "gue-6in6-to-self gue-4in6-to-self", "decap", left_alone),
    **rows(("xpop-decap",), "decap-reencap-v4 decap-reencap-v4-v6-real decap-reencap-v6 "
           "decap-ttl-expired decap-hoplimit-expired decap-own-address", "decap", left_alone),
    **rows(("egress-decap",), "egress-v4 egress-v6 egress-ttl-expired", "decap", left_alone),
    **rows(("healthcheck", "healthcheck-gue"), "hc-no-mark hc-mark-1 hc-mark-2 hc-mark-3-v6",
           "mark", balanced()),
}

tap = Tap()
counts = collections.Counter()


def note_real(state, case, action, frame):
    if action == "TX" and case.get("encap"):
        state.reals[case["name"]] = fixtures.read_outer(frame).destination


def judge(state, case, action, frame):
    """What to count the row as; raises Wrong."""
    try:
        rules = as_there(state, case, action, frame)
    except Wrong as wrong:
        if case["name"] not in DIFFERS:
            raise
        reason, check = DIFFERS[case["name"]]
        try:
            check(state, case, action, frame)
        except Wrong as other:
            raise Wrong(f"{other}; there it was that {wrong}") from other
        return [REASONS[reason]]
    require(case["name"] not in DIFFERS, "agrees, although it is listed as different")
    return [f"same bytes, but: {RULES[rule]}" for rule in rules] or ["same bytes"]


def run_row(state, case):
    action, verdict, frame = state.runner.run(case["input"])
    try:
        kinds = judge(state, case, action, frame)
    except Wrong as wrong:
        tap.ok(False, case["name"], str(wrong), f"verdict {verdict}")
    else:
        tap.ok(True, f"{case['name']}: {' and '.join(kinds)}")
        counts["; ".join(kinds)] += 1
    note_real(state, case, action, frame)


def go_on(state):
    """Between the two sets a real goes down, for two of the VIPs."""
    for pool in fixtures.MIXED[:2]:
        state.take_down(pool, "10.0.0.2")


cases, state = fixtures.read_cases(), None
for name, of_set in cases.items():
    if name == "udp-migration-2":
        go_on(state)
    else:
        if state:
            state.runner.stop()
        state = fixtures.Set(name)
    for one in of_set:
        run_row(state, one)
tap.equal(sum(len(of_set) for of_set in cases.values()), 161, "no row is missing")
unknown = set(DIFFERS) - {one["name"] for of_set in cases.values() for one in of_set}
tap.equal(unknown, set(), "every row that is listed as different is there")
for kind, number in counts.most_common():
    print(f"# {number:3} {kind}")
tap.finish()
