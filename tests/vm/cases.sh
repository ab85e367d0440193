# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What tests with real traffic share that are short, for slow machines. To be sourced after
# lib.sh.

SAMPLE=10

# one_case WHAT PROTO VIP PORT: COUNT flows
one_case() {
	local what=$1 out=$TOPOLOGY_DIR/answers
	shift
	ask "$@" 20000 "$COUNT" >"$out"
	check "$what: $COUNT of $COUNT flows are answered" \
		is "$(grep -c ' b[123]$' "$out") of $(wc -l <"$out")" "$COUNT of $COUNT"
	check "$what: ringlb lookup names who answered" \
		diff <(head -n $SAMPLE "$out") <(predict "$@" 20000 $SAMPLE)
	check "$what: all backends serve" is "$(cut -d' ' -f2 "$out" | sort -u | xargs)" 'b1 b2 b3'
}
