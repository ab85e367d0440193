#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A change that is refused says why in one line and changes nothing at all.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"

LIVE=
GOOD=

# The maps, the lists and the state directory are what they were.
nothing_changed() {
	diff <(snapshot) - <<<"$LIVE" && diff <(ls -la --time-style=full-iso "$STATE" 2>&1) - <<<"$KEPT"
}

# by_file WHAT PATTERN SED-SCRIPT: the file, edited, is refused by reload and by check
by_file() {
	sed -E "$3" "$GOOD" >"$CONFIG"
	check "file: $1: it differs from the good one" refused cmp -s "$GOOD" "$CONFIG"
	check "file: $1: reload refuses it" refuses "$2" ringlb reload
	check "file: $1: nothing changed" nothing_changed
	cp "$GOOD" "$CONFIG"
}

# by_command WHAT STATUS PATTERN ARGUMENT...
by_command() {
	local what=$1 status=$2 pattern=$3
	shift 3
	check "command: $what" is_refused "$status" "$pattern" "$@"
	check "command: $what: nothing changed" nothing_changed
}

# Refused by the daemon (1) or as wrong usage (2), which takes a second line.
is_refused() {
	local wanted=$1 pattern=$2 output status
	shift 2
	output=$(ringlb "$@" 2>&1)
	status=$?
	echo "status $status: $output"
	[ "$status" -eq "$wanted" ] && [[ ${output%%$'\n'*} =~ $pattern ]]
}

start two 3
GOOD=$TOPOLOGY_DIR/good.yaml
cp "$CONFIG" "$GOOD"
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 5 all_up
LIVE=$(snapshot)
KEPT=$(ls -la --time-style=full-iso "$STATE" 2>&1)
check 'a snapshot can be taken' test "${#LIVE}" -gt 1000

by_file 'not YAML' 'ringlb.yaml:[0-9]+: ' '3s/.*/  - {{{/'
by_file 'unknown field' 'ringlb.yaml:[0-9]+: .*(unknown|colour)' '0,/forward: nat/s//&\n    colour: red/'
by_file 'duplicate field' 'ringlb.yaml:[0-9]+: .*forward' '0,/forward: nat/s//&\n    forward: nat/'
by_file 'duplicate pool' 'ringlb.yaml:[0-9]+: .*nat4' 's/name: nat6/name: nat4/'
by_file 'duplicate backend' 'ringlb.yaml:[0-9]+: .*b1' '0,/name: b2/s//name: b1/'
by_file 'duplicate VIP' 'ringlb.yaml:[0-9]+: .*80/tcp' 's/10.77.100.2/10.77.100.1/'
by_file 'duplicate interface' 'ringlb.yaml:[0-9]+: .*eth0' 's/name: eth1/name: eth0/'
by_file 'bad address' "address.*'10.77.2.300'" '0,/10.77.2.11/s//10.77.2.300/'
by_file 'bad VIP address' "address.*'10.77.100'" '0,/10.77.100.1/s//10.77.100/'
by_file 'multicast backend' 'address.*224.0.0.1' '0,/10.77.2.11/s//224.0.0.1/'
by_file 'port too large' "port.*'70000'" '0,/port: 8080/s//port: 70000/'
by_file 'port is no number' "port.*'http'" '0,/port: 8080/s//port: http/'
by_file 'negative weight' "weight.*'-1'" '0,/port: 8080/s//&\n        weight: -1/'
by_file 'weight too large' "weight.*'1001'" '0,/port: 8080/s//&\n        weight: 1001/'
by_file 'vnodes 0' 'vnodes' '0,/forward: nat/s//&\n    vnodes: 0/'
by_file 'unknown forwarding' "forward.*'gre'" '0,/forward: nat/s//forward: gre/'
by_file 'unknown protocol' "protocol.*'icmp'" '0,/protocol: tcp/s//protocol: icmp/'
by_file 'nat for SCTP' "protocol.*sctp does not go with nat pool 'nat4'" \
	'0,/protocol: tcp/s//protocol: sctp/'
by_file 'unknown pool' "pool.*'web9'" '0,/pool: nat4/s//pool: web9/'
by_file 'missing interface' "no interface 'eth9'" 's/name: eth1/name: eth9/'
by_file 'nat across families' 'is IPv6' 's/"10.77.2.13"/"fd77:2::99"/'
by_file 'port in a dr pool' 'port.*dr' 's/(forward: )nat/\1dr/'
by_file 'bad seed' 'seed' 's/^seed: .*/seed: 0xnope/'
rm "$CONFIG"
check 'file: gone: reload says so' refuses 'No such file' ringlb reload
check 'file: gone: nothing changed' nothing_changed
cp "$GOOD" "$CONFIG"
echo 'nonsense: 1' >>"$CONFIG"
check 'SIGHUP with a bad file' kill -HUP "$DAEMON"
check 'says so in the log' wait_for 3 logged "unknown field 'nonsense'"
check 'nothing changed' nothing_changed
cp "$GOOD" "$CONFIG"

by_command 'backend exists' 1 "b1" backend add b1 10.77.2.99 --pool nat4
by_command 'address exists' 1 '10.77.2.11' backend add b9 10.77.2.11:8080 --pool nat4
by_command 'unknown pool' 1 "'web9'" backend add b9 10.77.2.99 --pool web9
by_command 'pool is missing' 1 'pool' backend add b9 10.77.2.99
by_command 'bad address' 2 "'10.77.2.300'" backend add b9 10.77.2.300 --pool nat4
by_command 'bad port' 2 '70000' backend add b9 10.77.2.99:70000 --pool nat4
by_command 'bad weight' 2 "'-1'" backend add b9 10.77.2.99 --pool nat4 --weight -1
by_command 'weight with too many decimals' 2 '0.0001' backend weight b1 0.0001 --pool nat4
by_command 'wrong family' 1 'is IPv6' backend add b9 fd77:2::99 --pool nat4
by_command 'port in dr' 1 'port' backend add b9 10.77.2.99:80 --pool dr4
by_command 'unknown backend, remove' 1 "'b9'" backend remove b9 --pool nat4
by_command 'unknown backend, weight' 1 "'b9'" backend weight b9 2 --pool nat4
by_command 'VIP exists' 1 '10.77.100.1:80/tcp' vip add 10.77.100.1:80/tcp --pool nat4
by_command 'VIP of another family' 1 'is IPv4' vip add '[fd77:100::9]:80/tcp' --pool nat4
by_command 'unknown VIP' 1 '10.77.100.9:80/tcp' vip remove 10.77.100.9:80/tcp
by_command 'bad VIP' 2 '10.77.100.9:80/icmp' vip add 10.77.100.9:80/icmp --pool nat4
by_command 'nat for SCTP' 1 'protocol sctp does not go with nat' \
	vip add 10.77.100.9:80/sctp --pool nat4
by_command 'two VIPs for one backend port' 1 '' vip add 10.77.100.9:80/tcp --pool nat4
by_command 'no such VIP to look up' 1 'no VIP for 10.77.100.9:80/tcp' \
	lookup tcp 10.77.1.2:1 10.77.100.9:80
check 'a good change still works' ringlb backend weight b1 0.5 --pool nat4
finish
