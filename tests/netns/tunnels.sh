# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# For tests of ipip and gue between ringlb and backends that ringlb-backend has set up: four
# pools, each of which has VIPs of both families. To be sourced before start.
#
# shellcheck disable=SC2034 # variables are for the tests

IPIP_VIPS='10.77.100.9 fd77:100::9' GUE_VIPS='10.77.100.8 fd77:100::8'
TUNNEL_VIPS="$IPIP_VIPS $GUE_VIPS"
# Replies from these go straight to the client. That they are on lo, tunnels_attach takes back:
# it is for ringlb-backend to do.
export TOPOLOGY_DR_VIPS=$TUNNEL_VIPS
# shellcheck source=tests/netns/fragments.sh
. "$(dirname "${BASH_SOURCE[0]}")/fragments.sh"
# shellcheck source=tests/netns/backend.sh
. "$(dirname "${BASH_SOURCE[0]}")/backend.sh"

# The outer header needs room: up to 48 bytes.
export MTU=1400
SOURCES='198.18.0.0/16 100::/64'

# Of the way to the VIPs only: replies are whole.
client_mtu() {
	local ns=$TOPOLOGY_ID-client
	ip -n "$ns" route change default via 10.77.1.1 src $CLIENT4 mtu $MTU &&
		ip -n "$ns" -6 route change default via fd77:1::1 src $CLIENT6 mtu $MTU
}

# tunnels_attach ROLE: as docs/backends.md says it
tunnels_attach() {
	# shellcheck disable=SC2086 # words
	backend_forget_vips "$1" &&
		backend "$1" attach eth0 --vip $TUNNEL_VIPS --from $SOURCES
}

# VIPs of a mode: ports 80 and 7000 lead to backends by IPv4, 8080 and 7001 by IPv6.
tunnels_vips() {
	local vip
	for vip in "${@:2}"; do
		config_vip "$vip" tcp 80 "${1}4"
		config_vip "$vip" tcp 8080 "${1}6"
		config_vip "$vip" udp 7000 "${1}4"
		config_vip "$vip" udp 7001 "${1}6"
		config_vip "$vip" udp $PORT "${1}4"
		config_vip "$vip" udp $((PORT + 1)) "${1}6"
		config_vip "$vip" sctp any "${1}4"
	done
}

# tunnels_config IPIP-FORWARD GUE-FORWARD N...: pools of these backends
tunnels_config() {
	local ipip=$1 gue=$2
	shift 2
	config_interfaces
	config_soon
	echo 'pools:'
	config_pool ipip4 "$ipip" 10.77.2. 0 "$@"
	config_pool ipip6 "$ipip" fd77:2:: 0 "$@"
	config_pool gue4 "$gue" 10.77.2. 0 "$@"
	config_pool gue6 "$gue" fd77:2:: 0 "$@"
	echo 'vips:'
	# shellcheck disable=SC2086 # words
	{
		tunnels_vips ipip $IPIP_VIPS
		tunnels_vips gue $GUE_VIPS
	}
}

# received VERDICT N: every backend took out more than N packets of this kind
received() {
	local role
	for role in b1 b2 b3; do
		echo "$role: $(backend_count $role "$1") of $1"
		[ "$(backend_count $role "$1")" -gt "$2" ] || return 1
	done
}
