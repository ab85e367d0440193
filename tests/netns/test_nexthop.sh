#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Next hops: a backend that nobody ever talked to, one that comes late, one whose MAC
# address changes, one behind a router, one that is this host itself.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"

state() { answer ".[] | select(.pool == \"$1\" and .name == \"$2\") | .$3" backend list; }
state_is() { is "$(state "$1" "$2" "$3")" "$4"; }

# Is b1 served by VIP $1? All its ports are asked.
b1_serves() { [ "$(ask tcp "$1" 80 24000 12 2>/dev/null | grep -c ' b1$')" -eq "$2" ]; }

b4_serves() { ask tcp "$NAT4" 80 24100 40 | grep -q ' b4$'; }

# As when another machine takes the address over: it says so, unasked.
set_mac() {
	topology_in b1 sysctl -qw net.ipv4.conf.eth0.arp_notify=1 net.ipv6.conf.eth0.ndisc_notify=1 &&
		topology_in b1 ip link set eth0 address "$1"
}

start two 3
topology_in lb ip neigh flush all
topology_in lb ip -6 neigh flush all
check 'the daemon starts' daemon_start
check 'case 30: backends that nobody talked to are resolved' wait_for 2 all_up
check 'a backend list shows the MAC address' state_is nat4 b1 mac "$(topology_mac b1 eth0)"
check 'and the interface' state_is dr6 b3 interface eth1

served4=$(predict tcp $NAT4 80 24000 12 | grep -c ' b1$')
served6=$(predict tcp $DR6 80 24000 12 | grep -c ' b1$')
check 'b1 serves some of the flows' test $((served4 * served6)) -gt 0
check 'b1 serves its flows' b1_serves $NAT4 "$served4"

new_mac=02:00:00:00:77:11
check 'another machine takes over the address of b1' set_mac $new_mac
check 'case 30: nat: a changed MAC address is known within seconds' \
	wait_for 8 state_is nat4 b1 mac $new_mac
check 'dr over IPv6 too' wait_for 8 state_is dr6 b1 mac $new_mac
check 'nat: b1 serves its flows again' wait_for 5 b1_serves $NAT4 "$served4"
check 'dr: b1 serves its flows again' wait_for 5 b1_serves $DR6 "$served6"

check 'a backend that is not there yet' ringlb backend add late 10.77.2.14:8080 --pool nat4 --weight 0.5
check 'is resolving' state_is nat4 late state resolving
topology_add_backend 4
start_services b4
check 'is up within seconds after it came' wait_for 8 state_is nat4 late state up
check 'and serves' wait_for 5 b4_serves

check 'a backend without a route' ringlb backend add lost 192.0.2.77:8080 --pool nat4 --weight 0.001
check 'is told' state_is nat4 lost state no-route
topology_in lb ip route add 192.0.2.77/32 via 10.77.2.12
check 'a route comes: up within seconds' wait_for 8 state_is nat4 lost state up
check "with its router's MAC address" state_is nat4 lost mac "$(topology_mac b2 eth0)"
check 'a backend that is this host' ringlb backend add self 10.77.2.1 --pool dr4 --weight 0.001
check 'is told' state_is dr4 self state local

topology_in lb ip link set eth1 down
check 'the interface goes down: told within seconds' wait_for 8 refused state_is nat4 b1 state up
topology_in lb ip link set eth1 up
topology_in lb ip -6 addr replace fd77:2::1/64 dev eth1 nodad
check 'and up again' wait_for 8 state_is nat4 b1 state up
check 'b1 serves its flows again' wait_for 5 b1_serves $DR4 "$(predict tcp $DR4 80 24000 12 | grep -c ' b1$')"
finish
