#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Where the kernel lets no program that moves the start of packets be behind libxdp's
# dispatcher: ringlb is alone on its interfaces, says so, and neither takes the place of
# another program nor loses its own to one.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/../netns/lib.sh"
# shellcheck source=tests/vm/versions.sh
. "$(dirname "$0")/versions.sh"

refused_start() {
	local output
	output=$(topology_on_lb "$B/ringlbd" -c "$CONFIG" -s "$SOCKET" -S "$STATE" 2>&1) && return 1
	echo "$output"
	grep -qE "cannot attach to 'eth0': .*another XDP program is there" <<<"$output"
}

# alone MODE: as in the configuration
alone() {
	check "$1: the daemon starts" daemon_start
	check "$1: all backends are up" wait_for 10 all_up
	check "$1: status says single" modes_are "single $1"
	check "$1: ours is on eth0" is "$(names_on eth0)" ringlb
	check "$1: and on eth1" is "$(names_on eth1)" ringlb
	all_work "$1"
	check "$1: another program cannot come later" refused load_other other eth0 "$2" 10
	check "$1: ours is still there" is "$(names_on eth0)" ringlb
	all_work "$1, afterwards"
	check "$1: down" ringlb down
	check "$1: nothing is on eth0" is "$(programs_on eth0)" ''
	check "$1: nothing is on eth1" is "$(programs_on eth1)" ''
	check "$1: libxdp has nothing pinned" is "$(pins)" ''
}

start two 2
check 'another program is compiled' compile_other other
alone native native

check 'the other one is there first' load_other other eth0 native 10
check 'the daemon says that it is in the way' refused_start
check 'the other one stays' is "$(names_on eth0)" other
check 'nothing is on eth1' is "$(programs_on eth1)" ''
check 'the other one goes' unload_other other eth0

sed -i -E 's/^(  - name: eth.)$/\1\n    mode: generic/' "$CONFIG"
alone generic skb
finish
