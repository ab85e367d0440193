# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Programs on an interface, ours and others, whichever way they are attached, and ringlbd in
# another version.
# To be sourced after tests/netns/lib.sh.
#
# shellcheck disable=SC2034,SC2086 # variables are for the tests, or of lib.sh

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

names_on() { programs_on "$1" | awk '{ print $1 }' | xargs; }

# compile_other NAME: an XDP program that counts in a map of its name, and passes
compile_other() {
	"${CLANG:-clang-19}" -O2 -g -target bpf -I"/usr/include/$(gcc -print-multiarch)" \
		-x c -c - -o "$TOPOLOGY_DIR/$1.o" <<-C
		#include <linux/bpf.h>
		#include <bpf/bpf_helpers.h>
		struct {
			__uint(type, BPF_MAP_TYPE_ARRAY);
			__uint(max_entries, 1);
			__type(key, __u32);
			__type(value, __u64);
		} $1_seen SEC(".maps");
		SEC("xdp") int $1(struct xdp_md *ctx)
		{
			__u32 key = 0;
			__u64 *seen = bpf_map_lookup_elem(&$1_seen, &key);

			if (seen)
				__sync_fetch_and_add(seen, 1);
			return XDP_PASS;
		}
	C
}

loader() { topology_on_lb xdp-loader "$@"; }
load_other() { loader load -m "$3" -P "$4" "$2" "$TOPOLOGY_DIR/$1.o"; }
unload_other() { loader unload "$2" --id "$(programs_on "$2" | awk -v n="$1" '$1 == n { print $2 }')"; }

# How often the other program ran, on all interfaces together.
seen() {
	topology_on_lb bpftool -j map dump name "$1_seen" | jq '[.. | .formatted? | .value? // empty] | add'
}

modes_are() { is "$(answer '[.interfaces[] | .attach + " " + .mode] | unique | join(",")' status)" "$1"; }

works() { diff <(ask "$1" "$2" "$3" 23000 10) <(predict "$1" "$2" "$3" 23000 10); }

all_work() {
	check "$1: nat" works tcp $NAT4 80
	check "$1: nat, IPv6" works udp $NAT6 7000
	check "$1: dr" works udp $DR4 7000
	check "$1: dr, IPv6" works tcp $DR6 80
}

# What libxdp has pinned.
pins() { topology_on_lb sh -c 'ls -d /sys/fs/bpf/xdp/*' 2>/dev/null; }
