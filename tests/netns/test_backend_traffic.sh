#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Real TCP through a tunnel to a backend that ringlb-backend has set up, and straight back:
# ipip and both variants of gue, all families, with a sender that is not ringlb's. Segments
# that do not fit are lost on the way in without a word, so uploads need the lowered MSS.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/netns/backend.sh
. "$(dirname "$0")/backend.sh"

b1() { backend b1 "$@"; }

# tunnel_start KIND FAMILY [DEV-IN-B1]: from now on, packets for VIPs go into this tunnel
tunnel_start() {
	local source=10.77.2.1 destination=10.77.2.11
	[ "$2" = 4 ] || source=fd77:2::1 destination=fd77:2::11
	[ -z "${TUNNEL_TO:-}" ] || destination=$TUNNEL_TO
	topology_spawn lb "$TOPOLOGY_DIR/tunnel.out" "$ROOT/tests/netns/tunnel.py" eth0 eth1 "$1" \
		"$source" "$destination" "$(topology_mac b1 eth0)" "$VIP4" "$VIP6"
	TUNNEL=$TOPOLOGY_PID
	wait_for 5 grep -q ready "$TOPOLOGY_DIR/tunnel.out" || {
		cat "$TOPOLOGY_DIR/tunnel.out"
		return 1
	}
}

tunnel_end() { kill "$TUNNEL" && wait_for 5 refused kill -0 "$TUNNEL"; }

url() { echo "http://$(endpoint "$1" 80)/"; }
gets() { is "$(topology_in client curl -sm "${3:-5}" "$(url "$1")")" "$2"; }
downloads() { is "$(topology_in client curl -sm 10 "$(url "$1")3M" | wc -c)" 3145728; }
uploads() {
	is "$(topology_in client curl -sm "${2:-10}" -H Expect: --data-binary "@$TOPOLOGY_DIR/3M" "$(url "$1")upload")" b1
}

# all_ways WHAT VERDICT
all_ways() {
	local vip
	for vip in $VIP4 $VIP6; do
		check "$1, VIP $vip: a request" gets "$vip" b1
		check "$1, VIP $vip: 3 MB to the client" downloads "$vip"
		check "$1, VIP $vip: 3 MB from the client" uploads "$vip"
	done
	check "$1: all came out of that tunnel" test "$(backend_count b1 "$2")" -gt 4000
	check "$1: check finds nothing wrong" backend_fine b1
}

start two 1
head -c 3145728 /dev/urandom >"$TOPOLOGY_DIR/3M"
cp "$TOPOLOGY_DIR/3M" "$TOPOLOGY_DIR/b1/3M"
check 'a plain backend' backend_make_plain b1
# The kernel of lb does not know VIPs: it would tell clients so.
topology_in lb ip route add blackhole 10.77.100.0/24
topology_in lb ip -6 route add blackhole fd77:100::/64

check 'nobody is there yet' refused gets $VIP4 b1 1
for family in 4 6; do
	for kind in ipip gue gue0 gue/7777; do
		mode=${kind%%[0/]*} port=()
		[ "$kind" != gue/7777 ] || port=(--gue-port 7777)
		check "$kind over IPv$family: attach" b1 attach eth0 --vip $VIP4 $VIP6 --mode "$mode" \
			"${port[@]}" --mss-clamp 1388 --from 10.77.2.1 fd77:2::1
		check "$kind over IPv$family: a tunnel" tunnel_start $kind $family
		all_ways "$kind over IPv$family" "PASS_${mode^^}"
		check "$kind over IPv$family: SYN-ACKs were changed" test "$(backend_count b1 PASS_CLAMPED)" -ge 6
		check "$kind over IPv$family: the tunnel ends" tunnel_end
		check "$kind over IPv$family: detach" b1 detach eth0
	done
done

# ---- without the lowered MSS ----

check 'attach, MSS left alone' b1 attach eth0 --vip $VIP4 $VIP6
check 'a tunnel' tunnel_start ipip 4
check 'a request' gets $VIP4 b1
check 'a download' downloads $VIP4
check 'an upload stalls: its segments do not fit' refused uploads $VIP4 2
check 'check says what to do' backend_hints b1 'full segments of clients do not fit.*--mss-clamp 1392'
check 'detach' b1 detach eth0
check 'attach as check said' b1 attach eth0 --vip $VIP4 $VIP6 --mss-clamp 1392
check 'the upload' uploads $VIP4
check 'detach' b1 detach eth0

# ---- prefixes ----

check 'attach, for prefixes' b1 attach eth0 --vip 10.77.100.8/29 fd77:100::8/125 --mss-clamp 1392
for vip in $VIP4 $VIP6; do
	check "$vip of a prefix is served" gets "$vip" b1
	check "$vip: an upload" uploads "$vip"
done
check 'check finds nothing wrong' backend_fine b1
check 'detach' b1 detach eth0
check 'nothing is served any more' refused gets $VIP4 b1 1

# ---- what must not get in, and what check makes of it ----

check 'attach, from elsewhere' b1 attach eth0 --vip $VIP4 $VIP6 --from 10.77.99.0/24
check 'not from there' refused gets $VIP4 b1 1
check 'counted' test "$(backend_count b1 DROP_NOT_FROM)" -gt 0
check 'check says so' backend_hints b1 'outer source is not in --from'
check 'detach' b1 detach eth0

check 'attach, for one VIP' b1 attach eth0 --vip $VIP4
check 'it is served' gets $VIP4 b1
check 'the other is not' refused gets $VIP6 b1 1
check 'check says so' backend_hints b1 'is a VIP of the pool missing here'
check 'detach' b1 detach eth0

check 'attach, for gue' b1 attach eth0 --vip $VIP4 --mode gue
check 'ipip is not taken out' refused gets $VIP4 b1 1
check 'check says so' backend_finds b1 'came in another encapsulation than gue .--mode'
check 'detach' b1 detach eth0
check 'the tunnel ends' tunnel_end

check 'attach' b1 attach eth0 --vip $VIP4
check 'a tunnel to another port' tunnel_start gue/6081 6
check 'nothing comes out' refused gets $VIP4 b1 1
# The tunnel is a program that may lag behind: packets have to come until it is seen.
told_of_port() {
	gets "$VIP4" b1 1
	backend_finds b1 'gue packets for VIPs came to UDP port 6081, not 6080 .--gue-port 6081'
}
check 'check says which' wait_for 20 told_of_port
check 'the tunnel ends' tunnel_end
check 'detach' b1 detach eth0

# ---- an address that came later ----

check 'attach' b1 attach eth0 --vip $VIP4
ip -n "$TOPOLOGY_ID-b1" addr add 10.77.2.99/24 dev eth0
TUNNEL_TO=10.77.2.99
check 'a tunnel to an address that is new' tunnel_start ipip 4
check 'not taken out' refused gets $VIP4 b1 1
check 'attach again' b1 attach eth0
check 'taken out' gets $VIP4 b1
TUNNEL_TO=
check 'the tunnel ends' tunnel_end
check 'detach' b1 detach eth0

# ---- on a bridge: generic XDP ----

ns=$TOPOLOGY_ID-b1
topology_in b1 sysctl -qw net.ipv4.conf.default.rp_filter=1
ip -n "$ns" link add br0 address "$(topology_mac b1 eth0)" type bridge mcast_snooping 0
ip -n "$ns" addr flush dev eth0
ip -n "$ns" link set eth0 master br0
ip -n "$ns" link set br0 up
ip -n "$ns" addr add 10.77.2.11/24 dev br0
ip -n "$ns" addr add fd77:2::11/64 dev br0 nodad
for table in main 100; do
	ip -n "$ns" route replace default via 10.77.2.9 table $table
	ip -n "$ns" -6 route replace default via fd77:2::9 table $table
done
check 'attach to a bridge' b1 attach br0 --vip $VIP4 $VIP6 --mss-clamp 1392
check 'in generic mode' is "$(b1 status --json | jq -r '.[0].xdp')" generic
for kind in ipip gue; do
	check "a bridge, $kind: a tunnel" tunnel_start $kind 4
	all_ways "a bridge, $kind" "PASS_${kind^^}"
	check "a bridge, $kind: the tunnel ends" tunnel_end
done
check 'detach' b1 detach br0
finish
