#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Taking everything away: with the daemon (ringlb down) and without (ringlbd --detach),
# nothing stays in the kernel; after that a start is as good as the first.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"

programs() { topology_in lb ip link show | grep -c 'prog/xdp'; }
managed() { topology_in lb ip neigh show | grep -c managed; }
pins() { topology_on_lb sh -c "ls -A $PINS 2>/dev/null | wc -l"; }

in_place() { [ "$(programs)" -ge 2 ] && [ "$(managed)" -ge 6 ] && [ "$(pins)" -gt 5 ]; }
all_gone() {
	topology_in lb ip link show
	topology_in lb ip neigh show
	is "$(programs)" 0 && is "$(managed)" 0 && is "$(pins)" 0 &&
		! topology_on_lb test -e "$PINS"
}

works() { diff <(ask tcp "$1" 80 23000 30) <(predict tcp "$1" 80 23000 30 --config "$CONFIG"); }

# Traffic that is not ours: the client reaches a backend's own address through lb.
passes() {
	is "$(topology_in client curl -sm 3 http://10.77.2.11:80/)" b1 &&
		is "$(topology_in client curl -sm 3 "http://[fd77:2::12]:80/")" b2
}

start two 3
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 5 all_up
check 'programs, neighbours and pins are in place' wait_for 3 in_place
check 'it balances' works $NAT4

check 'down' ringlb down
check 'the daemon ends' wait_for 5 refused kill -0 "$DAEMON"
check 'nothing is left in the kernel' all_gone
check 'other traffic passes' passes
check 'the socket is gone' refused test -e "$SOCKET"

check 'the daemon starts again' daemon_start
check 'all backends are up' wait_for 5 all_up
check 'it balances' works $DR6
check 'detach is refused while it runs' refuses 'in use by another ringlbd' \
	topology_on_lb "$B/ringlbd" --detach
check 'it still balances' works $NAT6
check 'kill -9' daemon_end KILL
check 'it balances without the daemon' works $NAT4
check 'detach' topology_on_lb "$B/ringlbd" --detach
check 'nothing is left in the kernel' all_gone
check 'other traffic passes' passes
check 'detach once more has nothing to do' \
	is "$(topology_on_lb "$B/ringlbd" --detach)" 'nothing was in place'

check 'the daemon starts once more' daemon_start
check 'all backends are up' wait_for 5 all_up
check 'it balances' works $NAT4
check 'kill -9' daemon_end KILL
check 'ringlb down without the daemon' topology_on_lb "$B/ringlb" --socket "$SOCKET" down
check 'nothing is left in the kernel' all_gone

# An interface that leaves the configuration is left alone at once.
check 'the daemon starts' daemon_start
sed -i '/name: eth1/d' "$CONFIG"
check 'reload without eth1' ringlb reload
check 'there is a program on one interface only' is "$(programs)" 1
check 'down' ringlb down
check 'nothing is left in the kernel' all_gone
finish
