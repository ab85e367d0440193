#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# QUIC connections whose client sends every packet from another port: with ids they stay
# with their backend, through drains, removals, a daemon that is killed and a reload.

# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"

# shellcheck source=tests/netns/quic.sh
. "$(dirname "$0")/quic.sh"

# The configuration with backends N...
quic_config() {
	config_interfaces
	config_soon
	printf 'pools:\n  - name: h3nat\n    forward: nat\n    backends:\n'
	backend_lines 10.77.2. "$@"
	printf '  - name: h3dr\n    forward: dr\n    backends:\n'
	backend_lines fd77:2:: "$@"
	echo 'vips:'
	config_vip $NAT4 udp 443 h3nat
	config_vip $DR6 udp 443 h3dr
	# The same backends for HTTP: no connection ids there.
	config_vip $NAT4 tcp 80 h3nat
}

# Without ids they do not: the hash of every packet is another. This sees the rest fail.
most_are_lost() {
	talk "$@" >"$TOPOLOGY_DIR/talked"
	cat "$TOPOLOGY_DIR/talked"
	refused grep -v 'reset [1-9]' "$TOPOLOGY_DIR/talked"
}

count() { answer ".quic[] | select(.name == \"$1\") | .packets" stats; }
counts() { answer '[.quic[] | "\(.name) \(.packets)"] | join(", ")' stats; }

# One Initial, one Handshake and the moves of each connection, and nothing else.
counts_rise() {
	local id opening before=0
	id=$(count ID) opening=$(count OPENING)
	before=$(($(count GONE) + $(count UNKNOWN) + $(count UNROUTABLE) + $(count OTHER)))
	talk "$@" >/dev/null
	counts
	is $(($(count ID) - id)) $((CONNECTIONS * (MOVES + 1))) &&
		is $(($(count OPENING) - opening)) "$CONNECTIONS" &&
		is $(($(count GONE) + $(count UNKNOWN) + $(count UNROUTABLE) + $(count OTHER))) "$before"
}

# GET / looks like a short header, and E is the first octet of an id of configuration 2.
no_quic() {
	local before
	before=$(count UNROUTABLE)
	ask udp "$NAT4" 443 21000 1
	is $(($(count UNROUTABLE) - before)) 1
}

# What ringlb lookup says of a connection's id is who has it.
lookup_agrees() {
	local backend cid rest
	while read -r backend cid rest; do
		is "$(answer '"\(.quic) \(.backend)"' lookup udp "$CLIENT4:$RANDOM" "$NAT4":443 \
			--quic-cid "$cid")" "ID $backend" || return 1
		is "$(answer '"\(.quic) \(.backend)"' lookup udp "$CLIENT4:1" "$NAT4":443 \
			--quic-cid "$cid" --config "$CONFIG")" "ID $backend" || return 1
	done < <(talk "$CLIENT4" "$NAT4")
	is "$(answer .quic lookup udp "$CLIENT4":1 "$NAT4":443 --quic-cid 00ffff1234)" UNKNOWN
}

# quic_stream NAME SOURCE VIP
quic_stream() {
	wait_for 10 settled || return 1
	topology_spawn client "$TOPOLOGY_DIR/$1.out" python3 "$QUIC" \
		stream "$2" "$3" 443 20000 "$CONNECTIONS"
	echo "$TOPOLOGY_PID" >"$TOPOLOGY_DIR/$1.pid"
	wait_for 10 grep -q open "$TOPOLOGY_DIR/$1.out"
}

quic_stream_end() {
	kill -TERM "$(<"$TOPOLOGY_DIR/$1.pid")"
	wait_for 10 refused kill -0 "$(<"$TOPOLOGY_DIR/$1.pid")"
	cat "$TOPOLOGY_DIR/$1.out"
}

# The stream saw nothing of what happened, and some of it was with the backend.
stream_stays() {
	quic_stream_end "$1"
	is "$(grep -c ' same [1-9][0-9]* reset 0 lost 0$' "$TOPOLOGY_DIR/$1.out")" "$CONNECTIONS" &&
		grep -q "^$2 " "$TOPOLOGY_DIR/$1.out"
}

state_of() { answer ".[] | select(.pool == \"$1\" and .name == \"$2\") | .state" backend list; }
backend_is() { is "$(state_of "$1" "$2")" "$3"; }
nothing_moves() { is "$(answer '[.pools[] | select(.moving)] | length' status)" 0; }

# While packets come by id, the backend drains on, though no arc moves any more.
drains_on() {
	local end
	wait_for 10 nothing_moves || return 1
	# Longer than idle_other, which is a second.
	end=$(($(answer .uptime_s status) + 3))
	while [ "$(answer .uptime_s status)" -lt "$end" ]; do
		backend_is "$1" "$2" draining || return 1
	done
}

is_gone() { is "$(state_of "$1" "$2")" ''; }
rises() { [ "$(count "$1")" -gt $(($2 + 20)) ]; }
nobody_new_on() { ! talk "$2" "$3" | grep "^$1 "; }

# Its connections end; whoever gets their packets says so.
cut_off() {
	quic_stream_end "$1"
	grep "^$2 " "$TOPOLOGY_DIR/$1.out" >"$TOPOLOGY_DIR/cut" &&
		refused grep -v 'reset [1-9]' "$TOPOLOGY_DIR/cut" &&
		is "$(grep -v "^$2 \|^open" "$TOPOLOGY_DIR/$1.out" | grep -vc 'reset 0 lost 0')" 0
}

snapshot_ids() { topology_on_lb bpftool -j map dump pinned "$PINS/quic_ids" | jq -c 'sort'; }
ids_are() { is "$(snapshot_ids | jq length)" "$1"; }

IDS='' BOTH=''
start two 3
start_servers || bail_out 'no QUIC servers'
quic_config 1 2 3 >"$CONFIG"
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 5 all_up
check 'without ids, clients whose port changes lose their backend' most_are_lost $CLIENT4 $NAT4
check 'and nothing is counted' is "$(counts)" \
	'ID 0, GONE 0, UNKNOWN 0, UNROUTABLE 0, OPENING 0, OTHER 0'

IDS=yes
quic_config 1 2 3 >"$CONFIG"
check 'ids come with a reload' ringlb reload
check 'six of them' ids_are 6
check 'case 41: nat: every connection stays with its backend' all_stay $CLIENT4 $NAT4
check 'case 41: dr over IPv6: every connection stays with its backend' all_stay $CLIENT6 $DR6
check 'each packet is counted once' counts_rise $CLIENT4 $NAT4
check 'ringlb lookup says who has a connection' lookup_agrees
check 'TCP of the same pool is served' is "$(ask tcp $NAT4 80 20000 9 | grep -c ' b')" 9
check 'and UDP packets that are no QUIC' no_quic

check 'connections are opened' quic_stream drain $CLIENT4 $NAT4
check 'b1 drains' ringlb backend drain b1 --pool h3nat
check 'it is drained only when its connections are gone' drains_on h3nat b1
check 'new ones go elsewhere' nobody_new_on b1 $CLIENT4 $NAT4
check 'its old ones have stayed' stream_stays drain b1
check 'then it is drained' wait_for 10 backend_is h3nat b1 drained
check 'b1 is back' ringlb backend undrain b1 --pool h3nat

check 'connections are opened over IPv6' quic_stream leave $CLIENT6 $DR6
check 'b2 is to leave' ringlb backend remove b2 --pool h3dr
check 'it stays while it has connections' drains_on h3dr b2
check 'which have stayed' stream_stays leave b2
check 'then it leaves' wait_for 10 is_gone h3dr b2
check 'and its id with it' ids_are 5
check 'a backend needs its id' refuses 'quic_id must have an id for configuration 0' \
	ringlb backend add b2 fd77:2::12 --pool h3dr
check 'with it, b2 comes back' ringlb backend add b2 fd77:2::12 --pool h3dr --quic-id 0:0201
check 'and it is in use' all_stay $CLIENT6 $DR6

check 'connections are opened for a restart' quic_stream restart $CLIENT4 $NAT4
check 'the daemon is killed' daemon_end KILL
check 'and starts again' daemon_start
check 'connections have stayed' stream_stays restart b1

BOTH=yes
check 'connections are opened for a second configuration' quic_stream both $CLIENT4 $NAT4
quic_config 1 2 3 >"$CONFIG"
check 'ids of two configurations' ringlb reload
check 'twelve of them' ids_are 12
check 'those of the first still count' stream_stays both b1
BOTH=''

check 'connections are opened for a cut' quic_stream cut $CLIENT4 $NAT4
check 'b3 is removed at once' ringlb backend remove b3 --pool h3nat --now
check 'packets for it go by hash' wait_for 5 rises UNKNOWN "$(count UNKNOWN)"
check 'its connections are cut off, others stay' cut_off cut b3
finish
