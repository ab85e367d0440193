#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A driver whose frames for XDP must fit in a page: attaching with a larger MTU is refused with the
# limit, and with that MTU it works. Linux 6.3 taught virtio to have frames of several buffers:
# there the larger MTU works, too.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/unit/tap.sh
. tests/unit/tap.sh

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
B=${B:-build}

modprobe virtio_net
for path in /sys/class/net/*; do
	[ "$(basename "$(realpath "$path/device/driver" 2>/dev/null)")" = virtio_net ] && dev=$(basename "$path")
done
[ -n "${dev:-}" ] || {
	echo 'Bail out! no interface with the driver virtio_net'
	exit 1
}
ip link set "$dev" mtu 9000 up
ip address add 10.9.0.1/24 dev "$dev"
cat >"$directory/ringlb.yaml" <<-YAML
	seed: 1
	interfaces:
	  - name: $dev
	pools:
	  - name: web
	    forward: dr
	    backends:
	      - {name: web1, address: 10.9.0.2}
	vips:
	  - {address: 192.0.2.1, protocol: tcp, port: 80, pool: web}
YAML

# Attach and end; the program stays until `ringlbd --detach`.
attach() {
	timeout -s TERM 20 "$B/ringlbd" -c "$directory/ringlb.yaml" -s "$directory/socket" \
		-S "$directory/state" >"$directory/output" 2>&1 &
	for _ in {1..180}; do
		grep -q 'ready:' "$directory/output" && break
		kill -0 $! 2>/dev/null || break
		sleep 0.1
	done
	kill $! 2>/dev/null
	wait $!
	grep -q 'ready:' "$directory/output"
}

if [ "$(uname -r | cut -d. -f1)" = 6 ] && [ "$(uname -r | cut -d. -f2)" -ge 3 ]; then
	attach
	same 'frames of several buffers' 0 $?
else
	attach
	same 'an MTU that does not fit in a page is refused' 1 $?
	limit=$(grep -oE "its MTU of 9000 is too large .* takes [0-9]+ or" "$directory/output" | grep -oE '[0-9]+ or$')
	limit=${limit% or}
	same 'with the limit' 3498 "$limit"
	same 'and nothing is attached' '' "$(ip link show "$dev" | grep -o xdp)"
	ip link set "$dev" mtu "${limit:-0}"
	attach
	same 'with that MTU it attaches' 0 $?
fi
same 'the program is there' 1 "$(ip link show "$dev" | grep -c 'prog/xdp')"
"$B/ringlbd" --detach >/dev/null
same 'and goes' 0 "$(ip link show "$dev" | grep -c 'prog/xdp')"
sed "s/^/# /" "$directory/output"
echo "1..$n"
