# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# QUIC connections whose client sends every packet from another port, and servers with ids. To
# be sourced after tests/netns/lib.sh.

QUIC=$ROOT/tests/netns/quic.py
CONNECTIONS=12
MOVES=10

# backend_lines PREFIX N...: with $IDS ids 0:0N01, with $BOTH 3:0N too
backend_lines() {
	local prefix=$1 n
	for n in "${@:2}"; do
		printf '      - {name: b%d, address: "%s%d"' "$n" "$prefix" $((10 + n))
		[ -z "$IDS" ] || printf ', quic_id: "0:%02d01%s"' "$n" "${BOTH:+,3:0$n}"
		printf '}\n'
	done
}

start_servers() {
	local n
	for ((n = 1; n <= BACKENDS; n++)); do
		topology_spawn "b$n" "$TOPOLOGY_DIR/b$n/quic" \
			python3 "$QUIC" serve "b$n" "0${n}01" 443
		wait_for 5 grep -q ready "$TOPOLOGY_DIR/b$n/quic" || return 1
	done
}

# talk SOURCE VIP
talk() { topology_in client python3 "$QUIC" talk "$1" "$2" 443 40000 "$CONNECTIONS" "$MOVES"; }

# All answers of each connection came from its backend, and more than one backend has some.
all_stay() {
	talk "$@" >"$TOPOLOGY_DIR/talked"
	cat "$TOPOLOGY_DIR/talked"
	is "$(grep -c " same $MOVES reset 0 lost 0\$" "$TOPOLOGY_DIR/talked")" "$CONNECTIONS" &&
		[ "$(cut -d' ' -f1 "$TOPOLOGY_DIR/talked" | sort -u | wc -l)" -gt 1 ]
}
