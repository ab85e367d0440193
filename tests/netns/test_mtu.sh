#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# All links have an MTU of 1500, so a client's full segments do not fit into ipip and gue: it
# is told by ICMP, in the name of the VIP, and its upload goes on. No MSS is lowered, until the
# last part. The MTU of the way follows links, routes and the configuration.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/netns/backend.sh
. "$(dirname "$0")/backend.sh"

# mtu_config FORWARD FAMILY [POOL-FIELD...]: both VIPs with one pool, beside those of nat and dr
mtu_config() {
	local prefix=10.77.2. field vip
	[ "$2" = 4 ] || prefix=fd77:2::
	write_config 1 | sed '/^vips:/,$d'
	config_pool far "$1" $prefix 0 1
	for field in "${@:3}"; do echo "    $field"; done
	write_config 1 | sed -n '/^vips:/,$p'
	for vip in $VIP4 $VIP6; do
		config_vip "$vip" tcp 80 far
		config_vip "$vip" udp 7000 far
	done
}

reload() {
	mtu_config "$@" >"$CONFIG"
	ringlb reload
}

verdict() { answer ".verdicts[] | select(.name == \"$1\") | .packets" stats; }

# rises VERDICT BY COMMAND...: in which it was counted from 1 to BY times
rises() {
	local name=$1 most=$2 before after
	shift 2
	before=$(verdict "$name")
	"$@" || return 1
	after=$(verdict "$name")
	echo "$name: $before, then $after"
	[ "$after" -gt "$before" ] && [ $((after - before)) -le "$most" ]
}

forget_mtus() {
	topology_in client ip route flush cache && topology_in client ip -6 route flush cache
}

uploads() {
	is "$(topology_in client curl -sm 10 -H Expect: --data-binary "@$TOPOLOGY_DIR/5M" "http://$(endpoint "$1" 80)/upload")" b1
}

gets() { is "$(topology_in client curl -sm 10 "http://$(endpoint "$1" 80)/")" b1; }

# What the client's kernel knows of the way.
client_knows() {
	local route
	route=$(topology_in client ip route get "$1")
	echo "$route"
	[[ $route == *" mtu $2"[!0-9]* || $route == *" mtu $2" ]]
}

mtu_is() { is "$(answer '.[] | select(.pool == "far") | .mtu' backend list)" "$1"; }
warns() { ringlb status 2>&1 >/dev/null | grep -qF -- "$1"; }
datagram() { is "$(topology_in client "$ROOT/tests/netns/too_long.py" "$1" 7000 "$2")" b1; }

start two 1
head -c 5242880 /dev/urandom >"$TOPOLOGY_DIR/5M"
check 'a plain backend' backend_make_plain b1
for vip in $DR4 $DR6; do ip -n "$TOPOLOGY_ID-b1" addr add "$vip" dev lo; done
mtu_config ipip 4 >"$CONFIG"
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 5 all_up
check 'the MTU of the link' mtu_is 1500
check 'no warning' is "$(answer '.warnings | length' status)" 0

while read -r forward family fits; do
	what="$forward over IPv$family"
	check "$what: reload" reload "$forward" "$family"
	check "$what: attach" backend b1 attach eth0 --vip $VIP4 $VIP6 --mode "$forward"
	for vip in $VIP4 $VIP6; do
		check "$what, VIP $vip: forget" forget_mtus
		# One flight of segments, and what is sent again before the answer has its effect.
		check "$what, VIP $vip: 5 MB from the client, who was told" \
			rises TX_TOO_BIG 60 uploads "$vip"
		check "case 1: $what, VIP $vip: $fits bytes fit" client_knows "$vip" "$fits"
		check "$what, VIP $vip: and again, as it is known" uploads "$vip"
		check "$what, VIP $vip: forget" forget_mtus
	done
	check "$what: a datagram without DF comes in fragments, once the client was told" \
		rises TX_TOO_BIG_NO_DF 5 datagram $VIP4 1472
	check "$what: and so does one of IPv6" rises TX_TOO_BIG 5 datagram $VIP6 1452
	check "$what: detach" backend b1 detach eth0
done <<-END
	ipip 4 1480
	ipip 6 1460
	gue 4 1472
	gue 6 1452
END
check 'the limit was not reached' is "$(verdict DROP_TOO_BIG_RATE)" 0

# ---- where the MTU comes from ----

check 'reload' reload ipip 4
check 'attach' backend b1 attach eth0 --vip $VIP4 $VIP6
topology_in lb ip link set eth1 mtu 1400
check 'a link that changes is seen' wait_for 3 mtu_is 1400
for vip in $VIP4 $VIP6; do
	forget_mtus
	check "the upload, VIP $vip" uploads "$vip"
	check 'the client was told' client_knows "$vip" 1380
done
for vip in $NAT4 $NAT6 $DR4 $DR6; do
	forget_mtus
	check "without encapsulation, VIP $vip" rises TX_TOO_BIG 60 uploads "$vip"
	check 'the client was told' client_knows "$vip" 1400
done
topology_in lb ip link set eth1 mtu 1500
check 'back again' wait_for 3 mtu_is 1500
topology_in lb ip route add 10.77.2.11/32 dev eth1 mtu 1450
check 'a route that says so' wait_for 3 mtu_is 1450
check 'reload, the pool says less' reload ipip 4 'mtu: 1290'
check 'is known' mtu_is 1290
check 'as a change' logged "changed mtu of pool 'far': none to 1290"
warning="pool 'far': the way to backend 'b1' has an MTU of 1290, and its IPv6 VIPs need 1300"
check 'too little for IPv6: logged' logged "warning: $warning"
check 'and in status' warns "$warning"
check 'reload, the pool says enough' reload ipip 4 'mtu: 1300'
check 'no warning' is "$(answer '.warnings | length' status)" 0
check 'reload, the pool says more' reload ipip 4 'mtu: 9000'
check 'the route counts' mtu_is 1450
topology_in lb ip route del 10.77.2.11/32 dev eth1
check 'the link counts' wait_for 3 mtu_is 1500

# ---- generic mode ----

mtu_config ipip 4 | sed -E 's/^(  - name: eth.)$/\1\n    mode: generic/' >"$CONFIG"
check 'reload to generic mode' ringlb reload
for vip in $VIP4 $VIP6; do
	forget_mtus
	check "generic, VIP $vip: 5 MB from the client, who was told" \
		rises TX_TOO_BIG 60 uploads "$vip"
	check 'the client was told' client_knows "$vip" 1480
done

# ---- the MSS ----

mss_seen() { grep -qx "$2 $3 $4" "$TOPOLOGY_DIR/mss-$1.out"; }
watch_mss() {
	topology_spawn "$1" "$TOPOLOGY_DIR/mss-$1.out" "$ROOT/tests/netns/mss.py" eth0
	wait_for 10 grep -q ready "$TOPOLOGY_DIR/mss-$1.out"
}

mtu_config ipip 4 'mss_clamp: 1100' | sed '/name: nat[46]/a\    mss_clamp: 1234' >"$CONFIG"
check 'reload, with mss_clamp' ringlb reload
check 'watch at the backend' watch_mss b1
check 'watch at the client' watch_mss client
# Few packets, so that the watchers, which are slow, miss none.
for vip in $VIP4 $VIP6 $NAT4 $NAT6 $DR4; do check "a request to $vip" gets "$vip"; done
check 'ipip, IPv4: lowered' wait_for 3 mss_seen b1 $CLIENT4 $VIP4 1100
check 'ipip, IPv6: lowered' wait_for 3 mss_seen b1 $CLIENT6 $VIP6 1100
check 'nat, IPv4: lowered' wait_for 3 mss_seen b1 $CLIENT4 10.77.2.11 1234
check 'nat, IPv6: lowered' wait_for 3 mss_seen b1 $CLIENT6 fd77:2::11 1234
check 'nat, IPv4: so is the SYN-ACK' wait_for 3 mss_seen client $NAT4 $CLIENT4 1234
check 'nat, IPv6: so is the SYN-ACK' wait_for 3 mss_seen client $NAT6 $CLIENT6 1234
check 'dr, which has none: left alone' wait_for 3 mss_seen b1 $CLIENT4 $DR4 1460
check 'detach' backend b1 detach eth0
finish
