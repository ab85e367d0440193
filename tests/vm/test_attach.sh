#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# libxdp's dispatcher: the interfaces are shared with programs that were there before and
# that come later; restarts and upgrades of ringlbd leave them alone, and nothing of ours is
# left in the end. Only where the dispatcher can be had: tests/vm/run.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/../netns/lib.sh"
# shellcheck source=tests/vm/versions.sh
. "$(dirname "$0")/versions.sh"

NEXT=${RINGLB_TEST_NEXT:?must be a ringlbd that tests/vm/build-next has made}

# A libxdp that ends the process instead of taking a program off: between the two steps of
# an upgrade behind the dispatcher.
compile_accident() {
	gcc -shared -fPIC -x c - -o "$TOPOLOGY_DIR/accident.so" <<-'C'
		#include <unistd.h>
		int xdp_program__detach(void) { _exit(9); }
		int xdp_program__detach_multi(void) { _exit(9); }
	C
}

ours_on() { programs_on "$1" | grep '^ringlb '; }
# sees NAME COMMAND...: the other program sees packets while the command runs
sees() {
	local name=$1 before
	shift
	before=$(seen "$name")
	"$@" && echo "seen: $before, then $(seen "$name")" && [ "$(seen "$name")" -gt "$before" ]
}

# On the emulator a request may be slow; none may fail.
no_request_failed() {
	local output
	output=$(stream_end "$1")
	echo "$output"
	grep -qE '^requests [0-9]{2,} errors 0 slow' <<<"$output"
}

restart_adopts() {
	local before
	before=$(programs_on eth0 && programs_on eth1)
	check "$1: the daemon ends" daemon_end "$2"
	check "$1: it starts again" daemon_start
	check "$1: all programs have the ids that they had" is "$(programs_on eth0 && programs_on eth1)" "$before"
}

start two 2
check 'programs of others are compiled' compile_other early
compile_other late
check 'an accident is prepared' compile_accident

check 'another program is there first' load_other early eth0 native 10
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 10 all_up
check 'status says dispatcher' modes_are 'dispatcher native'
check 'both programs are on eth0' is "$(names_on eth0)" 'early ringlb'
check 'ours is alone on eth1' is "$(names_on eth1)" ringlb
all_work 'beside one that was first'
check 'the first one sees requests' sees early works udp $NAT4 7000

stream_start nat udp $NAT4 7000 21000-22000
stream_start dr udp $DR6 7000 21000-22000
check 'another program comes later' load_other late eth0 native 90
check 'three programs are on eth0' is "$(names_on eth0)" 'early ringlb late'
check 'the last one sees what we pass' sees late topology_in client ping -c 2 -i 0.2 -W 5 -q 10.77.1.1
restart_adopts 'restart' TERM
restart_adopts 'kill -9' KILL
check 'the daemon ends' daemon_end TERM
old=$(ours_on eth0)
check 'another version starts' start_version "$NEXT"
check 'three programs are on eth0' is "$(names_on eth0)" 'early ringlb late'
new=$(ours_on eth0)
check 'ours is another one' refused is "${new##* }" "${old##* }"
check 'also on eth1' is "$(programs_on eth1 | awk '{ print $1, $3 }')" "ringlb ${new##* }"
check 'the last one goes' unload_other late eth0
check 'the others stay' is "$(programs_on eth0 | grep -v '^early')" "$new"
check 'status says dispatcher' modes_are 'dispatcher native'
check 'no request failed through nat' no_request_failed nat
check 'no request failed through dr' no_request_failed dr
all_work 'after all that'

check 'the daemon ends' daemon_end TERM
check 'an upgrade dies half-way' refused topology_on_lb env LD_PRELOAD="$TOPOLOGY_DIR/accident.so" \
	"$B/ringlbd" -c "$CONFIG" -s "$SOCKET" -S "$STATE"
check 'both versions are there' is "$(names_on eth0)" 'early ringlb ringlb'
check 'it is tried again' start_version "$B/ringlbd"
check 'there is one of ours' is "$(names_on eth0) $(names_on eth1)" 'early ringlb ringlb'
check 'it is the one that was wanted' is "$(ours_on eth0 | awk '{ print $3 }')" "${old##* }"
all_work 'after the accident'
check 'the daemon ends' daemon_end TERM
check 'an upgrade dies half-way' refused topology_on_lb env LD_PRELOAD="$TOPOLOGY_DIR/accident.so" \
	"$NEXT" -c "$CONFIG" -s "$SOCKET" -S "$STATE"
check 'down takes both versions off' topology_on_lb "$B/ringlb" --socket "$SOCKET" down
check "the other's program stays" is "$(names_on eth0)" early
check 'it still sees packets' sees early topology_in client ping -c 2 -i 0.2 -W 5 -q 10.77.1.1
check 'nothing is on eth1' is "$(programs_on eth1)" ''
check 'libxdp has one dispatcher left' is "$(pins | wc -l)" 1
check 'the other program goes' unload_other early eth0
check 'libxdp has nothing pinned' is "$(pins)" ''

check 'the daemon starts alone' daemon_start
check 'all backends are up' wait_for 10 all_up
check 'another program comes later' load_other early eth0 native 10
check 'both are there' is "$(names_on eth0)" 'early ringlb'
check 'down' ringlb down
check 'the other stays' is "$(names_on eth0)" early
check 'and goes' unload_other early eth0
check 'libxdp has nothing pinned' is "$(pins)" ''

sed -i -E 's/^(  - name: eth.)$/\1\n    mode: generic/' "$CONFIG"
check 'generic: another program is there first' load_other early eth0 skb 10
check 'generic: the daemon starts' daemon_start
check 'generic: all backends are up' wait_for 10 all_up
check 'generic: status says so' modes_are 'dispatcher generic'
check 'generic: both programs are there' is "$(names_on eth0)" 'early ringlb'
all_work generic
check 'generic: the other one sees requests' sees early works udp $NAT4 7000
restart_adopts 'generic, restart' TERM
check 'generic: the other one goes' unload_other early eth0
check 'generic: ours stays' works udp $NAT4 7000
sed -i '/mode:/d' "$CONFIG"
check 'reload to native mode' ringlb reload
check 'status says so' modes_are 'dispatcher native'
check 'down' ringlb down
check 'nothing is on eth0' is "$(programs_on eth0)" ''
check 'libxdp has nothing pinned' is "$(pins)" ''
finish
