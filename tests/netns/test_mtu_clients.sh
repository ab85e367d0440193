#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A client behind a link that is narrower than both ends know. The router before it tells the
# VIP so, as all packets come from there, and the error has to find the backend that sent the
# packet: or downloads stall. In each forward mode, with three backends.
#
#   far eth0 (MTU 1500) ---- (MTU 1400) eth2 client eth0 ---- lb ---- b1, b2, b3
#                                            client eth1 ------------ (the way back of all but nat)
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/netns/backend.sh
. "$(dirname "$0")/backend.sh"

FAR4=10.77.3.2 FAR6=fd77:3::2
ROLES='b1 b2 b3'
ROUNDS=4

mtu_config() {
	write_config 3 | sed '/^vips:/,$d'
	config_pool far ipip 10.77.2. 0 1 2 3
	write_config 3 | sed -n '/^vips:/,$p'
	config_vip $VIP4 tcp 80 far
	config_vip $VIP6 tcp 80 far
}

far_start() {
	topology_add_ns far && topology_link client eth2 far eth0 &&
		topology_address client eth2 3.1 && topology_address far eth0 3.2 &&
		ip -n "$TOPOLOGY_ID-far" route add default via 10.77.3.1 &&
		ip -n "$TOPOLOGY_ID-far" -6 route add default via fd77:3::1 &&
		ip -n "$TOPOLOGY_ID-lb" route add 10.77.3.0/24 via "$CLIENT4" &&
		ip -n "$TOPOLOGY_ID-lb" -6 route add fd77:3::/64 via "$CLIENT6" &&
		topology_in client sysctl -qw net.ipv4.conf.all.forwarding=1 \
			net.ipv6.conf.all.forwarding=1 net.ipv4.icmp_ratelimit=0 \
			net.ipv6.icmp.ratelimit=0 &&
		ip -n "$TOPOLOGY_ID-client" link set eth2 mtu 1400
}

forget_mtus() {
	local role
	for role in $ROLES; do
		topology_in "$role" ip route flush cache && topology_in "$role" ip -6 route flush cache || return 1
	done
}

# Several flows, so that not one backend has them all.
downloads() {
	local i
	for ((i = 0; i < ROUNDS; i++)); do
		is "$(topology_in far curl -sm 10 -o /dev/null -w '%{size_download}' "http://$(endpoint "$1" 80)/file")" 20971520 || return 1
	done
}

# Some backend's kernel was told, by its own way to the client.
told() {
	local role route to=$FAR4
	[[ $1 != *:* ]] || to=$FAR6
	for role in $ROLES; do
		route=$(topology_in "$role" ip route get "$to" ${2:+from "$1"})
		echo "$role: $route"
		[[ $route != *" mtu 1400"* ]] || return 0
	done
	return 1
}

start two 3
for role in $ROLES; do check "$role: a plain backend" backend_make_plain "$role"; done
for role in $ROLES; do
	for vip in $DR4 $DR6; do ip -n "$TOPOLOGY_ID-$role" addr add "$vip" dev lo; done
	check "$role: attach" backend "$role" attach eth0 --vip $VIP4 $VIP6
done
check 'a client far away' far_start
mtu_config >"$CONFIG"
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 5 all_up
for vip in $NAT4 $NAT6 $DR4 $DR6 $VIP4 $VIP6; do
	check "VIP $vip: forget" forget_mtus
	check "VIP $vip: $ROUNDS downloads of 20 MB" downloads "$vip"
	case $vip in
	"$NAT4" | "$NAT6") check "VIP $vip: its backend was told" told "$vip" ;;
	*) check "VIP $vip: its backend was told" told "$vip" from ;;
	esac
done
check 'nothing was too long for backends' is "$(answer '.verdicts[] | select(.name == "TX_TOO_BIG") | .packets' stats)" 0
for role in $ROLES; do check "$role: detach" backend "$role" detach eth0; done
finish
