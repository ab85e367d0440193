#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Backends, and neighbours of theirs, as clients of their own VIPs: what docs/backends.md says
# of each mode.
# shellcheck source=tests/netns/tunnels.sh
. "$(dirname "$0")/tunnels.sh"

TUNNEL_VIPS="$TUNNEL_VIPS $DR4 $DR6"
TOPOLOGY_DR_VIPS=$TUNNEL_VIPS
COUNT=24

hairpin_config() {
	config_interfaces
	config_soon
	echo 'pools:'
	config_pool nat4 nat 10.77.2. 8080 1 2
	config_pool nat6 nat fd77:2:: 8080 1 2
	config_pool dr dr 10.77.2. 0 1 2
	config_pool ipip ipip 10.77.2. 0 1 2
	config_pool gue gue fd77:2:: 0 1 2
	echo 'vips:'
	config_vip $NAT4 tcp 80 nat4
	config_vip $NAT6 tcp 80 nat6
	config_vip $DR4 tcp 80 dr
	config_vip $DR6 tcp 80 dr
	config_vip "${IPIP_VIPS% *}" tcp 80 ipip
	config_vip "${IPIP_VIPS#* }" tcp 80 ipip
	config_vip "${GUE_VIPS% *}" tcp 80 gue
	config_vip "${GUE_VIPS#* }" tcp 80 gue
}

# asks ROLE SOURCE4 SOURCE6 VIP [PORT]: one "PORT BACKEND" line for each flow, or of that port
asks() {
	local source=$2
	[[ $4 != *:* ]] || source=$3
	topology_in "$1" "$FLOWS" ask tcp "$source" "$4" 80 "${5:-$FIRST-$((FIRST + COUNT - 1))}"
}

# Who should answer these: foretold SOURCE4 SOURCE6 VIP
foretold() { CLIENT4=$1 CLIENT6=$2 predict tcp "$3" 80 "$FIRST" "$COUNT"; }

# All flows find the backend that the ring says, and both have some: balanced ROLE SOURCE4 SOURCE6 VIP
balanced() {
	local wanted
	wanted=$(foretold "${@:2}")
	grep -q ' b1$' <<<"$wanted" && grep -q ' b2$' <<<"$wanted" && diff <(asks "$@") - <<<"$wanted"
}

# served_by NAME ROLE SOURCE4 SOURCE6 VIP: all of them
served_by() { is "$(asks "${@:2}" | awk '{ print $2 }' | sort -u)" "$1"; }

B1=(b1 10.77.2.11 fd77:2::11)
INSIDE=(inside 10.77.3.2 fd77:3::2)
GUEST=(guest 10.77.2.50 fd77:2::50)

# flow_of_b1 VIP BACKEND: who answers a flow of b1 that the ring gives to this backend
flow_of_b1() {
	local port
	port=$(foretold "${B1[@]:1}" "$1" | awk -v backend="$2" '$2 == backend { print $1; exit }')
	asks "${B1[@]}" "$1" "$port" 2>/dev/null | cut -d ' ' -f 2
}

# Replies to neighbours need no router, in the table for replies as in the main one.
replies_know_neighbours() {
	local ns=$TOPOLOGY_ID-$1
	ip -n "$ns" route add 10.77.2.0/24 dev eth0 table 100 &&
		ip -n "$ns" -6 route add fd77:2::/64 dev eth0 table 100
}

guest_comes() {
	topology_add_ns guest && topology_plug guest eth0 guest0 &&
		topology_address guest eth0 "2.50" &&
		ip -n "$TOPOLOGY_ID-guest" route add default via 10.77.2.1 &&
		ip -n "$TOPOLOGY_ID-guest" -6 route add default via fd77:2::1 &&
		topology_in guest sysctl -qw net.ipv4.conf.all.accept_redirects=0 \
			net.ipv6.conf.eth0.accept_redirects=0
}

# A container behind b1, which routes for it.
container_comes() {
	local ns=$TOPOLOGY_ID-b1
	topology_add_ns inside && topology_link inside eth0 b1 inside0 &&
		topology_address inside eth0 3.2 && topology_address b1 inside0 3.1 &&
		ip -n "$TOPOLOGY_ID-inside" route add default via 10.77.3.1 &&
		ip -n "$TOPOLOGY_ID-inside" -6 route add default via fd77:3::1 &&
		ip -n "$ns" route add 10.77.3.0/24 dev inside0 table 100 &&
		ip -n "$ns" -6 route add fd77:3::/64 dev inside0 table 100 &&
		topology_in b1 sysctl -qw net.ipv4.conf.all.forwarding=1 net.ipv6.conf.all.forwarding=1
}

# by_way_of_lb ROLE PEER-PART...: neighbours at 10.77.2.PART are reached through lb
by_way_of_lb() {
	local ns=$TOPOLOGY_ID-$1 part
	for part in "${@:2}"; do
		ip -n "$ns" route replace "10.77.2.$part" via 10.77.2.1 &&
			ip -n "$ns" -6 route replace "fd77:2::$part" via fd77:2::1 || return 1
	done
}

all_by_way_of_lb() { by_way_of_lb b1 12 50 && by_way_of_lb b2 11 50; }

nat_vips_on_lo() {
	local ns=$TOPOLOGY_ID-b1
	ip -n "$ns" addr add "$NAT4" dev lo && ip -n "$ns" addr add "$NAT6" dev lo
}

# What this host sends to its VIPs goes to lb, as if they were not its own. In a table by
# itself, as IPv6 has addresses on lo in the main one too.
sends_out() {
	local ns=$TOPOLOGY_ID-$1 vip
	topology_in "$1" sysctl -qw net.ipv4.conf.all.accept_local=1 &&
		ip -n "$ns" rule add pref 10 lookup local && ip -n "$ns" rule del pref 0 &&
		ip -n "$ns" -6 rule add pref 10 lookup local && ip -n "$ns" -6 rule del pref 0 &&
		ip -n "$ns" route add default via 10.77.2.1 table 101 &&
		ip -n "$ns" -6 route add default via fd77:2::1 table 101 || return 1
	for vip in $TUNNEL_VIPS; do
		case $vip in
		*:*) ip -n "$ns" -6 rule add pref 5 iif lo to "$vip" lookup 101 ;;
		*) ip -n "$ns" rule add pref 5 iif lo to "$vip" lookup 101 ;;
		esac || return 1
	done
}

start two 2
for role in b1 b2; do
	check "$role: ringlb-backend attach" tunnels_attach $role
	check "$role: neighbours are answered directly" replies_know_neighbours $role
done
check 'a neighbour of the backends' guest_comes
check 'a container of a backend' container_comes
hairpin_config >"$CONFIG"
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 5 all_up

for vip in $TUNNEL_VIPS; do
	check "case 39: $vip on lo: a backend serves itself" served_by b1 "${B1[@]}" "$vip"
	check "$vip: it serves a container that it routes for" served_by b1 "${INSIDE[@]}" "$vip"
	check "case 39: $vip: a neighbour without it is balanced" balanced "${GUEST[@]}" "$vip"
done

# Replies between neighbours do not come by the balancer.
for vip in $NAT4 $NAT6; do
	check "nat, $vip: a backend does not reach the other" is "$(flow_of_b1 "$vip" b2)" -
done
check 'backends reach each other and the neighbour by way of the balancer' all_by_way_of_lb
for vip in $NAT4 $NAT6; do
	check "nat, $vip: then a neighbour is balanced" balanced "${GUEST[@]}" "$vip"
	check "case 39: nat, $vip: a backend reaches the other" is "$(flow_of_b1 "$vip" b2)" b2
	check "nat, $vip: but not itself" is "$(flow_of_b1 "$vip" b1)" -
done
check 'a nat VIP on lo' nat_vips_on_lo
for vip in $NAT4 $NAT6; do
	check "nat, $vip on lo: a backend serves itself" served_by b1 "${B1[@]}" "$vip"
done

check 'b1 sends to its VIPs as if they were not its own' sends_out b1
for vip in $TUNNEL_VIPS; do
	check "case 39: $vip: it is balanced, also to itself" balanced "${B1[@]}" "$vip"
done
finish
