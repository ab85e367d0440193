# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Harness of the netns tests: TAP, a topology with nginx and UDP services, the daemon.
# A test sources this file, calls start, then check for each claim, and finish.
#
# shellcheck disable=SC2034 # variables are for the tests

set -u
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
B=${B:-build}
case $B in /*) ;; *) B=$ROOT/$B ;; esac
FLOWS=$B/tests/netns/flows

# shellcheck source=scripts/topology
. "$ROOT/scripts/topology"

CLIENT4=10.77.1.2 CLIENT6=fd77:1::2
NAT4=10.77.100.1 NAT6=fd77:100::1
DR4=10.77.100.2 DR6=fd77:100::2
PINS=/sys/fs/bpf/ringlb

TESTS=0 FAILED=0 FINISHED=
DAEMON=
BACKENDS=

# A file without a name: nothing to remove in the end.
OUTPUT=$(mktemp)
exec {OUTPUT_FD}<>"$OUTPUT"
rm "$OUTPUT"
OUTPUT=/dev/fd/$OUTPUT_FD

# ---- TAP ----

# Say why, as comments of TAP.
diag() { printf '# %s\n' "${*//$'\n'/$'\n'# }"; }

# check 'what is so' COMMAND...: passes if the command succeeds; shows its output if not
check() {
	local what=$1 output
	shift
	TESTS=$((TESTS + 1))
	# In this shell and not in $(...): what it sets must last.
	if "$@" >"$OUTPUT" 2>&1; then
		echo "ok $TESTS - $what"
	else
		FAILED=$((FAILED + 1))
		echo "not ok $TESTS - $what"
		output=$(tail -n 25 "$OUTPUT")
		diag "failed: $*"
		[ -z "$output" ] || diag "$output"
	fi
}

# The same for what must not succeed.
refused() { ! "$@"; }

# is GOT WANTED
is() {
	[ "$1" = "$2" ] || {
		printf 'got:    %s\nwanted: %s\n' "$1" "$2"
		return 1
	}
}

# The program ends with status 1 and says exactly one line, which matches the pattern.
refuses() {
	local pattern=$1 output status
	shift
	output=$("$@" 2>&1)
	status=$?
	echo "status $status: $output"
	[ "$status" -eq 1 ] && [ "$(wc -l <<<"$output")" -eq 1 ] && [[ $output =~ $pattern ]]
}

wait_for() { topology_wait_for "$@"; }

# ---- life of a test ----

bail_out() {
	echo "Bail out! $*"
	exit 1
}

# Nothing of ours is left: namespaces, processes, directories, pins outside of them.
left_over() {
	local dir=$1 id=$2 cmdline
	ls -d /run/netns/"$id"-* "$dir" 2>/dev/null && return 1
	for cmdline in /proc/[0-9]*/cmdline; do
		# Gone in between is as good as never there.
		if tr '\0' ' ' 2>/dev/null <"$cmdline" | grep -F "$dir"; then return 1; fi
	done
	[ "$PINS_BEFORE" = yes ] || [ ! -e "$PINS" ]
}

clean_up() {
	local dir=$TOPOLOGY_DIR id=$TOPOLOGY_ID
	trap '' INT TERM
	[ "$FINISHED" ] || check 'the test ran to its end' false
	[ "$FAILED" -eq 0 ] || diag "daemon's last words:
$(tail -n 15 "$dir/ringlbd.log" 2>/dev/null)"
	topology_stop
	check 'nothing is left over' wait_for 3 left_over "$dir" "$id"
	echo "1..$TESTS"
	[ "$FAILED" -eq 0 ] || exit 1
}

finish() {
	FINISHED=yes
	exit 0
}

# start SHAPE BACKENDS: the network, its services, and the default configuration
start() {
	local n
	PINS_BEFORE=no
	[ -e "$PINS" ] && PINS_BEFORE=yes
	SHAPE=$1 BACKENDS=$2
	trap clean_up EXIT
	trap 'exit 130' INT TERM HUP
	topology_start "$SHAPE" "$BACKENDS" || bail_out "no topology"
	CONFIG=$TOPOLOGY_DIR/ringlb.yaml SOCKET=$TOPOLOGY_DIR/ringlb.sock STATE=$TOPOLOGY_DIR/state
	for ((n = 1; n <= BACKENDS; n++)); do
		start_services "b$n" || bail_out "no services in b$n"
	done
	write_config "$BACKENDS" >"$CONFIG"
}

start_services() {
	topology_start_nginx "$1" 20 || return 1
	topology_spawn "$1" "$TOPOLOGY_DIR/$1/udp" "$FLOWS" serve "$1" 7000 7001 8080
	wait_for 3 grep -q ready "$TOPOLOGY_DIR/$1/udp"
}

# ---- configuration ----

config_interfaces() {
	echo 'seed: 0x5eed000000000001'
	echo 'interfaces:'
	echo '  - name: eth0'
	[ "$SHAPE" = one ] || echo '  - name: eth1'
}

# config_pool NAME FORWARD PREFIX PORT N...: backends bN at PREFIX(10+N)
config_pool() {
	local name=$1 forward=$2 prefix=$3 port=$4 n
	shift 4
	printf '  - name: %s\n    forward: %s\n    backends:\n' "$name" "$forward"
	for n in "$@"; do
		printf '      - name: b%d\n        address: "%s%d"\n' "$n" "$prefix" $((10 + n))
		[ "$port" = 0 ] || printf '        port: %d\n' "$port"
	done
}

# config_vip ADDRESS PROTOCOL PORT POOL
config_vip() {
	printf '  - address: "%s"\n    protocol: %s\n    port: %s\n    pool: %s\n' "$@"
}

# write_config N: four pools with N backends, TCP and UDP, both families
write_config() {
	local all
	all=$(seq 1 "$1")
	config_interfaces
	config_soon
	echo 'pools:'
	# shellcheck disable=SC2086 # numbers
	{
		config_pool nat4 nat 10.77.2. 8080 $all
		config_pool nat6 nat fd77:2:: 8080 $all
		config_pool dr4 dr 10.77.2. 0 $all
		config_pool dr6 dr fd77:2:: 0 $all
	}
	echo 'vips:'
	config_vip $NAT4 tcp 80 nat4
	config_vip $NAT4 udp 7000 nat4
	config_vip $NAT6 tcp 80 nat6
	config_vip $NAT6 udp 7000 nat6
	config_vip $DR4 tcp 80 dr4
	config_vip $DR4 udp 7000 dr4
	config_vip $DR6 tcp 80 dr6
	config_vip $DR6 udp 7000 dr6
	# With dr the families need not match.
	config_vip $DR6 udp 7001 dr4
}

# Old flows are given up after a second, so that a change is over soon.
config_soon() {
	printf 'flows:\n  learn_tcp: 1s\n  learn_other: 1s\n  opening: 1s\n  closing: 1s\n'
	printf '  idle_other: 1s\n'
}

# ---- the daemon ----

# ringlbd in lb, with the options given instead of or beside the usual ones
# It never lasts: a start that should be refused and is not must not hang the test.
ringlbd() {
	topology_on_lb timeout 10 "$B/ringlbd" -c "$CONFIG" -s "$SOCKET" -S "$STATE"
}

ringlb() { "$B/ringlb" --socket "$SOCKET" "$@"; }

# jq on an answer: answer FILTER COMMAND...
answer() {
	local filter=$1
	shift
	ringlb --json "$@" | jq -r "$filter"
}

daemon_start() {
	topology_spawn_on_lb "$TOPOLOGY_DIR/ringlbd.log" \
		"$B/ringlbd" -c "$CONFIG" -s "$SOCKET" -S "$STATE"
	DAEMON=$TOPOLOGY_PID
	wait_for 10 daemon_is_ready
}

# Nothing moves and nobody drains any more: the ring is that of the configuration alone.
settled() {
	is "$(answer '[.pools[] | select(.moving)] | length' status)" 0 &&
		is "$(answer '[.[] | select(.state == "draining")] | length' backend list)" 0
}

daemon_is_ready() { [ "$(answer .pid status 2>/dev/null)" = "$DAEMON" ]; }

# daemon_end SIGNAL
daemon_end() {
	kill -"$1" "$DAEMON" && wait_for 5 refused kill -0 "$DAEMON"
}

# Does the daemon's log have this text?
logged() { grep -qF -- "$1" "$TOPOLOGY_DIR/ringlbd.log"; }

# Nobody waits for a MAC address any more.
all_up() { [ "$(answer 'map(select(.state != "up")) | length' backend list)" = 0 ]; }

# ---- traffic ----

# ask PROTO VIP PORT FIRST COUNT: one "PORT BACKEND" line a flow
ask() {
	local source=$CLIENT4
	[[ $2 != *:* ]] || source=$CLIENT6
	topology_in client "$FLOWS" ask "$1" "$source" "$2" "$3" "$4-$(($4 + $5 - 1))"
}

# As a client and its port are written: endpoint ADDRESS PORT
endpoint() {
	case $1 in *:*) echo "[$1]:$2" ;; *) echo "$1:$2" ;; esac
}

# predict PROTO VIP PORT FIRST COUNT [--config FILE]: what ask should print
predict() {
	local proto=$1 source=$CLIENT4 to=$2:$3 first=$4 count=$5 p
	[[ $2 != *:* ]] || source=[$CLIENT6] to=[$2]:$3
	shift 5
	for ((p = first; p < first + count; p++)); do
		ringlb --json lookup "$proto" "$source:$p" "$to" "$@" || return 1
	done | jq -r .backend | awk -v p="$first" '{ print p++, $1 }'
}

# stream_start NAME PROTO VIP PORT SOURCE-PORT...: requests until stream_end NAME
stream_start() {
	local name=$1 source=$CLIENT4
	shift
	[[ $2 != *:* ]] || source=$CLIENT6
	topology_spawn client "$TOPOLOGY_DIR/$name.out" "$FLOWS" stream "$1" "$source" "${@:2}"
	echo "$TOPOLOGY_PID" >"$TOPOLOGY_DIR/$name.pid"
}

# Ends the stream; succeeds if there were requests and all went well.
stream_end() {
	local name=$1 pid requests
	pid=$(<"$TOPOLOGY_DIR/$name.pid")
	kill -TERM "$pid"
	wait_for 5 grep -q requests "$TOPOLOGY_DIR/$name.out"
	tail -n 10 "$TOPOLOGY_DIR/$name.out"
	requests=$(awk '/^requests/ { print $2 }' "$TOPOLOGY_DIR/$name.out")
	[ "${requests:-0}" -gt 20 ] && grep -q 'errors 0 slow 0' "$TOPOLOGY_DIR/$name.out"
}

# download_start NAME VIP [RATE [CURL-OPTION...]]: slow, so that things can happen meanwhile
download_start() {
	topology_spawn client "$TOPOLOGY_DIR/$1.out" curl -sS --limit-rate "${3:-6M}" --max-time 40 \
		-o /dev/null -w '%{http_code} %{size_download}\n' "http://$(endpoint "$2" 80)/file" "${@:4}"
	echo "$TOPOLOGY_PID" >"$TOPOLOGY_DIR/$1.pid"
}

download_runs() { kill -0 "$(<"$TOPOLOGY_DIR/$1.pid")"; }

download_end() {
	wait_for 30 refused download_runs "$1"
	cat "$TOPOLOGY_DIR/$1.out"
	grep -qx '200 20971520' "$TOPOLOGY_DIR/$1.out"
}

# ---- what is live ----

# The id of each live ring: maps of rings are by size.
ring_ids() {
	local map
	for map in $(topology_on_lb sh -c "ls -d $PINS/rings_*"); do
		topology_on_lb bpftool -j map dump pinned "$map" || return 1
	done | grep '"key"'
}

# All that a change could change, without counters of packets that are on their way.
snapshot() {
	local map
	ringlb --json backend list && ringlb --json vip list && ringlb --json pool list || return 1
	ringlb --json status | jq 'del(.uptime_s)'
	for map in vips vip_prefixes replies labels egress; do
		topology_on_lb bpftool -j map dump pinned "$PINS/$map" || return 1
	done
	ring_ids
}
