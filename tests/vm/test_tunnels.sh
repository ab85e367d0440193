#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# ipip and gue pools whose backends take packets out of the tunnel with the kernel's own
# devices: ipip, sit, ip6tnl, and fou for gue. {IPv4, IPv6} in {IPv4, IPv6}. Only for kernels
# that have them, so tests/vm/run runs it.

VIPS='10.77.100.2 fd77:100::2 10.77.100.3 fd77:100::3'
export TOPOLOGY_DR_VIPS=$VIPS
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/../netns/lib.sh"
# shellcheck source=tests/vm/cases.sh
. "$(dirname "$0")/cases.sh"

GUE4=10.77.100.3 GUE6=fd77:100::3
COUNT=40

# kernel_tunnels N: as docs/backends.md says it
kernel_tunnels() {
	local ns=$TOPOLOGY_ID-b$1
	ip -n "$ns" link set tunl0 up && ip -n "$ns" link set sit0 up &&
		ip -n "$ns" link add tun6 type ip6tnl local "fd77:2::$((10 + $1))" remote :: mode any &&
		ip -n "$ns" link set tun6 up &&
		ip -n "$ns" fou add port 6080 gue && ip -n "$ns" fou add port 6080 gue -6
}

tunnel_config() {
	local all='1 2 3' forward
	config_interfaces
	config_soon
	echo 'pools:'
	for forward in ipip gue; do
		# shellcheck disable=SC2086 # numbers
		{
			config_pool "${forward}4" "$forward" 10.77.2. 0 $all
			config_pool "${forward}6" "$forward" fd77:2:: 0 $all
		}
	done
	echo 'vips:'
	config_vip "$DR4" tcp 80 ipip4
	config_vip "$DR6" tcp 80 ipip6
	config_vip "$DR6" tcp 8080 ipip4
	config_vip "$DR4" tcp 8080 ipip6
	config_vip "$GUE4" tcp 80 gue4
	config_vip "$GUE6" tcp 80 gue6
	config_vip "$GUE6" tcp 8080 gue4
	config_vip "$GUE4" tcp 8080 gue6
	config_vip "$DR4" udp 7000 ipip4
	config_vip "$GUE6" udp 7000 gue6
}

# Packets that a backend's device took out of the tunnel.
received() { ip -n "$TOPOLOGY_ID-$1" -j -s link show dev "$2" | jq ".[0].stats64.rx.packets"; }

for module in ipip sit ip6_tunnel fou fou6; do
	modprobe "$module"
done
start two 3
tunnel_config >"$CONFIG"
for n in 1 2 3; do
	check "b$n has the kernel's tunnels" kernel_tunnels $n
done
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 10 all_up
one_case 'ipip, IPv4 in IPv4' tcp "$DR4" 80
one_case 'ipip, IPv6 in IPv6' tcp "$DR6" 80
one_case 'ipip, IPv6 in IPv4' tcp "$DR6" 8080
one_case 'ipip, IPv4 in IPv6' tcp "$DR4" 8080
one_case 'gue, IPv4 in IPv4' tcp "$GUE4" 80
one_case 'gue, IPv6 in IPv6' tcp "$GUE6" 80
one_case 'gue, IPv6 in IPv4' tcp "$GUE6" 8080
one_case 'gue, IPv4 in IPv6' tcp "$GUE4" 8080
one_case 'ipip, udp' udp "$DR4" 7000
one_case 'gue, udp' udp "$GUE6" 7000
check 'the ipip device had packets' test "$(received b1 tunl0)" -gt 0
check 'the sit device had packets' test "$(received b1 sit0)" -gt 0
check 'the ip6tnl device had packets' test "$(received b1 tun6)" -gt 0
download_start ipip "$DR4" 1G
check 'a download through ipip' download_end ipip
download_start gue "$GUE6" 1G
check 'a download through gue' download_end gue
finish
