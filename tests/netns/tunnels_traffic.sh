# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# {ipip, gue} x {IPv4, IPv6} in {IPv4, IPv6} in one shape of the network, from ringlb to what
# ringlb-backend has set up: TCP, UDP, SCTP, fragments, a lot of bytes both ways; and the outer
# headers on the way are those that ringlb lookup shows.

# shellcheck source=tests/netns/tunnels.sh
. "$(dirname "$0")/tunnels.sh"

COUNT=60
SAMPLE=10
MEGABYTES=3

url() { echo "http://$(endpoint "$1" "$2")/"; }

downloads() {
	is "$(topology_in client curl -sm 20 "$(url "$1" "$2")file" | wc -c)" $((MEGABYTES << 20))
}

uploads() {
	topology_in client curl -sm 20 -H Expect: --data-binary "@$TOPOLOGY_DIR/b1/file" \
		"$(url "$1" "$2")upload" | grep -x 'b[123]'
}

# Everybody is answered, by whom ringlb lookup names: served PROTO VIP PORT
served() {
	local out
	out=$(ask "$1" "$2" "$3" $FIRST $COUNT)
	is "$(grep -c ' b[123]$' <<<"$out")" $COUNT &&
		diff <(predict "$1" "$2" "$3" $FIRST $SAMPLE) <(head -n $SAMPLE <<<"$out") &&
		diff <(predict "$1" "$2" "$3" $FIRST $SAMPLE --config "$CONFIG") <(head -n $SAMPLE <<<"$out")
}

serve_sctp() {
	topology_spawn "$1" "$TOPOLOGY_DIR/$1/sctp" "$ROOT/tests/netns/sctp.py" serve "$1"
	wait_for 5 grep -q ready "$TOPOLOGY_DIR/$1/sctp"
}

sctp_served() {
	local source=$CLIENT4
	[[ $1 != *:* ]] || source=$CLIENT6
	diff <(predict sctp "$1" 3868 $FIRST $SAMPLE) <(topology_in client \
		"$ROOT/tests/netns/sctp.py" ask $source "$1" 3868 $FIRST-$((FIRST + SAMPLE - 1)))
}

# What lookup says of the outer headers of those flows: predict_outers VIP PORT [--config FILE]
predict_outers() {
	local source=$CLIENT4 p
	[[ $1 != *:* ]] || source=$CLIENT6
	for ((p = FIRST; p < FIRST + SAMPLE; p++)); do
		ringlb lookup udp "$(endpoint $source $p)" "$(endpoint "$1" "$2")" "${@:3}" |
			sed -n "s/^outer  */$p /p"
	done
}

# outers_are VIP PORT: as they come out of lb
outers_are() {
	local out=$TOPOLOGY_DIR/outers
	topology_spawn switch "$out" /usr/bin/python3 "$ROOT/tests/netns/outers.py" "$WIRE" $SAMPLE
	wait_for 5 grep -q ready "$out" || return 1
	ask udp "$1" "$2" $FIRST $SAMPLE >/dev/null
	wait_for 10 refused kill -0 "$TOPOLOGY_PID"
	sed -i 1d "$out"
	diff "$out" <(predict_outers "$1" "$2") && diff "$out" <(predict_outers "$1" "$2" --config "$CONFIG")
}

# pieces_answered ORDER VIP PORT
pieces_answered() { PORT=$3 answered_as_predicted "$1" "$2" 3000 $SAMPLE; }

# one_way MODE FAMILY VIP HTTP-PORT UDP-PORT FRAGMENTS-PORT: to backends of one family
one_way() {
	local what="$1 over IPv$2, VIP $3"
	check "$what: tcp" served tcp "$3" "$4"
	check "$what: udp" served udp "$3" "$5"
	check "$what: $MEGABYTES MB to the client" downloads "$3" "$4"
	check "$what: $MEGABYTES MB from the client" uploads "$3" "$4"
	check "$what: lookup shows the outer headers" outers_are "$3" "$5"
	check "$what: 3,000 bytes in fragments" pieces_answered kernel "$3" "$6"
	check "$what: the last fragment first" pieces_answered reverse "$3" "$6"
}

both_families() {
	one_way "$1" 4 "$2" 80 7000 $PORT
	one_way "$1" 6 "$2" 8080 7001 $((PORT + 1))
}

tunnels_traffic() {
	local role vip
	start "$1" 3
	WIRE=lb1
	[ "$1" = two ] || WIRE=lb0
	for role in b1 b2 b3; do
		truncate -s ${MEGABYTES}M "$TOPOLOGY_DIR/$role/file"
		check "$role: ringlb-backend attach" tunnels_attach $role
		check "$role: serves datagrams" serve_datagrams $role
		check "$role: serves SCTP" serve_sctp $role
	done
	tunnels_config ipip gue 1 2 3 >"$CONFIG"
	check 'the daemon starts' daemon_start
	check 'all backends are up' wait_for 5 all_up
	for vip in $TUNNEL_VIPS; do
		check "full segments to $vip: the client is told what fits" uploads "$vip" 8080
	done
	check 'the client knows that outer headers need room' client_mtu
	for vip in $IPIP_VIPS; do both_families ipip "$vip"; done
	for vip in $GUE_VIPS; do both_families gue "$vip"; done
	for vip in $TUNNEL_VIPS; do check "sctp to $vip" sctp_served "$vip"; done
	check 'the balancer dropped nothing' nothing_dropped
	check 'backends took ipip packets out' received PASS_IPIP 300
	check 'backends took gue packets out' received PASS_GUE 300
	for role in b1 b2 b3; do
		check "$role: no datagram was split over two" is "$(reassembly $role ReasmFails)" 0
		check "$role: check finds nothing wrong" backend_fine $role
	done
	finish
}
