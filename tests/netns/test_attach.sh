#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Attaching: generic mode, changes of mode, and what is said when it cannot be done.
# A start that fails leaves nothing behind; the next one works.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"

works() { diff <(ask tcp "$1" 80 23000 40) <(predict tcp "$1" 80 23000 40 --config "$CONFIG"); }
modes_are() { is "$(answer '[.interfaces[].mode] | unique | join(",")' status)" "$1"; }
starts_not() { refuses "$1" ringlbd; }
nothing_there() {
	topology_in lb ip link show
	! topology_in lb ip link show | grep 'prog/xdp' && ! topology_on_lb test -e "$PINS" &&
		! topology_in lb ip neigh show | grep managed && [ ! -e "$SOCKET" ]
}
missing() { is "$(answer ".interfaces[] | select(.name == \"$1\") | .attach" status)" missing; }
on_lb() { topology_in lb "$@"; }
set_mode() { sed -i -E "/mode:/d; s/^(  - name: eth.)$/\1\n    mode: $1/" "$CONFIG"; }

start two 3
GOOD=$TOPOLOGY_DIR/good.yaml
cp "$CONFIG" "$GOOD"

sed -i 's/name: eth1/name: eth9/' "$CONFIG"
check 'a missing interface: said in one line' starts_not "there is no interface 'eth9'"
check 'nothing is left of it' nothing_there
cp "$GOOD" "$CONFIG"

# veth takes every MTU, so a driver that does not is played: by a libxdp that says so.
compile_refusal() {
	gcc -shared -fPIC -DREFUSAL="$1" -x c - -o "$TOPOLOGY_DIR/refusal.so" <<-'C'
		#include <errno.h>
		int xdp_program__attach(void) { return -REFUSAL; }
	C
}
# As by `ulimit -l 64`: kernels before 5.11 counted maps against it.
start_with_little_locked() {
	topology_spawn_on_lb "$TOPOLOGY_DIR/ringlbd.log" prlimit --memlock=65536 \
		"$B/ringlbd" -c "$CONFIG" -s "$SOCKET" -S "$STATE"
	DAEMON=$TOPOLOGY_PID
	wait_for 10 daemon_is_ready
}
refused_says() { LD_PRELOAD=$TOPOLOGY_DIR/refusal.so starts_not "$1"; }
compile_refusal ERANGE
check 'case 35: an MTU too large: said with the remedy' \
	refused_says "'eth0': .*its MTU of 1500 is too large.*(lower it, or mode: generic)"
check 'nothing is left of it' nothing_there
compile_refusal EOPNOTSUPP
check 'case 35: no native XDP: said with the remedy' refused_says "'eth0': .*no native XDP; mode: generic"
on_lb ip link set eth0 mtu 3000
check 'perhaps for the MTU: said with the remedy' \
	refused_says "'eth0': .*its MTU of 3000 is too large.*(lower it, or mode: generic)"
on_lb ip link set eth0 mtu 1500
check 'nothing is left of it' nothing_there

on_lb ip link set dev eth1 xdp obj "$TOPOLOGY_DIR/pass.o" sec xdp
other=$(on_lb ip link show eth1 | grep -o 'prog/xdp id [0-9]*')
check "somebody else's program: said with the remedy" starts_not "'eth1': .*another XDP program"
check 'it is still there' is "$(on_lb ip link show eth1 | grep -o 'prog/xdp id [0-9]*')" "$other"
check 'eth0 is free' is "$(on_lb ip link show eth0 | grep -c prog/xdp)" 0
on_lb ip link set dev eth1 xdp off
check 'nothing else is left' nothing_there

on_lb sysctl -qw net.ipv4.conf.eth1.forwarding=0
check 'nat without forwarding: said with the remedy' \
	starts_not 'sysctl -w net.ipv4.conf.eth1.forwarding=1'
check 'nothing is left of it' nothing_there
on_lb sysctl -qw net.ipv4.conf.eth1.forwarding=1

check 'no bpf file system: said with the remedy' refuses 'mount -t bpf' \
	topology_on_lb "$B/ringlbd" -c "$CONFIG" -s "$SOCKET" -S "$STATE" -p "$TOPOLOGY_DIR/pins"
check 'nothing is left of it' nothing_there
check 'a socket that cannot be' refuses "cannot listen on '/nonexistent/socket'" \
	topology_on_lb "$B/ringlbd" -c "$CONFIG" -s /nonexistent/socket -S "$STATE"
check 'nothing is left of it' nothing_there
check 'a missing file' refuses 'No such file' topology_on_lb "$B/ringlbd" -c /nonexistent.yaml
echo 'pools: 1' >"$CONFIG"
check 'a bad file' starts_not 'ringlb.yaml:[0-9]+: '
check 'nothing is left of it' nothing_there
cp "$GOOD" "$CONFIG"

set_mode generic
check 'case 35: the daemon starts in generic mode' daemon_start
check 'all backends are up' wait_for 5 all_up
check 'case 35: status says so' modes_are generic
check 'generic: nat' works $NAT4
check 'generic: nat, IPv6' works $NAT6
check 'generic: dr' works $DR4
check 'generic: dr, IPv6' works $DR6
download_start one $NAT4 1G
check 'generic: a download' download_end one

set_mode native
check 'reload to native mode' ringlb reload
check 'status says so' modes_are native
check 'native: nat' works $NAT4
check 'native: dr, IPv6' works $DR6
set_mode generic
check 'and back' ringlb reload
check 'generic again: nat' works $NAT4

sed -i 's/name: eth1/name: eth9/' "$CONFIG"
check 'a missing interface on reload' refuses "no interface 'eth9'" ringlb reload
cp "$GOOD" "$CONFIG"
check 'what was live still works' works $NAT4
check "the program is taken off behind the daemon's back" on_lb ip link set eth1 xdpgeneric off
check 'reload' ringlb reload
check 'puts it back' works $NAT4

ip -n "$(topology_ns lb)" link del eth1
check 'an interface goes: status says so' missing eth1
topology_plug lb eth1 lb1
topology_receive_xdp switch lb1
topology_address lb eth1 2.1
on_lb sysctl -qw net.ipv4.conf.eth1.forwarding=1 net.ipv6.conf.eth1.forwarding=1
check 'it comes back: the program is on it again within seconds' wait_for 8 refused missing eth1
check 'all backends are up' wait_for 10 all_up
check 'nat' works $NAT4
check 'dr, IPv6' works $DR6
check 'down' ringlb down
check 'nothing is left' nothing_there

check 'case 37: directly after that it starts again, with little memory to lock' start_with_little_locked
check 'all backends are up' wait_for 5 all_up

# Whatever is asked or changed, nothing stays open in the daemon.
open_files() { find "/proc/$DAEMON/fd" -mindepth 1 | wc -l; }
ask_and_change() {
	local n
	for n in 1 2 3 4 5 6 7 8; do
		ringlb status && ringlb reload && ringlb backend weight b1 "0.$n" --pool nat4 || return 1
	done >/dev/null
}
check 'a first round' ask_and_change
before=$(open_files)
check 'another round' ask_and_change
# The connection of the last question may be closed a moment later.
no_more_files() { [ "$(open_files)" -le "$before" ]; }
check 'leaves no more files open' wait_for 3 no_more_files
check 'reload to the file' ringlb reload
mkfifo "$TOPOLOGY_DIR/pipe"
check 'a pipe is no configuration, and holds up nobody' \
	refuses 'pipe:.*empty' timeout 5 "$B/ringlb" check "$TOPOLOGY_DIR/pipe"
check 'nat' works $NAT4
finish
