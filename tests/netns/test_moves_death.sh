#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A backend dies and its health check finds it: its connections break, soon, and no
# others. Its return breaks none. {nat, dr} x {IPv4, IPv6}.
# shellcheck source=tests/netns/moves.sh
. "$(dirname "$0")/moves.sh"

POOLS='nat4 nat6 dr4 dr6'
CHECKED=9000
CHECK="check: {type: tcp, port: $CHECKED, interval: 300ms, timeout: 200ms, rise: 2, fall: 3}"
# What is claimed is one second from when the daemon marks a backend down to the last
# broken connection. It is measured and printed. Asserted is what holds also when clients
# or daemon get no processor for a while: this, and once more the time that it took to mark
# the backend down, as TCP doubles its pauses and a client may have waited since the death.
BOUND_MS=5000

config_checked() {
	config_flows idle_tcp=8s
	write_config 4 | sed "s/^    forward: .*/&\n    $CHECK/"
}

# What the check asks is a process of its own, so that it can fail alone.
start_services() { start_service "$1" service 80 8080 && start_service "$1" checked $CHECKED; }

# start_service ROLE NAME PORT...
start_service() {
	local out=$TOPOLOGY_DIR/$1.$2
	topology_spawn "$1" "$out" "$ECHOES" "$1" "${@:3}"
	echo "$TOPOLOGY_PID" >"$out.pid"
	wait_for 3 grep -q ready "$out"
}

stop_service() { kill -KILL "$(<"$TOPOLOGY_DIR/$1.$2.pid")"; }

# The other end of the backend's cable.
cable() { ip -n "$TOPOLOGY_ID-switch" link set "port${1#b}" "$2"; }

# Each line of the daemon's log, with the time at which it came in front.
watch_log() {
	# shellcheck disable=SC2016 # for the other shell
	topology_spawn client "$TOPOLOGY_DIR/stamped" bash -c \
		'tail -n +1 -f "$1" | while read -r line; do echo "${EPOCHREALTIME/[^0-9]/} $line"; done' \
		bash "$TOPOLOGY_DIR/ringlbd.log"
}

# When a backend was last marked down in a pool: marked_down_ms POOL BACKEND
marked_down_ms() {
	local us
	us=$(sed -n "s/ .*backend '$2' of pool '$1' is down.*//p" "$TOPOLOGY_DIR/stamped" | tail -n 1)
	echo $((${us:-0} / 1000))
}

# No client port comes twice: a backend that was cut off while it had a connection still
# has it when it is back, and answers the same port with an ACK that says so, not a reset.
PORT=20000
fresh_ports() {
	topology_in client sysctl -qw "net.ipv4.ip_local_port_range=$PORT $((PORT + 3999))"
	PORT=$((PORT + 4000))
}

# More flows, also in arcs that move: come_more SUFFIX
come_more() {
	fresh_ports
	clients_start "nat4-$1" tcp "$NAT4" 80 300 0
	clients_start "dr6-$1" tcp "$DR6" 80 300 0
	wait_long 10 all_open "nat4-$1" "dr6-$1"
}

none_to() {
	local name
	for name in "${RUNNING[@]}"; do is "$name $(open_to "$1" "$name")" "$name 0" || return 1; done
}

# How many connections each of the clients has to a backend, and what broke so far.
declare -A BROKEN BROKEN_OF RESET OPENED
remember() {
	local name
	for name in "${RUNNING[@]}"; do
		read -r BROKEN["$name"] BROKEN_OF["$name"] RESET["$name"] OPENED["$name"] < <(state "$name" \
			"\"\(.broken) \(.backends.$1.broken // 0) \(.reset) \(.backends.$1.open // 0)\"")
	done
}

# All that it had broke, no others, and nobody hangs: only_broken BACKEND NAME
only_broken() {
	state "$2" tojson
	# shellcheck disable=SC2016 # variables are of jq
	topology_holds --arg backend "$1" --argjson opened "${OPENED[$2]}" --argjson before "${BROKEN[$2]}" \
		--argjson before_of "${BROKEN_OF[$2]}" --argjson count "$(<"$TOPOLOGY_DIR/$2.count")" \
		'$opened > 0 and .backends[$backend].broken == $before_of + $opened and
		.broken == $before + $opened and .open + .broken == $count and
		.quiet == 0 and .timeout == 0' "$TOPOLOGY_DIR/$2.state"
}

were_reset() {
	is "$(($(state "$1" .reset) - RESET["$1"]))" "${OPENED[$1]}"
}

when() { if [ "$1" -lt 0 ]; then echo "$((-$1)) ms before"; else echo "$1 ms after"; fi; }
is_soon() { [ "$1" -le "$2" ]; }
now_ms() { echo $((${EPOCHREALTIME/[^0-9]/} / 1000)); }

# dies BACKEND HOW COMMAND...: the clients' view of it
dies() {
	local backend=$1 how=$2 name died down after
	shift 2
	died=$(now_ms)
	check "$how: $backend dies" "$@"
	check "$how: it is marked down" wait_long 30 states "$backend" down
	check "$how: its clients notice" wait_long 60 none_to "$backend"
	for name in "${RUNNING[@]}"; do
		check "$how: $name: its ${OPENED[$name]} connections break, no others" \
			only_broken "$backend" "$name"
		down=$(marked_down_ms "${name%%-*}" "$backend")
		after=$(($(state "$name" .broken_at_ms) - down))
		check "$how: $name: marked down after $((down - died)) ms, the last one broke $(when $after) that" \
			is_soon $after $((BOUND_MS + down - died))
	done
}

# It was not the backend itself that ended them, but whoever got their next packet.
answered_by_others() {
	local name opened=0 resets
	for name in "${RUNNING[@]}"; do
		check "$1: $name: by a reset" were_reset "$name"
		opened=$((opened + OPENED["$name"]))
	done
	resets=$(resets_but "$2")
	check "$1: $opened connections, $((resets - $3)) resets from the other backends" \
		test $((resets - $3)) -ge "$opened"
}

# Resets sent by all backends but this one, in their own kernels' eyes.
resets_but() {
	local n
	for ((n = 1; n <= BACKENDS; n++)); do
		[ "b$n" = "$1" ] || topology_in "b$n" nstat -asz TcpOutRsts
	done | awk '/OutRsts/ { sum += $2 } END { print sum }'
}

# Nothing has broken since the last `remember`, and nobody hangs.
none_broke() {
	state "$1" tojson
	# Who came since then had not broken before.
	# shellcheck disable=SC2016 # variables are of jq
	topology_holds --argjson before "${BROKEN[$1]:-0}" --argjson count "$(<"$TOPOLOGY_DIR/$1.count")" \
		'.broken == $before and .open + .broken == $count and .quiet + .short_failed == 0' \
		"$TOPOLOGY_DIR/$1.state"
}

# returns BACKEND: also who came while it was away, and is in its arcs now, stays
returns() {
	local name
	check "$1 is back" wait_long 15 states "$1" up
	check 'its arcs move' moving nat4
	check "flows come meanwhile" come_more "with-$1"
	check "some of them to $1" test "$(open_to "$1" "nat4-with-$1")" -gt 0
	check 'learning ends' wait_long 15 learned
	for name in "${RUNNING[@]}"; do
		check "its return breaks nothing: $name, $(state_line "$name")" none_broke "$name"
	done
}

start two 5
config_checked >"$CONFIG"
check 'the daemon starts' daemon_start
watch_log
check 'all backends are up' wait_for 5 all_up
fresh_ports
for pool in nat4 dr6; do clients_start $pool tcp "$(vip_of $pool)" 80 1500 0; done
for pool in nat6 dr4; do clients_start $pool tcp "$(vip_of $pool)" 80 400 0; done
check 'all flows are open' wait_long 15 all_open

# A port that refuses. The dead server's own kernel ends its connections, before the check.
stop_b1() { stop_service b1 service && stop_service b1 checked; }
remember b1
dies b1 refused stop_b1
check 'flows come while it is away' come_more without-b1
remember b1
check 'it is mended' start_services b1
returns b1

# Silence; and arcs are moving already, so that some of its flows are remembered.
check 'b5 joins' add_in_pools 5
some_remembered() { [ "$(entries old_flows)" -gt 100 ]; }
check 'old flows are remembered' wait_for 4 some_remembered
check 'arcs still learn' refused learned
remember b2 && resets=$(resets_but b2)
dies b2 silent cable b2 down
answered_by_others silent b2 "$resets"
check 'flows come while it is away' come_more without-b2
remember b2
check 'it is mended' cable b2 up
returns b2

# Only the check fails. Who is down has no claim, however well it may do.
remember b3 && resets=$(resets_but b3)
dies b3 unwell stop_service b3 checked
answered_by_others unwell b3 "$resets"
remember b3
check 'it is mended' start_service b3 checked $CHECKED
returns b3

check 'the clients end' clients_end
check 'all settles' wait_long 25 settled
check 'the flow tables are empty' tables_are_empty
finish
