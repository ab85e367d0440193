#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# VIPs of prefixes and port ranges, and what they hash: real traffic goes where lookup says,
# changes of one concern no other, and all of it outlives the daemon.
#
# shellcheck disable=SC2086 # no address has blanks
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"

PREFIX4=10.77.100.64/26 IN4=10.77.100.70 EDGE4=10.77.100.127
PREFIX6=fd77:100:0:0:1::/80 IN6=fd77:100::1:0:0:7
FIRST=20000 COUNT=60

config_hashed() {
	config_vip "$1" "$2" "$3" "$4"
	printf '    hash: %s\n' "$5"
}

write_vips() {
	config_interfaces
	config_soon
	echo 'pools:'
	config_pool nat nat 10.77.2. 0 1 2 3
	config_pool dr4 dr 10.77.2. 0 1 2 3
	config_pool dr6 dr fd77:2:: 0 1 2 3
	config_pool only dr 10.77.2. 0 2
	echo 'vips:'
	config_vip $NAT4 tcp 8000-8100 nat
	config_vip $NAT4 udp 7000-7001 nat
	config_vip $PREFIX4 tcp any dr4
	config_vip $PREFIX4 udp 7000-7001 dr4
	config_vip $PREFIX6 tcp 80-90 dr6
	config_vip $PREFIX6 udp 7000 dr6
	config_vip $PREFIX4 sctp 3868-3870 dr4
	config_vip $DR6 sctp any dr6
	config_hashed $DR4 tcp 80 dr4 source
	config_hashed $DR4 udp 7000-7001 dr4 source-port-less
	config_vip $DR6 tcp 80 dr6
}

# A backend takes the packets of the prefixes, and answers from their addresses.
hold_prefixes() {
	local ns=$TOPOLOGY_ID-$1
	ip -n "$ns" route add local $PREFIX4 dev lo && ip -n "$ns" rule add from $PREFIX4 lookup 100 &&
		ip -n "$ns" -6 route add local $PREFIX6 dev lo &&
		ip -n "$ns" -6 rule add from $PREFIX6 lookup 100 &&
		topology_in "$1" sysctl -qw net.ipv6.ip_nonlocal_bind=1
}

# Everybody is answered, by whom lookup says, in the maps and in the file.
agrees() {
	local out
	out=$(ask "$1" "$2" "$3" $FIRST $COUNT)
	is "$(grep -vc -- ' -$' <<<"$out")" $COUNT &&
		diff <(predict "$1" "$2" "$3" $FIRST $COUNT) - <<<"$out" &&
		diff <(predict "$1" "$2" "$3" $FIRST $COUNT --config "$CONFIG") - <<<"$out"
}

# The same of SCTP.
sctp_agrees() {
	local source=$CLIENT4 last=$((FIRST + COUNT - 1))
	[[ $1 != *:* ]] || source=$CLIENT6
	diff <(predict sctp "$1" "$2" $FIRST $COUNT) \
		<(topology_in client "$ROOT/tests/netns/sctp.py" ask $source "$1" "$2" $FIRST-$last)
}

sctp_start() {
	topology_spawn "$1" "$TOPOLOGY_DIR/$1/sctp" "$ROOT/tests/netns/sctp.py" serve "$1"
	wait_for 5 grep -q ready "$TOPOLOGY_DIR/$1/sctp"
}

# by PROTO VIP PORT: who serves the flows, one name a line
by() { ask "$1" "$2" "$3" $FIRST $COUNT | awk '{ print $2 }' | sort -u; }

found() { answer .vip lookup "$1" "$(endpoint $CLIENT4 4000)" "$(endpoint "$2" "$3")"; }
hashed() { answer "$1" lookup "$2" "$(endpoint $CLIENT4 4000)" "$(endpoint $DR4 "$3")"; }

prefixes() { topology_on_lb bpftool -j map dump pinned $PINS/vip_prefixes | jq length; }

# Add and remove VIPs beside and around those that the streams use.
churn() {
	local rounds=10
	while [ $((rounds--)) -gt 0 ]; do
		ringlb vip add 10.77.100.0/24:any/tcp --pool only &&
			ringlb vip add 10.77.100.96/27:80/tcp --pool only &&
			ringlb vip add $IN4:8000-9000/tcp --pool only &&
			ringlb vip add $IN4:443/tcp --pool only &&
			ringlb vip add "[fd77:100::/64]:any/tcp" --pool dr6 &&
			ringlb vip remove 10.77.100.96/27:80/tcp &&
			ringlb vip remove 10.77.100.0/24:any/tcp &&
			ringlb vip remove $IN4:443/tcp &&
			ringlb vip remove $IN4:8000-9000/tcp &&
			ringlb vip remove "[fd77:100::/64]:any/tcp" || return 1
	done
}

lists() { ringlb --json vip list | jq -S 'map(del(.packets, .bytes))'; }
packets() { answer ".[] | select(.vip == \"$1\") | .packets" vip list; }
at_least() { [ "$1" -ge "$2" ] && [ "$2" -gt 0 ]; }

start one 3
write_vips >"$CONFIG"
for backend in b1 b2 b3; do
	check "$backend takes the prefixes" hold_prefixes $backend
	check "$backend serves SCTP" sctp_start $backend
done
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 5 all_up
before=$(prefixes)

check 'a prefix, any port' agrees tcp $IN4 80
check 'the last address of it, another port' agrees tcp $EDGE4 8080
check 'a prefix, a range of ports' agrees udp $IN4 7001
check 'the address before it is none' refused ask tcp 10.77.100.63 80 $FIRST 1
check 'an IPv6 prefix, a range of ports' agrees tcp $IN6 80
check 'an IPv6 prefix, a port' agrees udp $IN6 7000
check 'a port behind the range is none' refused ask udp $IN6 7001 $FIRST 1
check 'nat with a range of ports' agrees tcp $NAT4 8080
check 'the first of a range' agrees udp $NAT4 7000
check 'the last of a range' agrees udp $NAT4 7001

check 'SCTP to a prefix and a range of ports' sctp_agrees $IN4 3869
check 'SCTP over IPv6 to any port' sctp_agrees $DR6 9
check 'SCTP to a port behind the range: none' refused sctp_agrees $IN4 3871
check 'nat with SCTP is refused' refuses "sctp does not go with nat pool 'nat'" \
	ringlb vip add 10.77.101.1:80/sctp --pool nat

# What a nat backend itself asks is no reply of the VIP.
topology_spawn client "$TOPOLOGY_DIR/client.udp" "$FLOWS" serve client 7000
check 'the client serves' wait_for 3 grep -q ready "$TOPOLOGY_DIR/client.udp"
check 'a nat backend keeps its own source' is \
	"$(topology_in b1 "$FLOWS" ask udp 10.77.2.11 $CLIENT4 7000 9000)" '9000 client'

check 'hash source: one backend has all flows of the client' is "$(by tcp $DR4 80 | wc -l)" 1
check 'and that is whom lookup names' agrees tcp $DR4 80
check 'source-port-less: one for each port of the VIP' is "$(by udp $DR4 7000 | wc -l)" 1
check 'also by lookup' agrees udp $DR4 7001
check 'lookup says what is hashed' is "$(hashed .hashed tcp 80)" source
check 'for each VIP' is "$(hashed .hashed udp 7001)" source-port-less
check 'and its hash does not depend on the rest' is "$(hashed .hash tcp 80)" \
	"$(answer .hash lookup tcp "$(endpoint $CLIENT4 1)" "$(endpoint $DR4 80)")"

check 'a longer prefix is added' ringlb vip add 10.77.100.64/28:80/tcp --pool only
check 'and wins' is "$(by tcp $IN4 80)" b2
check 'but not for other ports' is "$(found tcp $IN4 8080)" $PREFIX4:0/tcp
check 'an address is added' ringlb vip add $IN4:80/tcp --pool dr4 --hash source
check 'and wins again' is "$(found tcp $IN4 80)" $IN4:80/tcp
check 'they are removed' ringlb vip remove $IN4:80/tcp
check 'in any order' ringlb vip remove 10.77.100.64/28:80/tcp
check 'the prefix has its packets back' agrees tcp $IN4 80
check 'the maps are as before' is "$(prefixes)" "$before"

snap=$(snapshot)
check 'nat with a prefix is refused' refuses "is a prefix, which nat pool 'nat' cannot serve" \
	ringlb vip add 10.77.101.0/24:80/tcp --pool nat
check 'a range across another is refused' refuses '1-7000 overlaps VIP .*:7000-7001/udp in part' \
	ringlb vip add $PREFIX4:1-7000/udp --pool dr4
check 'bits behind the prefix are refused' refuses 'the prefix is 10.77.100.64/26' \
	ringlb vip add $IN4/26:80/tcp --pool dr4
check 'a range that descends is refused' refuses 'must be a range that ascends' \
	ringlb vip add $IN4:90-80/tcp --pool dr4
check 'what is there is refused' refuses "$PREFIX4:0/tcp exists already" \
	ringlb vip add $PREFIX4:any/tcp --pool dr4
check 'what is not there cannot be removed' refuses 'there is no VIP 10.77.100.64/27:0/tcp' \
	ringlb vip remove 10.77.100.64/27:any/tcp
check 'nothing changed' diff <(echo "$snap") <(snapshot)

stream_start exact tcp $DR6 80 30000-30399
stream_start inside tcp $IN4 80 30000-30399
stream_start range udp $EDGE4 7000 30000-30399
stream_start inside6 tcp $IN6 80 30000-30399
stream_start nat tcp $NAT4 8080 31000-31399
check 'VIPs come and go' churn
check 'an address and port: no error' stream_end exact
check 'inside a prefix: no error' stream_end inside
check 'a range: no error' stream_end range
check 'inside an IPv6 prefix: no error' stream_end inside6
check 'nat with a range: no error' stream_end nat
check 'the maps are as before' is "$(prefixes)" "$before"

check 'an entry is deleted behind the daemon' topology_on_lb bpftool map delete pinned \
	$PINS/vip_prefixes key 58 0 0 0 4 6 0 0 10 77 100 64 0 0 0 0 0 0 0 0 0 0 0 0
check 'the prefix is dead' refused ask tcp $IN4 80 $FIRST 1
check 'reload' ringlb reload
check 'puts it back' agrees tcp $IN4 80

live=$(lists) counted=$(packets $PREFIX4:0/tcp)
check 'a live change' ringlb vip add 10.77.100.64/30:1-1000/tcp --pool only --hash source
changed=$(lists)
check 'kill -9' daemon_end KILL
check 'traffic goes on' ask tcp $IN4 80 $FIRST 10
check 'the daemon starts again' daemon_start
check 'the live change is there' diff <(echo "$changed") <(lists)
check 'VIPs kept their ids and counters' at_least "$(packets $PREFIX4:0/tcp)" "$counted"
check 'save' ringlb save
check 'reload of what was saved changes nothing' is "$(answer '.changes | length' reload)" 0
check 'the lists are the same' diff <(echo "$changed") <(lists)
check 'as in the file' agrees tcp $IN4 80

check 'kill -9 again' daemon_end KILL
write_vips >"$CONFIG"
check 'the daemon starts with another file' daemon_start
check 'what the file has' diff <(echo "$live") <(lists)
check 'what nobody wants any more is gone' is "$(prefixes)" "$before"
sed -i 's/hash: source$/hash: 5-tuple/' "$CONFIG"
check 'another hash is told' is "$(answer '.changes[]' reload)" \
	"changed hash of vip $DR4:80/tcp: source to 5-tuple"
check 'and counts' is "$(by tcp $DR4 80 | wc -l)" 3
check 'as lookup says' agrees tcp $DR4 80
finish
