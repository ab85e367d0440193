#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# No connection breaks because the backend set changed: {nat, dr} x {IPv4, IPv6}, long-lived
# and short connections and UDP flows, over every kind of change.
# shellcheck source=tests/netns/moves.sh
. "$(dirname "$0")/moves.sh"

POOLS='nat4 nat6 dr4 dr6'

# learns WHAT: the step is over once all has learned, and nobody has noticed
learns() {
	check "$1: learning ends" wait_long 15 learned
	check_unbroken "$1"
}

# Exchanges of short connections with a backend: short_to BACKEND NAME
short_to() { state "$2" ".backends.$1.short // 0"; }

# gets_no_new BACKEND: none of the next short connections
gets_no_new() {
	local pool before
	for pool in $POOLS; do
		before=$(short_to "$1" "$pool")
		some_more "$pool" 25 && is "$(short_to "$1" "$pool")" "$before" || return 1
	done
}

keeps_old() {
	local pool
	for pool in $POOLS; do
		[ "$(open_to "$1" "$pool")" -gt 0 ] || return 1
	done
}

# The ten changes at once, in each pool: b1 and b2 leave, b3 moves to another address,
# b4 and b5 change their weights, b7 comes.
pool_of_ten() {
	local pool=$1 n
	printf '  - name: %s\n    forward: %s\n    backends:\n' "$pool" "${pool%?}"
	for n in 3 4 5 7; do
		printf '      - name: b%d\n        weight: %s\n' $n $((n - 2))
		address_of "$pool" $((n == 3 ? 6 : n)) | sed -E \
			-e 's/^\[?([0-9a-f:.]+[0-9a-f])\]?:(8080)$/        address: "\1"\n        port: \2/' -e t \
			-e 's/.*/        address: "&"/'
	done
}

config_of_ten() {
	local pool
	config_interfaces
	config_flows idle_tcp=8s
	echo 'pools:'
	for pool in $POOLS; do pool_of_ten "$pool"; done
	sed -n '/^vips:/,$p' "$CONFIG"
}

# goes_on ARCS UNTIL: arcs still move, and learn until the same time as before
goes_on() {
	local arcs left
	arcs=$(arcs nat4) left=$(learning)
	echo "before: $1 arcs until $2; now: $arcs arcs until $((SECONDS + left))"
	# Those of earlier changes may have settled meanwhile; a clock that began anew is 2 s late.
	[ "$arcs" -gt 0 ] && [ "$arcs" -le "$1" ] &&
		{ [ "$left" -eq 0 ] || [ $((SECONDS + left)) -le $(($2 + 1)) ]; }
}

# The ring that is live is the one that the file makes, slot by slot.
same_as_file() {
	local pool args
	for pool in $POOLS; do
		args=(tcp "$(vip_of "$pool")" 80 30000 50)
		diff <(slots "${args[@]}") <(slots "${args[@]}" --config "$CONFIG") || return 1
	done
}

# slots PROTO VIP PORT FIRST COUNT [--config FILE]
slots() {
	local proto=$1 to=$2 port=$3 first=$4 count=$5 source=$CLIENT4 p
	[[ $to != *:* ]] || source=$CLIENT6
	shift 5
	for ((p = first; p < first + count; p++)); do
		ringlb --json lookup "$proto" "$(endpoint "$source" "$p")" "$(endpoint "$to" "$port")" "$@"
	done | jq -c '[.backend, .slot, .position]'
}

# A daemon that never knew anything but the file, in a network of its own.
fresh_start() {
	local ns=$TOPOLOGY_ID-fresh dir=$TOPOLOGY_DIR/fresh
	mkdir "$dir" && topology_add_ns fresh && topology_link fresh eth0 fresh peer0 &&
		topology_link fresh eth1 fresh peer1 &&
		topology_in fresh sysctl -qw net.ipv4.conf.all.forwarding=1 \
			net.ipv6.conf.all.forwarding=1 || return 1
	ip netns exec "$ns" sh -c "mount -t bpf bpf /sys/fs/bpf && exec '$B/ringlbd' -c '$CONFIG' \
		-s '$dir/sock' -S '$dir/state'" </dev/null >"$dir/out" 2>&1 &
	FRESH=$!
	disown "$FRESH"
	wait_for 10 "$B/ringlb" --socket "$dir/sock" status
}

# rings PID: all rings in the maps of a daemon, as "POOL POSITION BACKEND" lines
rings() { nsenter --target "$1" --net --mount -- /usr/bin/python3 "$ROOT/tests/netns/rings.py" "$PINS"; }

same_as_fresh() {
	rings "$FRESH" >"$TOPOLOGY_DIR/rings.fresh" && rings "$DAEMON" >"$TOPOLOGY_DIR/rings.live" &&
		wc -l "$TOPOLOGY_DIR/rings.live" && [ -s "$TOPOLOGY_DIR/rings.live" ] &&
		cmp "$TOPOLOGY_DIR"/rings.{live,fresh}
}

start two 7
{
	config_flows idle_tcp=8s
	write_config 3
} >"$CONFIG"
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 5 all_up
clients_start nat4 tcp $NAT4 80 2000 25
clients_start dr6 tcp $DR6 80 2000 25
clients_start nat6 tcp $NAT6 80 200 25
clients_start dr4 tcp $DR4 80 200 25
clients_start nat4-udp udp $NAT4 7000 200 0
clients_start dr6-udp udp $DR6 7000 200 0
check 'all flows are open' wait_long 10 all_open
check 'a settled ring remembers nothing' tables_are_empty

check 'b4 is added' add_in_pools 4
check 'arcs move' moving nat4
learns 'add'
check 'b4 gets new connections' test "$(short_to b4 nat4)" -gt 0

check 'b1 drains' in_pools backend drain b1
check 'b1 is draining' states b1 draining
check 'b1 gets no new connections' gets_no_new b1
learns 'drain'
check 'b1 is still draining' states b1 draining
check 'b1 keeps its old flows' keeps_old b1
# Those of connections that have closed are remembered for a while too.
check 'status counts them' test "$(draining b1 nat4 .flows)" -ge "$(open_to b1 nat4)"
check 'status: their arcs wait for them alone' is "$(draining b1 nat4 '.arcs > 0 and
	.share > 0 and .learning_tcp_s == 0 and .learning_other_s == 0 and .cut_off_s == null')" true
check 'its clients leave' close_to b1
check 'b1 has drained' wait_long 15 states b1 drained
check 'status: it waits for nothing' is "$(draining b1 nat4 .name)" ''
check 'b1 has no connection' is "$(connections_of b1)" 0

check 'the weight of b2 goes down' in_pools backend weight b2 0.5
check 'the weight of b3 goes up' in_pools backend weight b3 2
learns 'weights'

check 'b5 is added' add_in_pools 5
clients_start nat4-late tcp $NAT4 80 200 0
clients_start dr6-late tcp $DR6 80 200 0
check 'flows come meanwhile' wait_long 4 all_open nat4-late dr6-late
check 'it is still learning' refused learned
check 'b4 gets its weight meanwhile' in_pools backend weight b4 3
learns 'two changes that overlap'

check 'b2 drains' in_pools backend drain b2
check 'flows come meanwhile' some_more nat4 20
check 'b2 is back' in_pools backend undrain b2
check 'flows come meanwhile' some_more nat4 20
check 'b2 drains again' in_pools backend drain b2
learns 'drain, undrain, drain'
check 'b2 is back' in_pools backend undrain b2
learns 'undrain'

check 'a weight changes' in_pools backend weight b5 0.3
check 'some of the learning time passes' wait_long 5 learned_to 3
before=$(arcs nat4) until=$((SECONDS + $(learning)))
check 'kill -9' daemon_end KILL
check 'traffic goes on without the daemon' some_more nat4 20
check 'the daemon starts' daemon_start
check 'what moved is still moving, and its time was not reset' goes_on "$before" "$until"
learns 'kill -9'

config_of_ten >"$CONFIG.ten" && mv "$CONFIG.ten" "$CONFIG"
changes=$(answer '.changes | length' reload)
check "a reload with $changes changes at once" test "${changes:-0}" -ge 24
learns 'reload'

# Nearly every flow moves, and back.
sed -i 's/^    forward: .*/&\n    placement: capped/' "$CONFIG"
check 'another placement' ringlb reload
learns 'another placement'
check 'nobody has more than 1.02 of the mean' is \
	"$(answer '.peak <= 1.02' shares --pool nat4)" true

check 'b7 is removed' in_pools backend remove b7
check 'b7 drains first' states b7 draining
learns 'remove'
check 'its clients leave' close_to b7
check 'b7 has left by itself' wait_long 15 gone_from_pools b7

check 'the clients end' clients_end
check 'with the old flows gone all settles' wait_long 25 settled
check 'the flow tables are empty' tables_are_empty

check 'save' ringlb save
check 'lookup says the same live and in the file' same_as_file
check 'a fresh daemon starts' fresh_start
check 'what has settled is what a fresh daemon makes' same_as_fresh

asked=$(flow_count ASKED)
check 'flows were asked for while arcs moved' test "$asked" -gt 0
for pool in $POOLS; do clients_start "$pool-settled" tcp "$(vip_of "$pool")" 80 50 50; done
check 'traffic goes on' wait_long 10 all_open
check 'traffic goes on' some_more dr6-settled 50
check 'no packet asked' is "$(flow_count ASKED)" "$asked"
check 'nothing is remembered' tables_are_empty
check_unbroken 'settled'
finish
