#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# By ipip and gue, too, a backend is told of a client that is gone.
# shellcheck source=tests/netns/tunnels.sh
. "$(dirname "$0")/tunnels.sh"
# shellcheck source=tests/netns/icmp.sh
. "$(dirname "$0")/icmp.sh"

start two 3
for role in client b1 b2 b3; do
	check "$role: no limit" without_limit $role
	[ $role = client ] || check "$role: ringlb-backend attach" tunnels_attach $role
	[ $role = client ] || check "$role: a service that answers again and again" icmp_serve $role
done
tunnels_config ipip gue 1 2 3 >"$CONFIG"
for vip in $IPIP_VIPS; do config_vip "$vip" udp 7500 ipip4; done >>"$CONFIG"
for vip in $GUE_VIPS; do config_vip "$vip" udp 7500 gue6; done >>"$CONFIG"
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 5 all_up
first=$FIRST
for vip in $TUNNEL_VIPS; do
	check "$vip: backends are told of clients that are gone" leaves "$vip" $first
	first=$((first + COUNT))
done
finish
