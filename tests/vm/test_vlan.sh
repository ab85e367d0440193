#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# {nat, dr} x {IPv4, IPv6}, and ipip and gue to ringlb-backend, in a VLAN, and in one within
# another: the program is on the interface that carries the tags, all addresses are on what the
# kernel has on top of it.
# Needs a kernel that has VLANs, so tests/vm/run runs it.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/../netns/lib.sh"
# shellcheck source=tests/netns/backend.sh
. "$(dirname "$0")/../netns/backend.sh"

COUNT=30

in_ns() { ip -n "$(topology_ns "$1")" "${@:2}"; }

# addresses_move ROLE FROM TO HOST-PART...: as topology_address, on another interface
addresses_move() {
	local role=$1 from=$2 to=$3 part
	in_ns "$role" addr flush dev "$from" scope global
	# What went with the address before is not asked about.
	in_ns "$role" route del default 2>/dev/null
	in_ns "$role" -6 route del default 2>/dev/null
	for part in "${@:4}"; do topology_address "$role" "$to" "$part" || return 1; done
}

# Tags have to be in the frames, not beside them.
tags_in_frames() { topology_in "$1" ethtool -K eth0 txvlan off rxvlan off >/dev/null; }

# vlans ROLE: eth0.7, and eth0.9.7 in an 802.1ad tag
vlans() {
	tags_in_frames "$1" && in_ns "$1" link add link eth0 name eth0.7 type vlan id 7 &&
		in_ns "$1" link add link eth0 name eth0.9 type vlan protocol 802.1ad id 9 &&
		in_ns "$1" link add link eth0.9 name eth0.9.7 type vlan id 7 &&
		in_ns "$1" link set eth0.9.7 mtu 1492 &&
		for dev in eth0.7 eth0.9 eth0.9.7; do in_ns "$1" link set "$dev" up || return 1; done
}

backend_routes() {
	local n
	for n in 1 2 3; do
		in_ns b$n route replace default via 10.77.2.1 && in_ns b$n -6 route replace default via fd77:2::1 &&
			in_ns b$n route replace default via 10.77.2.9 table 100 &&
			in_ns b$n -6 route replace default via fd77:2::9 table 100 || return 1
	done
}

# Everybody's addresses go from one interface to another: network_move FROM TO
network_move() {
	local n
	addresses_move lb "$1" "$2" 1.1 2.1 && addresses_move client "$1" "$2" 1.2 &&
		topology_address client "$2" 2.9 noprefixroute &&
		for n in 1 2 3; do addresses_move b$n "$1" "$2" "2.$((10 + n))" || return 1; done
	topology_route_client && backend_routes &&
		topology_in lb sysctl -qw net.ipv4.conf.all.forwarding=1 net.ipv6.conf.all.forwarding=1 \
			net.ipv4.conf.all.send_redirects=0 "net.ipv4.conf.${2//.//}.send_redirects=0"
}

# The usual pools, and two whose backends take packets out of tunnels on eth0, tags and all.
vlan_config() {
	write_config 3 | sed '/^vips:/,$d'
	config_pool ipip4 ipip 10.77.2. 0 1 2 3
	config_pool gue6 gue fd77:2:: 0 1 2 3
	write_config 3 | sed -n '/^vips:/,$p'
	config_vip "$DR4" tcp 8080 ipip4
	config_vip "$DR6" tcp 8080 gue6
}

works() { diff <(ask "$@" "$COUNT") <(predict "$@" "$COUNT"); }
verdict() { answer ".verdicts[] | select(.name == \"$1\") | .packets" stats; }
leave_by() { is "$(answer '[.[].interface] | unique | join(",")' backend list)" "$1"; }
some() { [ "$(verdict "$1")" -gt "$2" ]; }

all_work() {
	local first=$2
	check "$1: nat tcp" works tcp $NAT4 80 "$first"
	check "$1: nat udp, IPv6" works udp $NAT6 7000 "$first"
	check "$1: dr tcp, IPv6" works tcp $DR6 80 "$first"
	check "$1: dr udp" works udp $DR4 7000 "$first"
	check "$1: ipip" works tcp "$DR4" 8080 "$first"
	check "$1: gue over IPv6" works tcp "$DR6" 8080 "$first"
	check "$1: nothing was dropped" \
		is "$(answer '[.verdicts[] | select(.action == "DROP") | .packets] | add' stats)" 0
	check "$1: packets left by the interface with the tags" some TX_BACKEND $((COUNT * 4))
}

start one 3
modprobe 8021q
for role in client lb b1 b2 b3; do vlans $role || bail_out "no VLANs in $role"; done
network_move eth0 eth0.7 || bail_out 'addresses do not move'
vlan_config >"$CONFIG"
for role in b1 b2 b3; do
	check "$role: ringlb-backend attach" backend $role attach eth0 --vip "$DR4" "$DR6"
done
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 5 all_up
check 'backends are behind the VLAN' leave_by eth0.7
all_work 'VLAN' 20000
download_start vlan $NAT4 1G
check 'VLAN: a download through nat' download_end vlan
check 'VLAN: replies are rewritten here and forwarded by the kernel' some PASS_REPLY_BY_KERNEL $COUNT
network_move eth0.7 eth0.9.7 || bail_out 'addresses do not move'
check 'all backends are found again' wait_for 10 leave_by eth0.9.7
check 'all backends are up' wait_for 5 all_up
all_work 'QinQ' 21000
finish
