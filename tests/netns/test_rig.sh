#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What veth needs for XDP, which all other tests rely on: finished checksums on the way in,
# and a program at the other end of the way out. Without either nothing arrives, and nobody
# says why.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"

offload() { topology_in "$1" ethtool -k "$2" | awk '$1 == "tx-checksumming:" { print $2 }'; }
has_program() { topology_in "$1" ip link show "$2" | grep -q 'prog/xdp'; }
answered() { is "$(ask tcp "$1" 80 "$2" 3 | grep -vc -- ' -$')" 3; }
# One is enough, as nobody comes to tell it: it waits for seconds.
unanswered() { is "$(ask tcp "$1" 80 "$2" 1)" "$2 -"; }

start two 3
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 5 all_up
for place in 'client eth0' 'lb eth0' 'lb eth1' 'b1 eth0' 'b2 eth0' 'b3 eth0'; do
	# shellcheck disable=SC2086 # two words
	check "case 33: no checksum offload at $place" is "$(offload $place)" off
done
check 'case 34: a program at the other end of eth0' has_program client eth0
check 'case 34: a program at the other end of eth1' has_program switch lb1
check 'all clients are answered' answered $NAT4 20000

topology_in client ethtool -K eth0 tx on >/dev/null
check 'case 33: with offload no client of nat is answered' unanswered $NAT4 21000
topology_in client ethtool -K eth0 tx off >/dev/null
check 'without it all are' answered $NAT4 22000

topology_in client ip link set dev eth0 xdp off
check 'case 34: without a program no client of nat is answered' unanswered $NAT4 23000
check 'with one' topology_receive_xdp client eth0
check 'all are' answered $NAT4 24000
finish
