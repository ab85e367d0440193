#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What is meant to break connections breaks those of one backend, soon, and no others.
# shellcheck source=tests/netns/moves.sh
. "$(dirname "$0")/moves.sh"

POOLS='nat4 dr6'

now_ms() { echo $((${EPOCHREALTIME/[^0-9]/} / 1000)); }

# Connections to a backend by pool, as "nat4 176 dr6 181"
opened_to() {
	local pool
	for pool in $POOLS; do echo "$pool $(open_to "$1" "$pool")"; done
}

none_to() { ! opened_to "$1" | grep -v ' 0$'; }

# only_broken BACKEND OPENED: that many were reset and no others, in each pool
only_broken() {
	local pool opened
	while read -r pool opened; do
		state "$pool" tojson
		[ "$opened" -gt 0 ] || return 1
		# shellcheck disable=SC2016 # variables are of jq
		topology_holds --arg name "$1" --argjson opened "$opened" --argjson before "${BROKEN[$pool]:-0}" \
			'.backends[$name].broken == $opened and .broken == $before + $opened and
			.broken == .reset' "$TOPOLOGY_DIR/$pool.state" || return 1
		BROKEN[$pool]=$((${BROKEN[$pool]:-0} + opened))
	done <<<"$2"
}
declare -A BROKEN

# broke_between FROM TO: the last one broke so many milliseconds after $began
broke_between() {
	local pool after
	for pool in $POOLS; do
		after=$(($(state "$pool" .broken_at_ms) - began))
		echo "$pool: the last one broke after $after ms"
		[ "$after" -ge "$1" ] && [ "$after" -le "$2" ] || return 1
	done
}

start two 4
{
	config_flows idle_tcp=8s
	write_config 4
} >"$CONFIG"
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 5 all_up
clients_start nat4 tcp $NAT4 80 400 0
clients_start dr6 tcp $DR6 80 400 0
check 'all flows are open' wait_for 10 all_open

opened=$(opened_to b1)
check 'b1 is removed at once' in_pools backend remove b1 --now
began=$(now_ms)
check 'it is gone' gone_from_pools b1
check 'its clients notice' wait_for 5 none_to b1
check 'within a second' broke_between -1000 1000
check 'they, and nobody else' only_broken b1 "$opened"

opened=$(opened_to b2) share=$(share_of b2 nat4)
began=$(now_ms)
check 'b2 drains for 3 seconds' in_pools backend drain b2 --timeout 3s
check 'b2 is draining' states b2 draining
check 'status: its arcs are those that it had' is "$(draining b2 nat4 .share)" "$share"
check 'status: when they are cut off, and what they learn until then' is \
	"$(draining b2 dr6 '.arcs > 20 and .cut_off_s >= 1 and .cut_off_s <= 3 and
		.learning_tcp_s > 1 and .learning_tcp_s <= 5 and .then == "keep"')" true
check 'b2 keeps its clients' is "$(opened_to b2)" "$opened"
check 'then they are cut off' wait_long 10 none_to b2
# Whole seconds, the daemon's next tick, and the clients' next request.
check 'when the time is over' broke_between 2000 6000
check 'b2 has drained' states b2 drained
check 'status: nobody drains any more' is "$(answer '.draining | length' status)" 0
check 'it cut off its own clients, and nobody else' only_broken b2 "$opened"
check 'b2 is back' in_pools backend undrain b2
check 'b2 is up' states b2 up

opened=$(opened_to b3)
began=$(now_ms)
check 'b3 is removed within 3 seconds' in_pools backend remove b3 --timeout 3s
check 'b3 is draining' states b3 draining
check 'status: it leaves then' is "$(draining b3 nat4 .then)" remove
check 'b3 keeps its clients' is "$(opened_to b3)" "$opened"
check 'b3 leaves with clients of its own' wait_long 10 gone_from_pools b3
check 'they notice' wait_for 5 none_to b3
check 'when the time is over' broke_between 2000 6000
check 'they, and nobody else' only_broken b3 "$opened"

clients_start nat4-new tcp $NAT4 80 100 0
clients_start dr6-new tcp $DR6 80 100 0
check 'new flows come' wait_for 10 all_open nat4-new dr6-new
check 'also to b2' test "$(open_to b2 nat4-new)" -gt 0
check 'the clients end' clients_end
check 'all settles' wait_long 25 settled
check 'the flow tables are empty' tables_are_empty
finish
