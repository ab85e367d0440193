#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `ringlb capture`: what XDP sends is in no packet socket, so the program has its own copies,
# of each packet as it came in and as it left. It ends with who asked for it.
#
# shellcheck disable=SC2086 # no address has blanks
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"

capture() { topology_on_lb "$B/ringlb" capture "$@"; }

# capture_start ARGUMENT...: in the background; it copies when this returns
capture_start() {
	rm -f "$TOPOLOGY_DIR/capture.out"
	topology_spawn_on_lb "$TOPOLOGY_DIR/capture.out" "$B/ringlb" capture "$@"
	CAPTURE=$TOPOLOGY_PID
	wait_for 5 grep -q '^capturing' "$TOPOLOGY_DIR/capture.out"
}

capture_end() {
	kill -"$1" $CAPTURE 2>/dev/null
	wait_for 5 refused kill -0 $CAPTURE && cat "$TOPOLOGY_DIR/capture.out"
}

frames() { /usr/bin/python3 "$ROOT/tests/netns/capture.py" "$FILE"; }

# Until when it is on, as the program reads it: nanoseconds, 0 for off.
until_ns() { topology_on_lb bpftool -j map dump pinned "$PINS/capture" | jq '.[0].formatted.value.until_ns'; }
is_off() { ask udp $NAT4 7000 25000 1 >/dev/null && is "$(until_ns)" 0; }
is_on() { [ "$(until_ns)" -gt 0 ]; }

# Ten requests through nat: each packet is there twice, with the client's address first and
# the backend's afterwards, or the backend's and then the VIP's.
nat_is_whole() {
	frames >"$TOPOLOGY_DIR/frames" || return 1
	head -n 8 "$TOPOLOGY_DIR/frames"
	is "$(grep -c " in in eth0 $CLIENT4:2[0-9]* $NAT4:7000$" "$TOPOLOGY_DIR/frames")" 10 &&
		is "$(grep -cE " out REDIRECT_BACKEND eth0 $CLIENT4:2[0-9]* 10\.77\.2\.1[123]:8080$" \
			"$TOPOLOGY_DIR/frames")" 10 &&
		is "$(grep -cE " in in eth1 10\.77\.2\.1[123]:8080 $CLIENT4:2[0-9]*$" "$TOPOLOGY_DIR/frames")" 10 &&
		is "$(grep -c " out REDIRECT_REPLY eth1 $NAT4:7000 $CLIENT4:2[0-9]*$" "$TOPOLOGY_DIR/frames")" 10
}

# Both frames of a packet have one number: it comes in before it goes out, and does both. Those
# that another CPU has meanwhile may stand between them.
pairs() {
	frames | awk '$3 == "in" { open[$1]++; n++; next }
		!open[$1]-- { print; bad = 1 }
		{ n-- }
		END { exit bad || n }'
}

only() { is "$(frames | awk '$3 != "in" { print $3 }' | sort -u)" "$1"; }

# capture_refused STATUS PATTERN ARGUMENT...
capture_refused() {
	local output status wanted=$1 pattern=$2
	shift 2
	output=$(capture "$@" 2>&1 >/dev/null)
	status=$?
	echo "status $status: $output"
	[ $status = "$wanted" ] && grep -qE "^ringlb: $pattern" <<<"$output"
}

start two 3
FILE=$TOPOLOGY_DIR/capture.pcapng
check 'without the daemon there is nothing to capture' \
	capture_refused 1 "cannot open '$PINS/capture': No such file.*ringlbd" -w "$FILE"
check 'nor a file' refused test -e "$FILE"
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 5 all_up
check 'it is off' is_off

check 'case 38: the capture starts' capture_start -w "$FILE"
check 'ten clients are answered' ask udp $NAT4 7000 20000 10
check 'it ends by Ctrl-C' capture_end INT
check 'case 38: all packets are there, before and after' nat_is_whole
check 'frames are in pairs' pairs
check 'nothing was lost' grep -qE '^[0-9]+ packets in [0-9]+ frames, 0 lost$' "$TOPOLOGY_DIR/capture.out"
check 'it is off again' is_off

check 'the capture of one verdict starts' capture_start -w "$FILE" --verdict REDIRECT_BACKEND --packets 5
check 'clients of IPv6 are answered' ask udp $DR6 7000 20000 10
check 'it ends by itself' wait_for 5 refused kill -0 $CAPTURE
check 'only these packets are there' only REDIRECT_BACKEND
check 'as many as were asked for' is "$(frames | wc -l)" 10
check 'with the VIP as destination before and after' \
	is "$(frames | grep -c " $CLIENT6:2[0-9]* $DR6:7000$")" 10

check 'one packet in four' capture_start -w "$FILE" --sample 4
check 'forty clients are answered' ask udp $DR4 7000 20000 40
check 'it ends' capture_end TERM
sampled=$(frames | grep -c " in in eth0 $CLIENT4:2[0-9]* $DR4:7000$")
check 'some ten of them are there' test "$sampled" -ge 5 -a "$sampled" -le 20

echo 'not to be lost' >"$FILE"
check 'one starts' capture_start -w "$TOPOLOGY_DIR/other"
check 'a second one is refused' capture_refused 1 'somebody else captures' -w "$FILE"
check 'which touches no file' is "$(cat "$FILE")" 'not to be lost'
check 'one dies' capture_end KILL
check 'the program is still at it' is_on
check 'soon it is not any more' wait_for 6 is_off
check 'and the next one can start' capture_start -w "$FILE"
check 'it ends' capture_end INT

check 'a full disk' capture_refused 1 "cannot write to '/dev/full': No space left" -w /dev/full
check 'no such directory' capture_refused 1 "cannot write to '/nowhere/x': No such file" -w /nowhere/x
check 'no file given' capture_refused 2 "'capture' needs --write"
check 'no such verdict' capture_refused 2 "--verdict must be one of .*'DROP_IT'" -w "$FILE" --verdict DROP_IT
check 'one packet in none' capture_refused 2 "--sample must be .*'0'" -w "$FILE" --sample 0
check 'off after all these' is_off

check 'the daemon ends' daemon_end TERM
check 'without it' capture_start -w "$FILE" --packets 2
check 'clients are answered' ask udp $NAT4 7000 20000 3
check 'it works as well' wait_for 5 refused kill -0 $CAPTURE
check 'two packets are there' is "$(frames | wc -l)" 4
finish
