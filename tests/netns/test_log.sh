#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The log: each change of state is one line with its fields, however many come at once, and
# nothing is said when nothing changes.
#
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"

CHECK='check: {type: tcp, interval: 200ms, timeout: 100ms, rise: 1, fall: 1}'
SLOWLY='check: {type: tcp, interval: 2s, timeout: 1s, rise: 1, fall: 1}'
MANY=1000

# A pool whose backends are all at b1, at ports that nobody serves.
config_many() {
	local port
	printf '  - name: many\n    forward: nat\n    vnodes: 4\n    %s\n    backends:\n' "$SLOWLY"
	for ((port = 20001; port <= 20000 + MANY; port++)); do
		printf '      - {name: m%d, address: 10.77.2.11, port: %d}\n' $port $port
	done
}

write_pools() {
	config_interfaces
	config_soon
	echo 'pools:'
	config_pool web nat 10.77.2. 8080 1 2
	config_pool other dr 10.77.2. 0 1 2
	[ "${1:-}" != many ] || config_many
	echo 'vips:'
	config_vip $NAT4 tcp 80 web
	config_vip $DR4 tcp 80 other
}

# The same with checks in pool web.
write_checked() { write_pools "$@" | sed "0,/^    forward: nat$/s//    forward: nat\n    $CHECK/"; }

LOG=
# lines PATTERN: how many lines of the log match
lines() { grep -cE -- "$1" "$LOG"; }
lines_are() { is "$(lines "$1")" "$2"; }
one_of() { wait_for "${2:-20}" lines_are "$1" 1; }
flapped() { wait_for 20 lines_are "event=$1 pool=web backend=b1" "$2"; }

# Every line is logfmt, and begins as all do.
well_formed() {
	local pair='[a-z_]+=([^" =\\]+|"([^"\\]|\\.)*")'
	! grep -vE "^level=(info|notice|warning|error) event=[a-z_]+( $pair)* msg=([^\" =\\]+|\"([^\"\\]|\\\\.)*\")$" "$LOG"
}

# What was logged and what was told to be left out: the sum is how many there were.
downs() {
	local left
	left=$(sed -n 's/.*event=suppressed kind=backend_down count=\([0-9]*\).*/\1/p' "$LOG" |
		awk '{ sum += $1 } END { print sum + 0 }')
	echo $(($(lines 'event=backend_down pool=many') + left))
}
all_told() { is "$(downs)" "$MANY"; }

close_port() { topology_on_lb ip route add blackhole 10.77.2.11/32; }
open_port() { topology_on_lb ip route del blackhole 10.77.2.11/32; }

start one 3
LOG=$TOPOLOGY_DIR/ringlbd.log
write_checked >"$CONFIG"
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 15 all_up
check 'that it is ready is told once' one_of 'event=ready msg="ready: interfaces 1'

# top_of FILTER: of a frame of two seconds, with traffic
top_of() { answer "$1" top --once --interval 2s --pool web; }
stream_start web tcp $NAT4 80 30000-30399
check 'top has the rates of real packets' topology_holds \
	'.pools[0].packets_per_s > 10 and .sent_per_s > 20 and (.backends | length) == 2' \
	<<<"$(top_of .)"
check 'and the shares that were seen, which are all' topology_holds \
	'[.backends[].seen] | all(. > 0.2) and (add | . > 0.999 and . < 1.001)' <<<"$(top_of .)"
check 'nobody was disturbed' stream_end web

before=$(wc -l <"$LOG")
check 'reload without a change' ringlb reload
check 'tells that, and nothing else' is "$(tail -n +$((before + 1)) "$LOG" | grep -c 'event=reloaded by=reload')" \
	"$(tail -n +$((before + 1)) "$LOG" | wc -l)"
sed -i '0,/name: b2/s//&\n        weight: 2/' "$CONFIG"
check 'reload with one change' ringlb reload
check 'tells it once' one_of 'event=changed by=reload msg="reload: changed weight of backend'
check 'moving arcs: begin once' one_of 'event=arcs_moving pool=web arcs=[0-9]+ share=0\.[0-9]+'
check 'and settle once' one_of 'event=arcs_settled pool=web' 30
check 'nothing of them was told meanwhile' lines_are 'event=arcs_moving pool=web' 1
echo 'nonsense: 1' >>"$CONFIG"
check 'a bad file' kill -HUP "$DAEMON"
check 'is told' one_of "event=not_reloaded by=SIGHUP msg=\"not reloaded: .*nonsense"
sed -i '$d' "$CONFIG"

for n in 1 2 3; do
	check "b1 goes, $n" close_port
	check 'is told once more' flapped backend_down $n
	check "b1 comes, $n" open_port
	check 'is told once more' flapped backend_up $n
done
check 'with the reason' test "$(lines 'event=backend_down pool=web backend=b1 reason=.* msg="backend .b1. of pool .web. is down')" = 3

check 'a MAC address changes' topology_in b2 sh -c \
	'sysctl -qw net.ipv4.conf.eth0.arp_notify=1 && ip link set eth0 address 02:00:00:00:77:22'
check 'told once for each pool' one_of \
	'event=nexthop_changed pool=web backend=b2 state=up via=10.77.2.12 mac=02:00:00:00:77:22 interface=eth0'
check 'the other one' one_of 'event=nexthop_changed pool=other backend=b2 state=up .*mac=02:00:00:00:77:22'

write_checked many >"$CONFIG"
check "$MANY backends come, and all are down" ringlb reload
check 'each is told or counted, once' wait_for 60 all_told
check 'every line is logfmt' well_formed
finish
