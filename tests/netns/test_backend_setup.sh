#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# ringlb-backend sets a host up and puts all back: also if a step fails or it is killed at
# any step, if others change things meanwhile, or if the interface is gone. What check says
# is wrong can be mended as it says.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/netns/backend.sh
. "$(dirname "$0")/backend.sh"

on_b1() { topology_in b1 "$@"; }
b1() { backend b1 "$@"; }
as_before() { backend_is_as_before b1 "$BEFORE"; }
attached() { ip -n "$TOPOLOGY_ID-b1" -o link show dev "$1" | grep prog/xdp; }
sysctl_is() { is "$(on_b1 sysctl -n "$1")" "$2"; }
PREFIX4=10.77.101.0/24 PREFIX6=fd77:101::/64
vip_on_lo() { ip -n "$TOPOLOGY_ID-b1" -o addr show dev lo | grep -F " $1 "; }
prefixes_are_local() {
	ip -n "$TOPOLOGY_ID-b1" route show table local | grep -F "local $PREFIX4 dev lo" &&
		ip -n "$TOPOLOGY_ID-b1" -6 route show table local | grep -F "local $PREFIX6 dev lo"
}
mode_is() { is "$(b1 status --json | jq -r '.[0].xdp')" "$1"; }

# says PATTERN COMMAND...: it succeeds and says one line on stderr
says() {
	local pattern=$1 output status
	shift
	output=$("$@" 2>&1 >/dev/null)
	status=$?
	echo "status $status: $output"
	[ "$status" -eq 0 ] && [ "$(wc -l <<<"$output")" -eq 1 ] && [[ $output =~ $pattern ]]
}

# A libc, libmnl, libbpf and libxdp in which the step number ACCIDENT fails with ACCIDENT_ERRNO,
# or ends the process if there is none. What is only read counts too. A file tells how many
# steps there were.
compile_accident() {
	gcc -shared -fPIC -x c - -o "$TOPOLOGY_DIR/accident.so" -ldl <<-'C'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <errno.h>
		#include <fcntl.h>
		#include <stdlib.h>
		#include <unistd.h>
		#include <sys/types.h>

		static int fails(void)
		{
			static int step;
			const char *at = getenv("ACCIDENT"), *error = getenv("ACCIDENT_ERRNO");

			if (++step != atoi(at))
				return 0;
			close(open(getenv("ACCIDENT_FILE"), O_CREAT | O_WRONLY, 0600));
			if (!error)
				_exit(9);
			errno = atoi(error);
			return 1;
		}

		#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

		ssize_t write(int fd, const void *bytes, size_t len)
		{
			return fd > 2 && fails() ? -1 : REAL(write)(fd, bytes, len);
		}

		int rename(const char *from, const char *to)
		{
			int (*real)(const char *, const char *) = dlsym(RTLD_NEXT, "rename");

			return fails() ? -1 : real(from, to);
		}

		#define STEP(name, type, ...)                                                      \
			type name(void *a, void *b, void *c, void *d)                              \
			{                                                                          \
				type (*real)() = dlsym(RTLD_NEXT, #name);                          \
				if (fails())                                                       \
					return __VA_ARGS__;                                        \
				return real(a, b, c, d);                                           \
			}
		STEP(mnl_socket_sendto, ssize_t, -1)
		STEP(bpf_tc_attach, int, -errno)
		STEP(bpf_map_update_elem, int, -1)
		STEP(xdp_program__attach, int, -errno)
	C
}

# accident STEP ERRNO-OR-NOTHING ARGUMENTS...: 0 if it got that far
accident() {
	local step=$1 error=$2
	shift 2
	rm -f "$TOPOLOGY_DIR/accident"
	topology_in b1 env LD_PRELOAD="$TOPOLOGY_DIR/accident.so" ACCIDENT="$step" ${error:+ACCIDENT_ERRNO="$error"} \
		ACCIDENT_FILE="$TOPOLOGY_DIR/accident" timeout 20 "$B/ringlb-backend" \
		--state "$TOPOLOGY_DIR/b1-state" "$@" >"$TOPOLOGY_DIR/accident.out" 2>&1
	ACCIDENT_STATUS=$?
	[ -e "$TOPOLOGY_DIR/accident" ]
}

# shellcheck disable=SC2206 # none of them has blanks
ATTACH=(attach eth0 --vip $VIP4 $VIP6 $PREFIX4 $PREFIX6 --mss-clamp 1392 --from 10.77.0.0/16 fd77::/16)

# Fail at each step: it says so on one line, and nothing is half applied.
every_step_fails() {
	local step
	for ((step = 1; ; step++)); do
		accident "$step" 1 "${ATTACH[@]}" || break
		# The other way to attach may succeed where this one failed, and that is fine.
		if [ "$ACCIDENT_STATUS" -eq 0 ]; then
			b1 detach eth0 || return 1
		else
			[ "$(wc -l <"$TOPOLOGY_DIR/accident.out")" -eq 1 ] || {
				echo "step $step: not one line:" && cat "$TOPOLOGY_DIR/accident.out"
				return 1
			}
		fi
		as_before || {
			echo "step $step left this:" && cat "$TOPOLOGY_DIR/accident.out"
			return 1
		}
	done
	echo "$step steps"
	b1 detach eth0 && as_before && [ "$step" -gt 12 ]
}

# Killed at each step: detach puts all back; so does attach and then detach.
every_step_is_the_last() {
	local step mended=$1
	for ((step = 1; ; step++)); do
		accident "$step" '' "${ATTACH[@]}" || break
		if [ "$mended" ]; then
			b1 "${ATTACH[@]}" || return 1
			backend_fine b1 || return 1
			b1 detach eth0 || return 1
		else
			b1 detach eth0 2>&1 | grep -v 'is not attached'
		fi
		as_before || {
			echo "killed at step $step"
			return 1
		}
	done
	b1 detach eth0 && as_before && [ "$step" -gt 12 ]
}

# The same for detach: a second one finishes it.
every_step_of_detach_is_the_last() {
	local step
	for ((step = 1; ; step++)); do
		b1 "${ATTACH[@]}" || return 1
		accident "$step" '' detach eth0 || break
		b1 detach eth0 2>&1 | grep -v 'is not attached'
		as_before || {
			echo "killed at step $step"
			return 1
		}
	done
	as_before && [ "$step" -gt 4 ]
}

start two 1
BEFORE=$TOPOLOGY_DIR/before
check 'a plain backend' backend_make_plain b1
check 'an accident is prepared' compile_accident
backend_snapshot b1 >"$BEFORE"

# ---- attach, attach again, detach ----

check 'attach' b1 "${ATTACH[@]}"
check 'the IPv4 VIP is on lo, as /32' vip_on_lo $VIP4/32
check 'the IPv6 VIP is on lo, as /128, and nobody connects from it' eval "vip_on_lo $VIP6/128 | grep deprecated"
check 'prefixes are local' prefixes_are_local
check 'arp_ignore' sysctl_is net.ipv4.conf.all.arp_ignore 1
check 'arp_announce' sysctl_is net.ipv4.conf.all.arp_announce 2
check 'rp_filter is loose' sysctl_is net.ipv4.conf.eth0.rp_filter 2
check 'the program is attached' attached eth0
check 'check finds nothing wrong' backend_fine b1
check 'status in words' eval "b1 status | grep -F 'eth0: ipip and gue, native XDP'"
backend_snapshot b1 >"$TOPOLOGY_DIR/attached"
check 'attach again: nothing changes' b1 "${ATTACH[@]}"
check 'indeed' backend_is_as_before b1 "$TOPOLOGY_DIR/attached"
check 'attach without options: nothing changes either' b1 attach eth0
check 'indeed' backend_is_as_before b1 "$TOPOLOGY_DIR/attached"
check 'other VIPs' refuses "'eth0' is attached with another --vip: ringlb-backend detach eth0" \
	b1 attach eth0 --vip $VIP4 --mss-clamp 1392 --from 10.77.0.0/16 fd77::/16
check 'another port' refuses 'another --gue-port' b1 "${ATTACH[@]}" --gue-port 6081
check 'another mode' refuses 'another --mode' b1 "${ATTACH[@]}" --mode gue
check 'another MSS' refuses 'another --mss-clamp' b1 "${ATTACH[@]}" --mss-clamp 1391
check 'another egress' refuses 'another --egress' b1 "${ATTACH[@]}" --egress eth0
check 'another source' refuses 'another --from' b1 "${ATTACH[@]}" --from 10.0.0.0/16
check 'nothing changed' backend_is_as_before b1 "$TOPOLOGY_DIR/attached"
check 'detach' b1 detach eth0
check 'all is as before' as_before
check 'detach again' refuses "'eth0' is not attached$" b1 detach eth0

# ---- what is refused ----

check 'no such interface' refuses "there is no interface 'eth9'" b1 attach eth9 --vip $VIP4
check 'no Ethernet' refuses "'lo' is no Ethernet interface" b1 attach lo --vip $VIP4
check 'no such egress' refuses "egress: there is no interface 'eth9'" \
	b1 attach eth0 --vip $VIP4 --mss-clamp 1400 --egress eth9
check 'not attached yet' refuses "'eth0' is not attached yet: ringlb-backend attach eth0 --vip" b1 attach eth0
check 'no place for the record' refuses "cannot create '/nonexistent/dir'" \
	b1 attach eth0 --vip $VIP4 --state /nonexistent/dir
on_b1 ip link set dev eth0 xdp obj "$TOPOLOGY_DIR/pass.o" sec xdp
check "somebody else's program" refuses 'another XDP program is there' b1 "${ATTACH[@]}"
check 'it is still there' attached eth0
on_b1 ip link set dev eth0 xdp off
on_b1 sysctl -qw net.ipv6.conf.lo.disable_ipv6=1
check 'IPv6 is off on lo' refuses 'disable_ipv6' b1 "${ATTACH[@]}"
on_b1 sysctl -qw net.ipv6.conf.lo.disable_ipv6=0
check 'all is as before' as_before
check 'check: nothing is attached' backend_finds b1 '^nothing is attached'
check 'check of one' refuses "'eth0' is not attached" b1 check eth0
check 'status of one' refuses "'eth0' is not attached" b1 status eth0
check 'status of none' is "$(b1 status --json)" '[]'

# ---- what was there before stays ----

ip -n "$TOPOLOGY_ID-b1" addr add $VIP4/32 dev lo
on_b1 sysctl -qw net.ipv4.conf.all.arp_ignore=2 net.ipv4.conf.eth0.rp_filter=0
on_b1 tc qdisc add dev eth0 clsact
backend_snapshot b1 >"$BEFORE"
check 'attach' b1 "${ATTACH[@]}"
check 'arp_ignore is good enough' sysctl_is net.ipv4.conf.all.arp_ignore 2
check 'rp_filter is off' sysctl_is net.ipv4.conf.eth0.rp_filter 0
check 'detach' b1 detach eth0
check 'all is as before' as_before
ip -n "$TOPOLOGY_ID-b1" addr del $VIP4/32 dev lo
on_b1 sysctl -qw net.ipv4.conf.all.arp_ignore=0 net.ipv4.conf.eth0.rp_filter=1
on_b1 tc qdisc del dev eth0 clsact
backend_snapshot b1 >"$BEFORE"

# ---- steps that fail, a process that is killed ----

check 'fail at each step: nothing is half applied' every_step_fails
check 'killed at each step, then detach: all is as before' every_step_is_the_last ''
check 'killed at each step, then attach: all is well' every_step_is_the_last mended
check 'detach killed at each step, then detach' every_step_of_detach_is_the_last

# ---- what check finds, and how that is mended ----

check 'attach' b1 "${ATTACH[@]}"
ip -n "$TOPOLOGY_ID-b1" addr del $VIP6/128 dev lo
check 'a VIP is missing' backend_finds b1 "VIP $VIP6 is not on lo .ringlb-backend attach eth0"
check 'attach mends it' b1 attach eth0
check 'check is content' backend_fine b1
ip -n "$TOPOLOGY_ID-b1" route del local $PREFIX4 dev lo
ip -n "$TOPOLOGY_ID-b1" -6 route del local $PREFIX6 dev lo
check 'a prefix is missing' backend_finds b1 "VIP $PREFIX4 is not on lo .ringlb-backend attach eth0"
check 'attach mends it' b1 attach eth0
check 'both are back' prefixes_are_local
check 'check is content' backend_fine b1
ip -n "$TOPOLOGY_ID-b1" addr add 10.77.101.7/32 dev eth0
check 'an address of a prefix is where it must not be' backend_finds b1 "VIP $PREFIX4 is on another interface"
ip -n "$TOPOLOGY_ID-b1" addr del 10.77.101.7/32 dev eth0
ip -n "$TOPOLOGY_ID-b1" addr add $VIP4/32 dev eth0
check 'a VIP is where it must not be' backend_finds b1 "VIP $VIP4 is on another interface"
ip -n "$TOPOLOGY_ID-b1" addr del $VIP4/32 dev eth0
for setting in arp_ignore=0 arp_announce=0 arp_announce=1 arp_ignore=3; do
	on_b1 sysctl -qw "net.ipv4.conf.all.$setting"
	check "$setting" backend_finds b1 "all/${setting%=*} is ${setting#*=}: .*sysctl -w net/ipv4/conf/all/${setting%=*}=[12]"
	on_b1 sysctl -qw "$(b1 check --json | jq -r '.[] | select(.kind == "problem").remedy' | sed 's/.*sysctl -w //')"
	check 'mended as it said' backend_fine b1
done
on_b1 sysctl -qw net.ipv4.conf.eth0.rp_filter=1
check 'rp_filter' backend_finds b1 'sysctl -w net/ipv4/conf/eth0/rp_filter=2'
check 'attach mends it' b1 attach eth0
on_b1 ip link set dev eth0 xdp off
check 'the XDP program is missing' backend_finds b1 'XDP program is not attached .ringlb-backend attach eth0'
check 'status says so' eval "b1 status | grep -F 'the XDP program is missing'"
check 'attach mends it' b1 attach eth0
on_b1 tc qdisc del dev eth0 clsact
check 'the tc program is missing' backend_finds b1 'tc program that lowers the MSS is not attached'
check 'attach mends it' b1 attach eth0
check 'check is content' backend_fine b1
ip -n "$TOPOLOGY_ID-b1" route del local $PREFIX4 dev lo
ip -n "$TOPOLOGY_ID-b1" -6 route del local $PREFIX6 dev lo
check 'a prefix is missing' backend_finds b1 "VIP $PREFIX4 is not on lo .ringlb-backend attach eth0"
check 'attach mends it' b1 attach eth0
check 'both are back' prefixes_are_local
check 'check is content' backend_fine b1
ip -n "$TOPOLOGY_ID-b1" addr add 10.77.101.7/32 dev eth0
check 'an address of a prefix is where it must not be' backend_finds b1 "VIP $PREFIX4 is on another interface"
ip -n "$TOPOLOGY_ID-b1" addr del 10.77.101.7/32 dev eth0
ip -n "$TOPOLOGY_ID-b1" addr add 10.77.2.99/24 dev eth0
check 'an address that came later' backend_finds b1 'this host has addresses that the program does not know'
check 'attach tells it' b1 attach eth0
check 'check is content' backend_fine b1
ip -n "$TOPOLOGY_ID-b1" addr del 10.77.2.99/24 dev eth0
on_b1 ip link set eth0 down
check 'the interface is down' backend_finds b1 'eth0: the interface is down .ip link set dev eth0 up'
on_b1 ip link set eth0 up
# What went with the link.
ip -n "$TOPOLOGY_ID-b1" addr replace fd77:2::11/64 dev eth0 nodad
ip -n "$TOPOLOGY_ID-b1" route replace default via 10.77.2.1
ip -n "$TOPOLOGY_ID-b1" -6 route replace default via fd77:2::1
ip -n "$TOPOLOGY_ID-b1" route replace default via 10.77.2.9 table 100
ip -n "$TOPOLOGY_ID-b1" -6 route replace default via fd77:2::9 table 100
check 'problems and hints as JSON' eval "b1 check --json | topology_holds 'all(.[]; .kind == \"hint\" and (.what | type) == \"string\" and .interface == \"eth0\")'"
check 'detach' b1 detach eth0
check 'all is as before' as_before

# ---- hints ----

check 'attach, with an MSS too large' b1 attach eth0 --vip $VIP4 $VIP6 --mss-clamp 1440
check 'the MSS does not fit' backend_hints b1 'MSS of 1440 may not fit .*mss-clamp 1392'
check 'detach' b1 detach eth0
check 'attach, for ipip and IPv4' b1 attach eth0 --vip $VIP4 --mode ipip
check 'full segments do not fit' backend_hints b1 'do not fit with 40 bytes .*mss-clamp 1420, or an MTU of 1540'
ip -n "$TOPOLOGY_ID-b1" route del default via 10.77.2.9 table 100
ip -n "$TOPOLOGY_ID-b1" route del default via 10.77.2.1
check 'no way back' backend_hints b1 "no way back to clients from VIP $VIP4"
ip -n "$TOPOLOGY_ID-b1" route add default via 10.77.2.1
ip -n "$TOPOLOGY_ID-b1" route add default via 10.77.2.9 table 100
check 'detach' b1 detach eth0
check 'attach, gue only' b1 attach eth0 --vip $VIP4 --mode gue --gue-port 7000
check 'a socket has the port of gue' backend_hints b1 'UDP port 7000'
check 'detach' b1 detach eth0
check 'all is as before' as_before

# ---- changed by others meanwhile ----

check 'attach' b1 "${ATTACH[@]}"
on_b1 sysctl -qw net.ipv4.conf.all.arp_ignore=8
on_b1 tc filter add dev eth0 ingress prio 7 bpf da obj "$TOPOLOGY_DIR/pass.o" sec xdp
check 'detach leaves what others changed and says so' eval \
	"b1 detach eth0 2>&1 | grep -q 'arp_ignore is left at 8' && on_b1 tc filter show dev eth0 ingress | grep -q pass.o"
check 'arp_ignore is left' sysctl_is net.ipv4.conf.all.arp_ignore 8
on_b1 tc qdisc del dev eth0 clsact
on_b1 sysctl -qw net.ipv4.conf.all.arp_ignore=0
check 'the rest is as before' as_before

# ---- two interfaces, one of them goes ----

ip link add name eth1 netns "$TOPOLOGY_ID-b1" type veth peer name port9 netns "$TOPOLOGY_ID-switch"
ip -n "$TOPOLOGY_ID-b1" link set eth1 up
ip -n "$TOPOLOGY_ID-switch" link set port9 up
backend_snapshot b1 >"$TOPOLOGY_DIR/two"
check 'attach the first' b1 attach eth0 --vip $VIP4 $VIP6 --mode dr
check 'no program is needed for dr' refused attached eth0
check 'check is content with dr' backend_fine b1
check 'attach the second, which has no IPv4 address' b1 attach eth1 --vip $VIP4 --mode ipip
check 'a clamp in two names at one place' refuses "have their MSS lowered for|attached with another" \
	b1 attach eth1 --vip $VIP4 --mode ipip --mss-clamp 1400 --egress eth0
check 'the first goes' b1 detach eth0
check 'what the second needs stays' vip_on_lo $VIP4/32
check 'what it does not need goes' refused vip_on_lo $VIP6/128
check 'arp_ignore stays' sysctl_is net.ipv4.conf.all.arp_ignore 1
check 'check is content' backend_fine b1
check 'the second goes' b1 detach eth1
check 'all is as before' backend_is_as_before b1 "$TOPOLOGY_DIR/two"

check 'attach the second' b1 attach eth1 --vip $VIP4
ip -n "$TOPOLOGY_ID-b1" link del eth1
check 'it is gone' backend_finds b1 'eth1: the interface is gone .ringlb-backend detach eth1'
check 'status says so' eval "b1 status | grep -F 'the interface is gone'"
check 'detach puts back the rest' says "'eth1' is gone: the rest was put back" b1 detach eth1
check 'all is as before' as_before
ip link add name eth1 netns "$TOPOLOGY_ID-b1" type veth peer name port9 netns "$TOPOLOGY_ID-switch"
ip -n "$TOPOLOGY_ID-b1" link set eth1 up
check 'attach it, now that it is back' b1 attach eth1 --vip $VIP4
ip -n "$TOPOLOGY_ID-b1" link del eth1
ip link add name eth1 netns "$TOPOLOGY_ID-b1" type veth peer name port9 netns "$TOPOLOGY_ID-switch"
ip -n "$TOPOLOGY_ID-b1" link set eth1 up
check 'another of that name, for other VIPs' b1 attach eth1 --vip $VIP6
check 'the former VIP is gone' refused vip_on_lo $VIP4/32
check 'check is content' backend_fine b1
ip -n "$TOPOLOGY_ID-b1" link set eth1 name lan1
check 'renamed: check is content' eval "b1 check lan1 | grep -q 'lan1: ok'"
check 'renamed: detach' b1 detach lan1
ip -n "$TOPOLOGY_ID-b1" link del lan1
check 'all is as before' as_before

check 'attach' b1 "${ATTACH[@]}"
check 'another network namespace' refuses 'another network namespace.*--state DIR' \
	topology_in client "$B/ringlb-backend" --state "$TOPOLOGY_DIR/b1-state" detach eth0
check 'detach' b1 detach eth0
check 'all is as before' as_before

# ---- where XDP is not native ----

topology_in switch ip link set port1 mtu 9000
on_b1 ip link set eth0 mtu 9000
ip -n "$TOPOLOGY_ID-b1" link add name br.42 type bridge mcast_snooping 0
ip -n "$TOPOLOGY_ID-b1" link set br.42 up
ip -n "$TOPOLOGY_ID-b1" addr add 10.77.3.1/24 dev br.42
on_b1 sysctl -qw net/ipv4/conf/br.42/rp_filter=1
backend_snapshot b1 >"$TOPOLOGY_DIR/bridge"
check 'jumbo frames are native' b1 attach eth0 --vip $VIP4
check 'indeed' mode_is native
check 'full segments fit' refused backend_hints b1 'do not fit'
check 'detach' b1 detach eth0
check 'a bridge: said' says 'generic XDP, which is slower: the driver has no native XDP' \
	b1 attach br.42 --vip $VIP4
check 'generic' mode_is generic
check 'check hints at it' backend_hints b1 'generic mode'
check 'rp_filter of an interface with a dot in its name' sysctl_is net/ipv4/conf/br.42/rp_filter 2
check 'detach' b1 detach br.42
check 'all is as before' backend_is_as_before b1 "$TOPOLOGY_DIR/bridge"
finish
