#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A backend with all of the load lends arcs: new flows of these reach others, open ones stay,
# through changes, a killed daemon, and until the load has gone.
# shellcheck source=tests/netns/moves.sh
. "$(dirname "$0")/moves.sh"

POOLS='nat4 dr6'
COUNT=450
PORTS=40

# with_cap POOL TEXT: the usual configuration, of stdin, with more in one pool
with_cap() { sed "/- name: $1\$/,/backends:/s/^    backends:/    $2\n    backends:/"; }

config_capped() {
	{
		config_flows learn_tcp=5s
		write_config 3
	} | with_cap nat4 'load_cap: 1.25\n    load_interval: 2s' |
		with_cap dr6 'load_cap: 1.25\n    load_interval: 2s\n    placement: capped\n    cells: 4096'
}

# load POOL BACKEND FILTER
load() { answer ".pools[] | select(.name == \"$1\") | .load.backends[] | select(.name == \"$2\") | $3" status; }

# lends POOL BACKEND: at least a twentieth of the hash space
lends() { is "$(load "$1" "$2" '.spilled_out > 0.05')" true; }
in_both() {
	local pool
	for pool in $POOLS; do "$1" "$pool" "${@:2}" || return 1; done
}
lends_nothing() { is "$(answer "[.pools[] | select(.name == \"$1\") | .load.spilled // 0] | add" status)" 0; }
borrows_nothing() { is "$(load "$1" "$2" .spilled_in)" 0; }
has_no_load() { is "$(answer ".pools[] | select(.name == \"$1\") | .load" status)" null; }

# answers VIP FIRST: who answers new connections from these ports, as "PORT BACKEND"
answers() {
	topology_in client python3 - "$1" "$2" "$PORTS" <<-'END'
		import socket, sys
		address, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
		family = socket.AF_INET6 if ":" in address else socket.AF_INET
		for port in range(first, first + count):
		    with socket.socket(family, socket.SOCK_STREAM) as s:
		        s.settimeout(3)
		        s.bind(("", port))
		        s.connect((address, 80))
		        s.sendall(b"0" * 16)
		        print(port, s.recv(99).decode().split()[0])
	END
}

# New flows of lent arcs are answered by whom the arcs are lent to, as lookup says. What is
# still b1's by then may be lent in between, and of a few flows none may be in lent arcs: each
# try has ports of its own.
TRIES=0
new_flows_reach_others() {
	local vip first=$((20000 + ++TRIES * PORTS))
	vip=$(vip_of "$1")
	predict tcp "$vip" 80 "$first" "$PORTS" --config "$CONFIG" | sort >"$TOPOLOGY_DIR/pure"
	predict tcp "$vip" 80 "$first" "$PORTS" | grep -v ' b1$' | sort >"$TOPOLOGY_DIR/live"
	answers "$vip" "$first" | sort >"$TOPOLOGY_DIR/answers"
	is "$(comm -23 "$TOPOLOGY_DIR/live" "$TOPOLOGY_DIR/answers")" '' || return 1
	# Some are lent, and b1 has got none but its own.
	[ "$(comm -23 "$TOPOLOGY_DIR/live" "$TOPOLOGY_DIR/pure")" ] &&
		! comm -13 "$TOPOLOGY_DIR/pure" "$TOPOLOGY_DIR/answers" | grep ' b1$'
}

same_as_file() {
	local vip
	for vip in $NAT4 $DR6; do
		diff <(predict tcp "$vip" 80 20000 "$PORTS" --config "$CONFIG") \
			<(predict tcp "$vip" 80 20000 "$PORTS") || return 1
	done
}

start two 3
config_capped >"$CONFIG"
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 5 all_up
check 'nothing is lent' in_both lends_nothing
clients_start nat4 tcp $NAT4 80 $COUNT 0
clients_start dr6 tcp $DR6 80 $COUNT 0
check 'all flows are open' wait_long 10 all_open
# One order after the other: the next one would take the place of one that is not yet read.
none_of() { is "$(open_to "$1" nat4) $(open_to "$1" dr6)" '0 0'; }
check 'the clients of b2 leave' close_to b2
check 'they have left' wait_long 10 none_of b2
check 'the clients of b3 leave' close_to b3
check 'they have left' wait_long 10 none_of b3
check 'b1, with all of the load, lends arcs' wait_long 30 in_both lends b1
check 'status says so' grep -qE '^b1 +nat4 +[0-9]+ +[0-9.]+ +1.250 +[0-9.]+ % +0.00 % +[0-9]+ s$' \
	<(ringlb status)
check 'the log, too' logged "load_cap: pool 'nat4' spills "
for pool in $POOLS; do
	check "$pool: new flows of these arcs reach others" wait_long 20 new_flows_reach_others "$pool"
done
check_unbroken 'lent'
remembers() { is "$(answer ".flows_remembered > $1" plan weight:b2=2 --pool nat4)" true; }
check 'plan: flows that are remembered in moving arcs are known' wait_for 5 remembers 20
check 'plan: others are not, and it says so' \
	grep -q '^flows .* of the live ones .* nothing is stored in settled arcs (--flows N)$' \
	<(ringlb plan weight:b2=2 --pool nat4)
check 'plan: with a number it counts' grep -q '^flows      about [1-9][0-9]* of 1000 would be tracked' \
	<(ringlb plan weight:b2=2 --pool nat4 --flows 1000)

check 'the daemon is killed' daemon_end KILL
check_unbroken 'killed'
check 'it starts again' daemon_start
check 'nothing is lent any more' in_both lends_nothing
check_unbroken 'started again'
check 'b1 lends arcs again' wait_long 30 in_both lends b1

check 'b2 drains' in_pools backend drain b2
check 'it has none of them' in_both borrows_nothing b2
check 'b1 still lends to b3' wait_long 30 in_both lends b1
check 'b1 has another weight' in_pools backend weight b1 0.5
check_unbroken 'changes'
sed '/load_cap\|load_interval/d' "$CONFIG" >"$CONFIG.new"
cp "$CONFIG" "$CONFIG.capped"
mv "$CONFIG.new" "$CONFIG"
check 'a reload takes the cap away' ringlb reload
check 'there is no load to show' in_both has_no_load
check 'the ring is that of the file' same_as_file
check_unbroken 'no cap'

mv "$CONFIG.capped" "$CONFIG"
check 'a reload brings it back' ringlb reload
check 'b1 lends arcs once more' wait_long 30 in_both lends b1
check 'the configuration is saved' ringlb save
check 'the file has the cap and nothing else of it' is "$(grep -c 'load' "$CONFIG")" 4
check_unbroken 'cap again'
check 'the load goes' clients_end
check 'all is given back' wait_long 30 in_both lends_nothing
check 'all settles' wait_long 25 settled
check 'the ring is that of the file' same_as_file
check 'the flow tables are empty' tables_are_empty
finish
