# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Datagrams that real kernels cut up and put together again, through {nat, dr} x {IPv4,
# IPv6} in one shape of the network, in the order in which they were sent and in others.

# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"

DATAGRAMS="/usr/bin/python3 $ROOT/tests/netns/datagrams.py"
PORT=7100
FIRST=20000

# The backends of the nat pools serve on another port than the VIPs have.
fragments_config() {
	config_interfaces
	config_soon
	echo 'pools:'
	config_pool nat4 nat 10.77.2. $((PORT + 1)) 1 2
	config_pool nat6 nat fd77:2:: $((PORT + 1)) 1 2
	config_pool dr4 dr 10.77.2. 0 1 2
	config_pool dr6 dr fd77:2:: 0 1 2
	echo 'vips:'
	config_vip $NAT4 udp $PORT nat4
	config_vip $NAT6 udp $PORT nat6
	config_vip $DR4 udp $PORT dr4
	config_vip $DR6 udp $PORT dr6
}

serve_datagrams() {
	# shellcheck disable=SC2086 # words
	topology_spawn "$1" "$TOPOLOGY_DIR/$1/datagrams" $DATAGRAMS serve "$1" $PORT $((PORT + 1))
	wait_for 10 grep -q ready "$TOPOLOGY_DIR/$1/datagrams"
}

# ask_big ORDER VIP LENGTH COUNT: one "PORT BACKEND" line for each datagram
ask_big() {
	local source=$CLIENT4
	[[ $2 != *:* ]] || source=$CLIENT6
	# shellcheck disable=SC2086 # words
	topology_in client $DATAGRAMS ask "$1" "$source" "$2" $PORT "$3" $FIRST "$4"
}

# The backend is the one that whole packets of the flow go to.
answered_as_predicted() {
	local order=$1 vip=$2 length=$3 count=$4
	diff <(ask_big "$order" "$vip" "$length" "$count") <(predict udp "$vip" $PORT $FIRST "$count")
}

# Sum of a counter of IPv4 and IPv6 reassembly in a namespace: reassembly ROLE WORD
reassembly() {
	topology_in "$1" cat /proc/net/snmp /proc/net/snmp6 | awk -v word="$2" '
		$1 == "Ip:" && !n { n = split($0, names); next }
		$1 == "Ip:" { for (i = 2; i <= n; i++) if (names[i] == word) sum += $i }
		$1 == "Ip6" word { sum += $2 }
		END { print sum + 0 }'
}

nothing_failed_to_reassemble() {
	local role
	for role in client b1 b2; do
		echo "$role: $(reassembly $role ReasmOKs) datagrams, $(reassembly $role ReasmFails) failures"
		is "$(reassembly $role ReasmFails)" 0 && [ "$(reassembly $role ReasmOKs)" -gt 50 ] ||
			return 1
	done
}

verdict() { answer ".verdicts[] | select(.name == \"$1\") | .packets" stats; }
drops() { answer '[.verdicts[] | select(.action == "DROP") | .packets] | add' stats; }

nothing_dropped() {
	ringlb stats
	is "$(drops)" 0
}

more_were_held_than() { [ "$(verdict HOLD_FRAGMENT)" -gt "$1" ]; }

# is_late HELD DROPPED
is_late() { is "$(verdict HOLD_FRAGMENT) $(verdict DROP_FRAGMENT_NO_FIRST)" "$1 $2"; }

each_vip() {
	local what=$1 vip
	shift
	for vip in $NAT4 $NAT6 $DR4 $DR6; do
		check "case 7: $what, to $vip" answered_as_predicted "$1" "$vip" "${@:2}"
	done
}

fragments() {
	local held late role
	start "$1" 2
	for role in b1 b2; do serve_datagrams "$role" || bail_out "no services in $role"; done
	fragments_config >"$CONFIG"
	check 'the daemon starts' daemon_start
	check 'all backends are up' wait_for 5 all_up
	each_vip '3,000 bytes' kernel 3000 60
	each_vip '60,000 bytes' kernel 60000 20
	check 'nothing was held' is "$(verdict HOLD_FRAGMENT)" 0
	each_vip '3,000 bytes, the last fragment first' reverse 3000 60
	check 'they were held' more_were_held_than 100
	each_vip '60,000 bytes, the last fragment first' reverse 60000 4
	each_vip '4,400 bytes, the fragments of many datagrams mixed' mixed 4400 60
	check 'nothing was dropped' nothing_dropped
	check 'case 7: no datagram was split over two backends' nothing_failed_to_reassemble

	check 'status shows the memory for it' test \
		"$(answer '.tables[] | select(.name == "fragments") | .bytes' status)" -gt 1000000

	held=$(verdict HOLD_FRAGMENT) late=$(verdict DROP_FRAGMENT_NO_FIRST)
	check 'the daemon ends' daemon_end KILL
	check '60,000 bytes without the daemon' test \
		"$(ask_big kernel $NAT4 60000 10 | grep -c 'b[12]$')" -eq 10
	# From other ports, as what is left of these stays with the backends for a while.
	check 'in reverse order nobody waits' is "$(FIRST=30000 ask_big reverse $DR4 3000 2)" "30000 -
30001 -"
	check 'the daemon starts again' daemon_start
	check 'what was left there is too old, and counted' wait_for 5 is_late $((held + 4)) $((late + 4))

	sed -i -E 's/^(  - name: eth.)$/\1\n    mode: generic/' "$CONFIG"
	check 'reload to generic mode' ringlb reload
	each_vip 'in generic mode, the fragments of many datagrams mixed' mixed 4400 30
	finish
}
