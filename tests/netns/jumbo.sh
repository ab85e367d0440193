# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Frames of 9,000 bytes, which lie in several buffers, through native and generic XDP in one
# shape of the network: none is fragmented, all of their bytes are counted.

# shellcheck source=tests/netns/fragments.sh
. "$(dirname "$0")/fragments.sh"

LENGTH=8900
COUNT=40
# With Ethernet, IP and UDP.
FRAME4=$((LENGTH + 42)) FRAME6=$((LENGTH + 62))

# Pools of web servers are added before the VIPs.
jumbo_config() {
	fragments_config | sed '/^vips:/,$d'
	config_pool web4 nat 10.77.2. 8080 1 2
	config_pool web6 nat fd77:2:: 8080 1 2
	fragments_config | sed -n '/^vips:/,$p'
	config_vip $NAT4 tcp 80 web4
	config_vip $NAT6 tcp 80 web6
	config_vip $DR4 tcp 80 dr4
	config_vip $DR6 tcp 80 dr6
}

vip_bytes() { answer ".[] | select(.vip == \"$1\") | .bytes" vip list; }

# Each datagram is one frame, and all of its bytes are counted.
bytes_are() { is "$(vip_bytes "$1")" "$2"; }

nothing_was_fragmented() {
	local role
	for role in client b1 b2; do is "$(reassembly $role ReasmReqds)" 0 || return 1; done
}

downloads() {
	local vip
	for vip in $NAT4 $NAT6 $DR4 $DR6; do
		download_start "down-$vip" "$vip" 1G
		check "case 36: a download from $vip" download_end "down-$vip"
	done
}

jumbo() {
	local role
	start "$1" 2
	topology_mtu 9000
	for role in b1 b2; do serve_datagrams "$role" || bail_out "no services in $role"; done
	jumbo_config >"$CONFIG"
	check 'the daemon starts' daemon_start
	check 'all backends are up' wait_for 5 all_up
	check 'the program is native' is "$(answer '[.interfaces[].mode] | unique | join(",")' status)" native
	each_vip "$LENGTH bytes" kernel $LENGTH $COUNT
	check 'all bytes are counted' bytes_are $NAT4:$PORT/udp $((COUNT * FRAME4))
	check 'IPv6 too' bytes_are "[$DR6]:$PORT/udp" $((COUNT * FRAME6))
	downloads
	check 'case 36: nothing was fragmented' nothing_was_fragmented
	check 'nothing was dropped' nothing_dropped
	each_vip "60,000 bytes, in jumbo fragments" kernel 60000 10

	sed -i -E 's/^(  - name: eth.)$/\1\n    mode: generic/' "$CONFIG"
	check 'reload to generic mode' ringlb reload
	each_vip "generic: $LENGTH bytes" kernel $LENGTH $COUNT
	finish
}
