#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A ringlbd with another version of the program replaces the old one under traffic: no
# request fails, ids and counters stay. Whether the program is alone on an interface or
# behind libxdp's dispatcher is up to the kernel; tests/vm/ runs this where it is the latter.
#
# RINGLB_TEST_NEXT=FILE    a ringlbd that tests/vm/build-next has made (built here if not set)
# RINGLB_TEST_ATTACH=WORD  how the program must be attached, as `ringlb status` says
# RINGLB_TEST_SLOW=yes     less traffic; a request may be slow, but not fail
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/vm/versions.sh
. "$ROOT/tests/vm/versions.sh"

# On both interfaces there is our program alone; prints its tag.
tag() {
	local one other
	one=$(programs_on eth0) other=$(programs_on eth1)
	if ! [[ $one =~ ^ringlb\ [0-9]+\ [0-9a-f]+$ ]] || [ "${one##* }" != "${other##* }" ]; then
		echo "eth0: $one; eth1: $other"
		return 1
	fi
	echo "${one##* }"
}

attach_ways() { answer '[.interfaces[] | .attach + " " + .mode] | unique | join(",")' status; }
packets() { answer '[.vips[].packets] | @csv' stats; }

# No number of the list is smaller than it was, and those of all streams are larger.
continues() {
	echo "before: $1; after: $(packets)"
	paste -d' ' <(tr ',' '\n' <<<"$1") <(packets | tr ',' '\n') |
		awk -v n="$(wc -l <<<"$STREAMS")" 'NF != 2 || $2 < $1 { bad = 1 } $2 > $1 { more++ }
			END { exit bad || more < n }'
}

no_request_failed() {
	local output
	output=$(stream_end "$1") && echo "$output" && return
	echo "$output"
	[ "${RINGLB_TEST_SLOW:-}" = yes ] && grep -qE '^requests [0-9]{2,} errors 0 slow' <<<"$output"
}

STREAMS="nat4 tcp $NAT4 80
nat6 udp $NAT6 7000
dr4 udp $DR4 7000
dr6 tcp $DR6 80"
# Each stream takes what it gets of a processor.
[ "${RINGLB_TEST_SLOW:-}" != yes ] || STREAMS=$(sed -n 2,3p <<<"$STREAMS")

streams_start() {
	local name rest
	while read -r name rest; do
		# shellcheck disable=SC2086 # words
		stream_start "$name" $rest 21000-22000
	done <<<"$STREAMS"
}

streams_end() {
	local name rest
	while read -r name rest; do
		check "$1: no request failed ($name)" no_request_failed "$name"
	done <<<"$STREAMS"
}

# upgrade WHAT SIGNAL FROM TO
upgrade() {
	local what=$1 before rings_before
	before=$(packets) rings_before=$(ring_ids)
	check "$what: the daemon ends" daemon_end "$2"
	check "$what: the old program stays" is "$(tag)" "$3"
	check "$what: the new daemon starts" start_version "$5"
	check "$what: its program is the only one" is "$(tag)" "$4"
	check "$what: it is attached as before" is "$(attach_ways)" "$WAYS"
	check "$what: the rings are those that were" is "$(ring_ids)" "$rings_before"
	check "$what: packets are counted, and counters continue" wait_for 5 continues "$before"
}

start two 2
NEXT=${RINGLB_TEST_NEXT:-}
if [ -z "$NEXT" ]; then
	NEXT=$TOPOLOGY_DIR/next/build/ringlbd
	check 'another version can be built' "$ROOT/tests/vm/build-next" "$TOPOLOGY_DIR/next"
fi

check 'the old version starts' daemon_start
check 'all backends are up' wait_for 5 all_up
OLD_TAG=$(tag) WAYS=$(attach_ways)
check 'it is attached' test -n "$OLD_TAG"
check 'there are rings' ring_ids
check "it is attached as is wanted" is "$WAYS" "${RINGLB_TEST_ATTACH:-${WAYS% *}} native"

streams_start
before=$(packets)
check 'all VIPs have traffic' wait_for 10 continues "$before"
check 'the daemon ends' daemon_end TERM
check 'the new version starts' start_version "$NEXT"
NEW_TAG=$(tag)
check 'it has replaced the old one on both interfaces' test -n "$NEW_TAG"
check 'it is another program' refused is "$NEW_TAG" "$OLD_TAG"
check 'it is attached in the same way' is "$(attach_ways)" "$WAYS"
check 'packets are counted, and counters continue' wait_for 5 continues "$before"
upgrade 'back, after kill -9' KILL "$NEW_TAG" "$OLD_TAG" "$B/ringlbd"
streams_end native

sed -i -E 's/^(  - name: eth.)$/\1\n    mode: generic/' "$CONFIG"
check 'reload to generic mode' ringlb reload
WAYS="${WAYS% *} generic"
check 'it is attached so' is "$(attach_ways)" "$WAYS"
streams_start
upgrade 'generic' TERM "$OLD_TAG" "$NEW_TAG" "$NEXT"
streams_end generic
check 'down' ringlb down
check 'nothing is attached any more' is "$(programs_on eth0)$(programs_on eth1)" ''
finish
