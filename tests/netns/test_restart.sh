#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The daemon is killed and started again under traffic: nobody notices, ids and counters stay.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"

# Ids of pools, backends and VIPs in the maps.
ids() {
	local map
	for map in labels vips; do
		topology_on_lb bpftool -j map dump pinned "$PINS/$map" | jq -c '.[] | [.key, .value]' | sort
	done
}

counters() { answer '[.vips[].packets, .backends[].packets] | @csv' stats; }

# The same list of numbers, none of them smaller.
continues() {
	echo "before: $1"
	echo "after:  $(counters)"
	paste -d' ' <(tr ',' '\n' <<<"$1") <(counters | tr ',' '\n') |
		awk 'NF != 2 || $2 < $1 { exit 1 }'
}

# All packets that were seen, read past the daemon.
forwarded() {
	topology_on_lb bpftool -j map dump pinned "$PINS/verdicts" |
		jq '[.[].formatted.values[].value] | add'
}

forwards_more_than() { [ "$(forwarded)" -gt "$1" ]; }

attached() { topology_in lb ip -d link show eth0 | grep -o 'prog/xdp id [0-9]*'; }

start two 3
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 5 all_up
check 'there are rings' ring_ids
# A restart that changes nothing publishes nothing.
ids_before=$(ids) rings_before=$(ring_ids) program_before=$(attached)

download_start big4 $NAT4
download_start big6 $DR6
stream_start nat tcp $NAT4 80 21000-22000
stream_start dr udp $DR6 7000 21000-22000

for round in 1 2; do
	before=$(counters)
	check "round $round: kill -9" daemon_end KILL
	check "round $round: packets are forwarded without it" \
		wait_for 5 forwards_more_than $(($(forwarded) + 200))
	check "round $round: it starts again" daemon_start
	check "round $round: counters continue" continues "$before"
	check "round $round: ids are the same" is "$(ids)" "$ids_before"
	check "round $round: no ring was published anew" is "$(ring_ids)" "$rings_before"
	check "round $round: the program was not replaced" is "$(attached)" "$program_before"
done

before=$(counters)
check 'SIGTERM ends it cleanly' daemon_end TERM
check 'the socket is gone' refused test -e "$SOCKET"
check 'it starts again' daemon_start
check 'counters continue' continues "$before"

check 'a second ringlbd is refused' refuses 'another ringlbd' timeout 10 nsenter \
	--target "$TOPOLOGY_HOLDER" --net --mount -- "$B/ringlbd" -c "$CONFIG" -S "$STATE" -s "$SOCKET.2"
check 'also on the same socket' refuses "cannot listen on '.*': Address already in use" \
	timeout 10 nsenter --target "$TOPOLOGY_HOLDER" --net --mount -- \
	"$B/ringlbd" -c "$CONFIG" -S "$STATE" -s "$SOCKET"
check 'the first one still answers' daemon_is_ready
check 'ids are the same' is "$(ids)" "$ids_before"

check 'stream through nat: no error, nothing sent twice' stream_end nat
check 'stream through dr: no error, nothing sent twice' stream_end dr
check 'download through nat' download_end big4
check 'download through dr' download_end big6
finish
