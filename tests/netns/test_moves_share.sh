#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A backend joins 16: only the flows that move are tracked, and a SYN flood of several times
# the embryonic table meanwhile costs nobody a connection.
# shellcheck source=tests/netns/moves.sh
. "$(dirname "$0")/moves.sh"

POOLS='nat4 dr6'
COUNT=2000
LATE=200
EMBRYONIC=1024
# Beyond the backends' own addresses; several share a namespace.
FIRST=21 LAST=36 JOINS=37

add_addresses() {
	local n
	for ((n = FIRST; n <= JOINS; n++)); do
		topology_address "b$((n % BACKENDS + 1))" eth0 "2.$((10 + n))" || return 1
	done
}

config_of_16() {
	local all
	all=$(seq $FIRST $LAST)
	config_interfaces
	# What is remembered of a flow that has ended holds up everything: no time mends that.
	config_flows embryonic=$EMBRYONIC established=1024 remembered=1024 \
		learn_tcp=10s idle_tcp=3h
	echo 'pools:'
	# shellcheck disable=SC2086 # numbers
	{
		config_pool nat4 nat 10.77.2. 8080 $all
		config_pool dr6 dr fd77:2:: 0 $all
	}
	echo 'vips:'
	config_vip $NAT4 tcp 80 nat4
	config_vip $DR6 tcp 80 dr6
}

# is_share PART WHOLE: about 1/17 of it, within a factor of two
is_share() {
	echo "$1 of $2, $(($1 * 1000 / $2)) per mille; 1/17 is 59"
	[ $(($1 * 34)) -ge "$2" ] && [ $(($1 * 17)) -le $((2 * $2)) ]
}

# Old flows that the status of a pool counts.
old_flows() { answer ".pools[] | select(.name == \"$1\") | .moving.flows // 0" status; }

# The flood goes on until at least this many SYNs met a moving arc.
flood() {
	local new vip
	new=$(flow_count NEW)
	for vip in $NAT4 $DR6; do
		topology_in client "$B/tests/netns/flood" "$vip" 80 $((17 * 4 * EMBRYONIC)) || return 1
	done
	echo "$(($(flow_count NEW) - new)) SYNs in moving arcs, of $EMBRYONIC that fit"
	[ $(($(flow_count NEW) - new)) -gt $((4 * EMBRYONIC)) ]
}

start two 3
check 'the backends have their addresses' add_addresses
config_of_16 >"$CONFIG"
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 5 all_up
clients_start nat4 tcp $NAT4 80 $COUNT 0
clients_start dr6 tcp $DR6 80 $COUNT 0
check 'all flows are open' wait_long 15 all_open

check "b$JOINS joins" add_in_pools $JOINS
clients_start nat4-late tcp $NAT4 80 $LATE 0
clients_start dr6-late tcp $DR6 80 $LATE 0
check 'flows come meanwhile' wait_for 8 all_open nat4-late dr6-late
check 'some of them are the new ones' test "$(flow_count PROMOTED)" -gt 0
check 'a SYN flood' flood
check 'it is still learning' refused learned
check_unbroken 'flood'
check 'learning ends' wait_long 20 learned
check_unbroken 'join'

for pool in $POOLS; do
	tracked=$(old_flows "$pool")
	check "$pool: $tracked of $COUNT old flows are tracked, about 1/17" is_share "$tracked" $COUNT
done
tracked=$(entries old_flows)
check "$tracked of $((2 * COUNT)) are in the table" is_share "$tracked" $((2 * COUNT))
tracked=$(entries flows)
check "$tracked of $((2 * LATE)) new ones are, too" test "$tracked" -le $((4 * LATE / 17))

# The late flows end in arcs of which some have settled: that must not be missed.
clients_close() {
	kill -TERM "$(<"$TOPOLOGY_DIR/$1.pid")" && wait_for 5 refused kill -0 "$(<"$TOPOLOGY_DIR/$1.pid")"
}
check 'the late flows of nat4 end' clients_close nat4-late
check 'the late flows of dr6 end' clients_close dr6-late
RUNNING=(nat4 dr6)
check "the new one's arcs move again" in_pools backend weight b$JOINS 0.5
check 'learning ends' wait_long 20 learned
check_unbroken 'weight'
check 'the clients end' clients_end
check 'with the last flow gone all settles' wait_long 20 settled
check 'the flow tables are empty' tables_are_empty
finish
