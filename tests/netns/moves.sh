# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# For tests of moving arcs: clients that count what breaks, and words about what moves.
#
# shellcheck disable=SC2034 # variables are for the tests
# shellcheck source=tests/netns/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

CLIENTS=$B/tests/netns/clients
ECHOES=$B/tests/netns/echoes
INTERVAL_MS=500
RUNNING=()

# Instead of nginx.
start_services() {
	topology_spawn "$1" "$TOPOLOGY_DIR/$1.echoes" "$ECHOES" "$1" 80 7000 8080
	wait_for 3 grep -q ready "$TOPOLOGY_DIR/$1.echoes"
}

# These tests give times of their own; write_config's would be a second section.
config_soon() { :; }

# config_flows [FIELD=VALUE...]: short times, and what is given instead
config_flows() {
	local -A fields=(
		[established]=16384 [remembered]=16384 [embryonic]=4096 [other]=4096
		[learn_tcp]=5s [learn_other]=3s [opening]=5s [closing]=3s [idle_other]=6s
	)
	local field
	for field in "$@"; do fields[${field%%=*}]=${field#*=}; done
	echo 'flows:'
	for field in "${!fields[@]}"; do echo "  $field: ${fields[$field]}"; done
}

# wait_for, for what takes seconds: asks less often, as asking takes time from the traffic.
wait_long() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.2
	done
}

# ---- pools of the usual configuration ----

vip_of() {
	case $1 in
	nat4) echo $NAT4 ;;
	nat6) echo $NAT6 ;;
	dr4) echo $DR4 ;;
	dr6) echo $DR6 ;;
	esac
}

# Where backend bN of a pool is: address_of nat4 3
address_of() {
	case $1 in
	nat4) echo "10.77.2.$((10 + $2)):8080" ;;
	nat6) echo "[fd77:2::$((10 + $2))]:8080" ;;
	dr4) echo "10.77.2.$((10 + $2))" ;;
	dr6) echo "fd77:2::$((10 + $2))" ;;
	esac
}

# in_pools 'ringlb backend drain b1': the same in each of $POOLS
in_pools() {
	local pool
	for pool in $POOLS; do
		ringlb "$@" --pool "$pool" || return 1
	done
}

add_in_pools() {
	local pool
	for pool in $POOLS; do
		ringlb backend add "b$1" "$(address_of "$pool" "$1")" --pool "$pool" || return 1
	done
}

# states NAME STATE: so in all of $POOLS
states() {
	local pool
	for pool in $POOLS; do
		is "$pool $(state_in "$pool" "$1")" "$pool $2" || return 1
	done
}

state_in() { answer ".[] | select(.name == \"$2\") | .state" backend list --pool "$1"; }

gone_from_pools() { states "$1" ''; }

# ---- clients ----

# clients_start NAME PROTO VIP PORT COUNT RATE
clients_start() {
	local name=$1 state=$TOPOLOGY_DIR/$1.state
	shift
	topology_spawn client "$TOPOLOGY_DIR/$name.out" "$CLIENTS" "${@:1:4}" $INTERVAL_MS "$5" "$state"
	echo "$TOPOLOGY_PID" >"$TOPOLOGY_DIR/$name.pid"
	echo "$4" >"$TOPOLOGY_DIR/$name.count"
	RUNNING+=("$name")
	# From then on it takes signals.
	wait_for 5 test -e "$state"
}

# What clients count now: state NAME FILTER
state() {
	local file=$TOPOLOGY_DIR/$1.state
	rm -f "$file"
	kill -USR1 "$(<"$TOPOLOGY_DIR/$1.pid")" && wait_for 3 test -e "$file" && jq -r "$2" "$file"
}

all_open() {
	local name
	for name in "${@:-${RUNNING[@]}}"; do
		is "$(state "$name" .open)" "$(<"$TOPOLOGY_DIR/$name.count")" || return 1
	done
}

# unbroken NAME: nothing broke so far, and every flow is in use
unbroken() {
	local state
	state=$(state "$1" tojson) || return 1
	echo "$state"
	# shellcheck disable=SC2016 # variables are of jq
	topology_holds --argjson count "$(<"$TOPOLOGY_DIR/$1.count")" \
		'.broken + .short_failed + .quiet == 0 and .open + .closed == $count' <<<"$state"
}

# check_unbroken WHAT: a check for each of the clients
check_unbroken() {
	local name
	for name in "${RUNNING[@]}"; do
		check "$1: nothing breaks: $name, $(state_line "$name")" unbroken "$name"
	done
}

# The last report in a few words. Makes none.
state_line() {
	jq -r '"\(.open) open, \(.short_ok) short, silence \(.silence_ms) ms"' "$TOPOLOGY_DIR/$1.state"
}

# Connections to a backend, as its clients see it: open_to BACKEND NAME
open_to() { state "$2" ".backends.$1.open // 0"; }

# The clients of a backend leave: close_to BACKEND
close_to() {
	local name
	for name in "${RUNNING[@]}"; do
		echo "$1" >"$TOPOLOGY_DIR/$name.state.close"
		kill -USR2 "$(<"$TOPOLOGY_DIR/$name.pid")" || return 1
	done
}

# At least this many more short-lived exchanges: some_more NAME COUNT
some_more() {
	local before
	before=$(state "$1" .short_ok)
	wait_long 10 did_more "$1" $((before + $2))
}

did_more() { [ "$(state "$1" .short_ok)" -ge "$2" ]; }

clients_end() {
	local name
	for name in "${RUNNING[@]}"; do
		kill -TERM "$(<"$TOPOLOGY_DIR/$name.pid")" || return 1
	done
	for name in "${RUNNING[@]}"; do
		wait_for 5 refused kill -0 "$(<"$TOPOLOGY_DIR/$name.pid")" || return 1
	done
	RUNNING=()
}

# Connections of a backend in its own kernel's eyes: connections_of ROLE
connections_of() {
	topology_in "$1" ss -Htn state established '( sport = :80 or sport = :8080 )' | wc -l
}

# ---- what moves ----

# Learning time left, the longest.
learning() {
	answer '[.pools[].moving | select(.) | .learning_tcp_s, .learning_other_s] | max // 0' status
}
learned_to() { [ "$(learning)" -le "$1" ]; }
learned() { learned_to 0; }

arcs() { answer "[.pools[] | select(.name == \"$1\") | .moving.arcs // 0] | add" status; }
moving() { [ "$(arcs "$1")" -gt 0 ]; }
settled() { is "$(answer '[.pools[] | select(.moving)] | length' status)" 0; }

# What a draining backend waits for, as status tells it: draining BACKEND POOL FILTER
draining() {
	answer ".draining[] | select(.name == \"$1\" and .pool == \"$2\") | $3" status
}

share_of() { answer ".[] | select(.name == \"$1\") | .share" backend list --pool "$2"; }

# Entries in a flow table: flows, old_flows, embryos or other_flows
entries() { topology_on_lb bpftool -j map dump pinned "$PINS/$1" | jq length; }

tables_are_empty() {
	local map
	for map in flows old_flows embryos other_flows; do
		is "$map $(entries $map)" "$map 0" && continue
		topology_on_lb bpftool map dump pinned "$PINS/$map" | head -n 20
		return 1
	done
}

flow_count() { answer ".flows[] | select(.name == \"$1\") | .packets" stats; }
