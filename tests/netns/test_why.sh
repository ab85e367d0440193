#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What `ringlb why` says of a packet is what the program does with it: backend, counters,
# verdict; in settled and in moving arcs, dropped, passed and replied to.
#
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"

VIPS="tcp/$NAT4/80 udp/$NAT4/7000 tcp/$NAT6/80 tcp/$DR4/80 udp/$DR4/7000 tcp/$DR6/80 udp/$DR6/7001"

# Nothing that is learned or remembered ends while this test runs.
config_soon() {
	printf 'flows:\n'
	printf '  %s: 1h\n' learn_tcp learn_other opening closing idle_other
}

PREFIX=10.77.100.64/26 IN=10.77.100.70
IPIP=10.77.100.3 GUE=10.77.100.4 GUE6=fd77:100::4 QUIC=10.77.100.5

# Beside the usual pools: tunnels, a prefix, and backends that QUIC connection ids name.
write_more() {
	write_config 2 | sed '/^vips:/,$d'
	config_pool ipip ipip 10.77.2. 0 1 2
	config_pool gue gue fd77:2:: 0 1 2
	config_pool quic dr 10.77.2. 0 1 2 |
		sed -E 's/^( *)address: "10.77.2.1([12])"$/&\n\1quic_id: "0:12a\2"/'
	write_config 2 | sed -n '/^vips:/,$p'
	config_vip $IPIP tcp 80 ipip
	config_vip $GUE udp 7000-7010 gue
	config_vip $GUE6 tcp any gue
	config_vip $PREFIX tcp any dr4
	config_vip $QUIC udp 443 quic
}

# agrees FLOWS 'VIP...' [NAME...]: the counters NAME were raised, too
agrees() {
	local flows=$1 vips=$2
	shift 2
	# shellcheck disable=SC2086 # words
	topology_on_lb "$ROOT/tests/netns/why.py" "$SOCKET" "${INGRESS:-eth0}" "$flows" $CLIENT4 $CLIENT6 $vips \
		--see "$@"
}

# A nat backend's packets to a client.
replies_agree() {
	topology_on_lb "$ROOT/tests/netns/why.py" "$SOCKET" eth0 6 10.77.2.11@8080 fd77:2::11@8080 \
		"tcp/$CLIENT4/9000" "tcp/$CLIENT6/9000" --see "$@"
}

says() {
	local pattern=$1
	shift
	ringlb why "$@" | tee "$TOPOLOGY_DIR/why" && grep -qE -- "$pattern" "$TOPOLOGY_DIR/why"
}

start two 3
write_more >"$CONFIG"
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 15 all_up

check 'settled arcs: as the packets go' agrees 42 "$VIPS" REDIRECT_BACKEND b1 b2 sent by-owner
INGRESS=eth1
check 'from the side of the backends' agrees 14 "$VIPS" TX_BACKEND b1 b2 sent by-owner
INGRESS=eth0
check 'tunnels, with the outer header' agrees 24 "tcp/$IPIP/80 udp/$GUE/7003 tcp/$GUE6/9" b1 b2 sent
check 'a prefix' agrees 8 "tcp/$IN/80 tcp/$IN/9" b1 b2
check 'is named' says "^vip +$PREFIX:0/tcp: by address $PREFIX, ports any" $CLIENT4:4000 $IN:80
check 'by connection ids' agrees 8 "udp/$QUIC/443/0012a1ee udp/$QUIC/443/0012a2ee" ID by-connection-id b1 b2
check 'that name nobody' agrees 8 "udp/$QUIC/443/0012adee udp/$QUIC/443/2012" UNKNOWN UNROUTABLE by-owner
check 'no VIP: left to the kernel' agrees 4 "tcp/$NAT4/81 udp/10.77.100.99/53" PASS_NOT_VIP passed
check 'it says so' says '^because +no VIP has this address' $CLIENT4:4000 $NAT4:81
check 'and which VIPs are near' says "^there is +$NAT4:80/tcp" $CLIENT4:4000 $NAT4:81
check 'and what to do' says "^remedy +ringlb vip add $NAT4:81/tcp" $CLIENT4:4000 $NAT4:81
check 'lookup and why name one backend' is "$(answer '.cases[0].backend' why $CLIENT4:4000 $DR4:80)" \
	"$(answer .backend lookup tcp $CLIENT4:4000 $DR4:80)"
check 'settled: no flow table is asked' says '^moving +no:' $CLIENT4:4000 $DR4:80
check 'the counters are told with their values' says '^counters +vip .*, now [0-9]+$' \
	$CLIENT4:4000 $DR4:80
check 'udp, too' says "^vip +$DR4:7000/udp: by address $DR4, ports 7000" udp $CLIENT4:4000 $DR4:7000

for pool in nat4 nat6 dr4 dr6; do
	case $pool in
	*4) address=10.77.2.13 ;;
	*6) address=fd77:2::13 ;;
	esac
	case $pool in
	nat4) address=$address:8080 ;;
	nat6) address="[$address]:8080" ;;
	esac
	check "b3 joins $pool" ringlb backend add b3 "$address" --pool $pool
done
check 'b3 is up' wait_for 15 all_up
check 'moving arcs: remembered, new, old, promoted' agrees 84 "$VIPS" HIT NEW OLD PROMOTED ASKED \
	by-remembered by-previous by-owner b3

check 'a backend drains' ringlb backend drain b3 --pool dr6
check 'old flows stay, new ones go elsewhere' agrees 20 "tcp/$DR6/80" ASKED UNKNOWN b1 b2
check 'one leaves at once' ringlb backend remove b2 --pool nat6 --now
check 'its flows go to others' agrees 20 "tcp/$NAT6/80" b1 b3

for pool in dr4 nat4; do
	check "$pool: nobody has a weight" ringlb backend weight b1 0 --pool $pool
	check "$pool: nobody has a weight" ringlb backend weight b2 0 --pool $pool
	check "$pool: nobody has a weight" ringlb backend weight b3 0 --pool $pool
done
check 'old flows go on, new ones are dropped' agrees 20 "tcp/$DR4/80 tcp/$NAT4/80" \
	DROP_NO_BACKEND dropped by-previous
check 'why says who takes none' says "^remedy +of 3 backends of pool 'dr4' 0 are down" \
	$CLIENT4:4000 $DR4:80

check 'a pool without a way' ringlb backend add lost 192.0.2.77 --pool dr4
check 'is that' wait_for 5 is "$(answer '.[] | select(.name == "lost") | .state' backend list)" no-route
check 'packets to it are dropped' agrees 20 "tcp/$DR4/80" DROP_NO_NEXTHOP dropped
check 'why says what is missing' says '^remedy +give it a route .ip route get 192.0.2.77.' \
	$CLIENT4:4000 $DR4:80

check 'replies of nat backends' replies_agree reply
check 'why says that it is one' says "^vip +none, but the source is a nat backend: it becomes" \
	10.77.2.11:8080 $CLIENT4:4000

check 'an interface goes without the program' topology_on_lb ip link set eth0 xdp off
check 'why says that' says '^but +no program is on eth0:' $CLIENT4:4000 $DR4:80
check 'bad addresses are refused' refused ringlb why $CLIENT4 $DR4:80
finish
