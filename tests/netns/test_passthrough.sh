#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What is not for a VIP passes untouched: routed traffic, the load balancer's own
# services, other ports of a VIP's address, and backends that talk to the load balancer.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"

# gets WHO WANTED URL
gets() { is "$(topology_in "$1" curl -sm 3 "$3")" "$2"; }
# from_port SOURCE DESTINATION: b1 asks lb from a port that is balanced
from_port() { is "$(topology_in b1 "$FLOWS" ask tcp "$1" "$2" 80 9090)" '9090 lb'; }
pings() { topology_in "$1" ping -c 3 -i 0.05 -W 1 "${@:2}"; }
verdict() { answer ".verdicts[] | select(.action == \"$1\" and (.name | endswith(\"$2\"))) | .packets" stats; }
no_drops() {
	ringlb stats
	is "$(answer '[.verdicts[] | select(.action == "DROP") | .packets] | add // 0' stats)" 0
}

# Nothing was counted for VIPs or backends yet
no_packets() { is "$(answer '[.vips[].packets, .backends[].packets] | add' stats)" 0; }

start two 3
topology_start_nginx lb 1
# The load balancer may have the VIPs itself; what no VIP of ringlb takes is its own.
topology_in lb ip addr add $NAT4 dev lo
topology_in lb ip addr add $NAT6 dev lo
# A backend's port that nothing listens on, so that a client there can use it.
sed -i 's/port: 8080/port: 9090/' "$CONFIG"
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 5 all_up
check "ping from the client to the load balancer" pings client 10.77.1.1
check "ping over IPv6" pings client fd77:1::1
check "ping through it to a backend" pings client 10.77.2.11
check "ping through it over IPv6" pings client fd77:2::12
check "ping with fragments" pings client -s 3000 10.77.2.11
check "ping with fragments over IPv6" pings client -s 3000 fd77:2::11
check "TCP from the client to a backend" gets client b1 http://10.77.2.11/
check "TCP over IPv6" gets client b2 "http://[fd77:2::12]/"
check "a large download of it" topology_in client curl -sSm 10 -o /dev/null http://10.77.2.11/file
check "the load balancer's own service" gets client lb http://10.77.1.1/
check "the same over IPv6" gets client lb "http://[fd77:1::1]/"
check "from the load balancer to a backend" gets lb b3 http://10.77.2.13/
check "even to the port that is balanced" gets lb b3 http://10.77.2.13:8080/
check "from a backend to the load balancer" gets b1 lb http://10.77.2.1/
check "from a backend, over IPv6" gets b1 lb "http://[fd77:2::1]/"
check "from a backend, from its service's port" from_port 10.77.2.11 10.77.2.1
check "the same over IPv6" from_port fd77:2::11 fd77:2::1
check "another port of a VIP's address" gets client lb http://$NAT4:8080/
check "another port over IPv6" gets client lb "http://[$NAT6]:8080/"
check "another protocol on a VIP's address" pings client $NAT4
check "nothing of this was counted for VIPs or backends" no_packets
check "it was counted as passed" test "$(verdict PASS NOT_VIP)" -gt 100
check "replies of backends to the load balancer too" test "$(verdict PASS REPLY_NOT_ROUTED)" -gt 5
check "nothing was dropped" no_drops
sed -i 's/port: 9090/port: 8080/' "$CONFIG"
check "backends move to the port of their services" ringlb reload
check "the VIP on the same address is balanced" \
	diff <(ask tcp $NAT4 80 23000 30) <(predict tcp $NAT4 80 23000 30)
check "nothing was dropped" no_drops
finish
