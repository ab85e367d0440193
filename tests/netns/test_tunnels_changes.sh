#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# No connection through ipip and gue breaks because backends come, drain, leave or change their
# weight, nor because a pool changes between dr, ipip and gue: backends are set up for all.
# shellcheck source=tests/netns/tunnels.sh
. "$(dirname "$0")/tunnels.sh"
# shellcheck source=tests/netns/moves.sh
. "$(dirname "$0")/moves.sh"

POOLS='ipip4 ipip6 gue4 gue6'

# Where backend bN of a pool is; not as in pools of nat.
address_of() {
	case $1 in
	*4) echo "10.77.2.$((10 + $2))" ;;
	*6) echo "fd77:2::$((10 + $2))" ;;
	esac
}

# step WHAT COMMAND...: a change; a second later all connections are in use and none broke
step() {
	check "$1" "${@:2}"
	check "$1: more is asked" some_more ipip4 50
	check_unbroken "$1"
}

# changes_to IPIP-FORWARD GUE-FORWARD: what forwards the pools from now on
changes_to() {
	{
		config_flows learn_tcp=5s
		tunnels_config "$1" "$2" 1 2 3 4
	} >"$CONFIG"
	ringlb reload && is "$(answer '[.[].forward] | join(" ")' pool list)" "$1 $1 $2 $2"
}

start two 4
for n in 1 2 3 4; do check "b$n: ringlb-backend attach" tunnels_attach b$n; done
check 'the client knows that outer headers need room' client_mtu
{
	config_flows learn_tcp=5s
	tunnels_config ipip gue 1 2 3
} >"$CONFIG"
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 5 all_up
clients_start ipip4 tcp 10.77.100.9 80 200 25
clients_start ipip6 tcp fd77:100::9 8080 200 25
clients_start gue4 tcp fd77:100::8 80 200 25
clients_start gue6 tcp 10.77.100.8 8080 200 25
clients_start ipip4-udp udp fd77:100::9 7000 100 0
clients_start gue4-udp udp 10.77.100.8 7000 100 0
check 'all flows are open' wait_long 10 all_open

step 'b4 is added' add_in_pools 4
step 'b1 gets another weight' in_pools backend weight b1 0.5
step 'b2 drains' in_pools backend drain b2
step 'b2 is back' in_pools backend undrain b2
step 'b3 leaves' in_pools backend remove b3
check 'what was learned is over' wait_long 20 learned
check_unbroken 'when it is'

step 'ipip to dr, gue to ipip' changes_to dr ipip
step 'dr to gue, ipip to dr' changes_to gue dr
step 'gue to ipip, dr to gue' changes_to ipip gue
check 'clients end' clients_end
finish
