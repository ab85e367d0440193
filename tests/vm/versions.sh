# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Programs on an interface, whichever way they are attached, and ringlbd in another version.
# To be sourced after tests/netns/lib.sh.
#
# shellcheck disable=SC2034 # variables are for the tests

# What is attached to an interface, one "NAME ID TAG" line for each program, in their order.
programs_on() {
	local dispatcher pin
	dispatcher=$(topology_in lb ip -j link show "$1" | jq -r '.[0].xdp.prog.id // empty')
	[ -n "$dispatcher" ] || return 0
	if [ "$(program name id "$dispatcher")" != xdp_dispatcher ]; then
		program all id "$dispatcher"
		return
	fi
	for pin in $(topology_on_lb sh -c "ls /sys/fs/bpf/xdp/dispatch-*-$dispatcher/*-prog"); do
		program all pinned "$pin"
	done
}

# program name|all WHICH...: as bpftool takes it
program() {
	local filter=.name
	[ "$1" = name ] || filter='"\(.name) \(.id) \(.tag)"'
	topology_on_lb bpftool -j prog show "${@:2}" | jq -r "$filter"
}

# start_version PROGRAM
start_version() {
	topology_spawn_on_lb "$TOPOLOGY_DIR/ringlbd.log" "$1" -c "$CONFIG" -s "$SOCKET" -S "$STATE"
	DAEMON=$TOPOLOGY_PID
	wait_for 10 daemon_is_ready
}
