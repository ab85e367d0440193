# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What the tests of ringlb-backend share. To be sourced after lib.sh.
#
# shellcheck disable=SC2034 # variables are for the tests

VIP4=10.77.100.9 VIP6=fd77:100::9

# backend_forget_vips ROLE: what the topology did for dr is undone, but for the way of replies
backend_forget_vips() {
	local role=$1 ns=$TOPOLOGY_ID-$1 vip
	for vip in $TOPOLOGY_DR_VIPS; do
		ip -n "$ns" addr del "$vip" dev lo || return 1
	done
	topology_in "$role" sysctl -qw net.ipv4.conf.all.arp_ignore=0 \
		net.ipv4.conf.all.arp_announce=0 net.ipv4.conf.eth0.rp_filter=1
}

# backend_make_plain ROLE: that, and replies from our VIPs go straight to the client.
# ringlb-backend has all the rest to do.
backend_make_plain() {
	local ns=$TOPOLOGY_ID-$1
	backend_forget_vips "$1" && ip -n "$ns" rule add from $VIP4 lookup 100 &&
		ip -n "$ns" -6 rule add from $VIP6 lookup 100
}

# backend ROLE ARGUMENTS...: ringlb-backend there; each role has its own state
backend() {
	local role=$1
	shift
	topology_in "$role" timeout 20 "$B/ringlb-backend" --state "$TOPOLOGY_DIR/$role-state" "$@"
}

# All that ringlb-backend changes, as text.
backend_snapshot() {
	local ns=$TOPOLOGY_ID-$1 dev
	ip -n "$ns" -o addr show | sed -E 's/ (valid|preferred)_lft [0-9]+sec//g'
	ip -n "$ns" route show table local proto boot
	ip -n "$ns" -6 route show table local proto boot
	topology_in "$1" sh -c 'cd /proc/sys/net/ipv4/conf && grep . */arp_ignore */arp_announce */rp_filter'
	topology_in "$1" tc qdisc show
	for dev in $(ip -n "$ns" -br link show | awk '{ sub("@.*", "", $1); print $1 }'); do
		topology_in "$1" tc filter show dev "$dev" ingress
		topology_in "$1" tc filter show dev "$dev" egress
		ip -n "$ns" -o link show dev "$dev" | grep -o 'prog/xdp' | sed "s/^/$dev: /"
	done
	ls -A "$TOPOLOGY_DIR/$1-state" 2>/dev/null
}

# backend_is_as_before ROLE FILE: the snapshot that was taken into the file still holds
backend_is_as_before() { diff "$2" <(backend_snapshot "$1"); }

# backend_count ROLE VERDICT: over all its interfaces
backend_count() { backend "$1" status --json | jq "[.[].counts.$2] | add // 0"; }

# backend_fine ROLE: check finds nothing wrong; hints are shown
backend_fine() { backend "$1" check; }

# backend_finds ROLE PATTERN: check fails, and one line matches
backend_finds() {
	local output status
	output=$(backend "$1" check 2>&1)
	status=$?
	echo "status $status: $output"
	[ "$status" -eq 1 ] && grep -qE -- "$2" <<<"$output"
}

# backend_hints ROLE PATTERN: check is content, but has this to say
backend_hints() {
	local output status
	output=$(backend "$1" check 2>&1)
	status=$?
	echo "status $status: $output"
	[ "$status" -eq 0 ] && grep -qE -- "hint: .*$2" <<<"$output"
}
