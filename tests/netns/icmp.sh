# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# VIPs answer ping, and what a kernel has to say about a flow reaches the other end's socket:
# "port unreachable" of a backend the client, that of a client the backend of the flow.

# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"

ICMP=$(dirname "$0")/icmp.py
FIRST=30000
COUNT=20
SIZES='0 1 2 3 7 8 9 16 55 56 57 63 64 65 100 255 256 511 512 999 1000 1023 1024 1399 1400'

source_for() { case $1 in *:*) echo $CLIENT6 ;; *) echo $CLIENT4 ;; esac; }

# Beside the usual pools: nat to a port where nobody listens, and to that of icmp.py.
icmp_config() {
	write_config 3 | sed '/^vips:/,$d'
	config_pool closed4 nat 10.77.2. 9 1 2 3
	config_pool closed6 nat fd77:2:: 9 1 2 3
	config_pool leave4 nat 10.77.2. 8500 1 2 3
	config_pool leave6 nat fd77:2:: 8500 1 2 3
	write_config 3 | sed -n '/^vips:/,$p'
	config_vip $NAT4 udp 7009 closed4
	config_vip $NAT6 udp 7009 closed6
	config_vip $NAT4 udp 7500 leave4
	config_vip $NAT6 udp 7500 leave6
	config_vip $DR4 udp 7500 dr4
	config_vip $DR6 udp 7500 dr6
}

# A kernel tells the same host so once a second, unless it is told otherwise.
without_limit() {
	topology_in "$1" sysctl -qw net.ipv4.icmp_ratelimit=0 net.ipv6.icmp.ratelimit=0
}

icmp_serve() {
	topology_spawn "$1" "$TOPOLOGY_DIR/$1/icmp" "$ICMP" serve 7500 8500
	wait_for 5 grep -q ready "$TOPOLOGY_DIR/$1/icmp"
}

# The kernel and ping look at checksums and payload.
pings() {
	local size
	for size in $SIZES; do
		topology_in client ping -n -q -c 1 -W 3 -s "$size" "$1" || return 1
	done
}

# Many at once, with a random payload each.
floods() {
	local output
	output=$(topology_in client ping -n -q -c 500 -i 0.002 -s 1000 -p "$2" "$1")
	echo "$output"
	grep -q ' 500 received' <<<"$output"
}

all_refused() {
	local out=$TOPOLOGY_DIR/knock
	topology_in client "$ICMP" knock "$(source_for "$1")" "$1" 7009 $FIRST $COUNT >"$out"
	cat "$out"
	is "$(grep -c ' refused$' "$out")" $COUNT
}

# What the backends' sockets have heard: "PORT BACKEND", by port.
refused_at() {
	local name
	for name in b1 b2 b3; do
		sed -n "s/ refused\$/ $name/p" "$TOPOLOGY_DIR/$name/icmp"
	done | awk -v f="$1" -v n=$COUNT '$1 >= f && $1 < f + n' | sort -n
}

heard() { is "$(refused_at "$1" | wc -l)" $COUNT; }

# leaves VIP FIRST: all flows are refused, each at the backend that ringlb lookup says
leaves() {
	topology_in client "$ICMP" leave "$(source_for "$1")" "$1" 7500 "$2" $COUNT || return 1
	wait_for 6 heard "$2"
	diff <(refused_at "$2") <(predict udp "$1" 7500 "$2" $COUNT)
}

verdict_of() { answer ".verdicts[] | select(.name == \"$1\") | .packets" stats; }

icmp() {
	local vip first=$FIRST role
	start "$1" 3
	icmp_config >"$CONFIG"
	for role in client b1 b2 b3; do
		check "$role: no limit" without_limit $role
		[ $role = client ] || check "$role: a service that answers again and again" icmp_serve $role
	done
	check 'the daemon starts' daemon_start
	check 'all backends are up' wait_for 5 all_up
	for vip in $NAT4 $NAT6 $DR4 $DR6; do
		check "case 6: $vip answers ping of all sizes" pings "$vip"
		check "$vip answers 500 of ff" floods "$vip" ff
		check "$vip answers 500 of 00" floods "$vip" 00
	done
	check 'they were answered by the program' is "$(verdict_of TX_ECHO)" \
		$((4 * ($(wc -w <<<"$SIZES") + 1000)))
	for vip in $NAT4 $NAT6; do
		check "$vip: who asks where nobody listens is told" all_refused "$vip"
	done
	for vip in $NAT4 $NAT6 $DR4 $DR6; do
		first=$((first + COUNT))
		check "case 2: $vip: backends are told of clients that are gone" leaves "$vip" $first
	done
	check 'the daemon ends' daemon_end TERM
	check "$NAT4 answers ping without it" pings $NAT4
	check "$DR6 answers ping without it" pings $DR6
	finish
}
