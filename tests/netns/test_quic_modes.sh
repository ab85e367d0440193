#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Clients of QUIC whose port changes stay with their backend in every way to forward, over IPv4
# and IPv6; the tunnels lead to what ringlb-backend has set up.
#
# shellcheck source=tests/netns/tunnels.sh
. "$(dirname "$0")/tunnels.sh"
# shellcheck source=tests/netns/quic.sh
. "$(dirname "$0")/quic.sh"

# These are on lo as well, for dr.
TUNNEL_VIPS="$TUNNEL_VIPS $DR4 $DR6"
TOPOLOGY_DR_VIPS=$TUNNEL_VIPS
IDS=yes BOTH=

# quic_pool NAME FORWARD PREFIX
quic_pool() {
	printf '  - name: %s\n    forward: %s\n    backends:\n' "$1" "$2"
	backend_lines "$3" 1 2 3
}

# modes_config IPIP-POOL GUE-POOL: where the tunnels' VIPs lead
modes_config() {
	local vip
	config_interfaces
	config_soon
	echo 'pools:'
	quic_pool nat4 nat 10.77.2.
	quic_pool nat6 nat fd77:2::
	quic_pool dr4 dr 10.77.2.
	quic_pool dr6 dr fd77:2::
	quic_pool ipip4 ipip 10.77.2.
	quic_pool ipip6 ipip fd77:2::
	quic_pool gue4 gue 10.77.2.
	quic_pool gue6 gue fd77:2::
	echo 'vips:'
	config_vip $NAT4 udp 443 nat4
	config_vip $NAT6 udp 443 nat6
	config_vip $DR4 udp 443 dr4
	config_vip $DR6 udp 443 dr6
	for vip in $IPIP_VIPS; do config_vip "$vip" udp 443 "$1"; done
	for vip in $GUE_VIPS; do config_vip "$vip" udp 443 "$2"; done
}

# stay_at WHAT VIP...
stay_at() {
	local what=$1 vip source
	for vip in "${@:2}"; do
		source=$CLIENT4
		[[ $vip != *:* ]] || source=$CLIENT6
		check "case 41: $what, $vip: every connection stays with its backend" all_stay $source "$vip"
	done
}

start two 3
for role in b1 b2 b3; do check "$role: ringlb-backend attach" tunnels_attach $role; done
start_servers || bail_out 'no QUIC servers'
modes_config ipip4 gue6 >"$CONFIG"
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 5 all_up
stay_at nat $NAT4 $NAT6
stay_at dr $DR4 $DR6
# shellcheck disable=SC2086 # words
{
	stay_at 'ipip to IPv4' $IPIP_VIPS
	stay_at 'gue to IPv6' $GUE_VIPS
	modes_config ipip6 gue4 >"$CONFIG"
	check 'tunnels by the other family' ringlb reload
	stay_at 'ipip to IPv6' $IPIP_VIPS
	stay_at 'gue to IPv4' $GUE_VIPS
}
check 'backends took ipip packets out' received PASS_IPIP 20
check 'backends took gue packets out' received PASS_GUE 20
finish
