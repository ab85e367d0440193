#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# {nat, dr} x {IPv4, IPv6} x {TCP, UDP}, redirected from one interface to another: a short
# form of tests/netns/test_traffic_two.sh for slow machines.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/../netns/lib.sh"
# shellcheck source=tests/vm/cases.sh
. "$(dirname "$0")/cases.sh"

COUNT=100

start two 3
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 5 all_up
one_case 'nat tcp' tcp $NAT4 80
one_case 'nat udp' udp $NAT4 7000
one_case 'nat tcp, IPv6' tcp $NAT6 80
one_case 'nat udp, IPv6' udp $NAT6 7000
one_case 'dr tcp' tcp $DR4 80
one_case 'dr udp' udp $DR4 7000
one_case 'dr tcp, IPv6' tcp $DR6 80
one_case 'dr udp, IPv6' udp $DR6 7000
one_case 'dr udp, IPv6 VIP on IPv4 backends' udp $DR6 7001
download_start nat "$NAT4" 1G
check 'a download through nat' download_end nat
download_start dr "$DR6" 1G
check 'a download through dr over IPv6' download_end dr
finish
