#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# `ringlb simulate` with keys that are not all asked for as often, and with load caps.
#
# Usage: tests/unit/test_loads.sh        B=DIR: where ringlb was built (build)
set -u
cd "$(dirname "$0")/../.." || exit 1
ringlb=$(realpath "${B:-build}")/ringlb
export LC_ALL=C

T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT
trap 'exit 1' INT TERM

# shellcheck source=tests/unit/tap.sh
. tests/unit/tap.sh

# json FILTER ARGUMENTS...: what jq makes of the answer, on one line
json() {
	local filter=$1
	shift
	"$ringlb" --json simulate "$@" | jq -c "$filter"
}

# fails STATUS LINE ARGUMENTS...
fails() {
	local status=$1 line=$2
	shift 2
	"$ringlb" simulate "$@" >"$T/out" 2>"$T/err"
	same "refused: $*" "$status $line" "$? $(cat "$T/out" "$T/err")"
}

# Keys 0 to 3 are one server's each, modulo 4. By Zipf 1 they have 12, 6, 4 and 3 of 25, which is
# 1.92, 0.96, 0.64 and 0.48 of the mean.
toy='--hash given --schemes modulo --servers a,b,c,d'
# shellcheck disable=SC2086 # words
same "zipf 1: the first key has 12 of 25" 1.92 \
	"$(json '.[0].peak * 1e6 | round / 1e6' $toy --zipf 1 0 1 2 3)"
# shellcheck disable=SC2086 # words
same "one hot key of four with half of all" 2 "$(json '.[0].peak' $toy --hot-keys 1:0.5 0 1 2 3)"
# shellcheck disable=SC2086 # words
same "two hot keys of four with three quarters" 1.5 \
	"$(json '.[0].peak' $toy --hot-keys 2:0.75 0 1 2 3)"
# shellcheck disable=SC2086 # words
same "all alike" 1 "$(json '.[0].peak' $toy --zipf 0 0 1 2 3)"
same "zipf 0 is what there was before" true \
	"$(json '.[0].peak' --servers 10 --count 5000 --schemes ring --zipf 0 |
		grep -qx "$(json '.[0].peak' --servers 10 --count 5000 --schemes ring)" && echo true)"

zipf=(--servers 10 --count 20000 --zipf 1 --load-cap 1.25)
same "a cap of 1.25 holds, for rings, to the hundredth" '["ring","capped"]' \
	"$(json 'map(select(.peak > 1.4 and .peak_capped <= 1.26 and .spilled > 0).scheme)' \
		"${zipf[@]}" --schemes ring,capped)"
same "others have none" '[null,null]' \
	"$(json 'map(.peak_capped)' "${zipf[@]}" --schemes jump,multi-probe)"
same "without --load-cap there is none" '[null,null]' \
	"$(json '.[0] | [.peak_capped, .spilled]' --servers 10 --count 5000 --schemes ring)"
same "nothing is spilled that need not be" '[true,0]' \
	"$(json '.[0] | [.peak == .peak_capped, .spilled]' --servers 10 --count 50000 \
		--schemes ring --load-cap 2)"
same "weights count: three times the load is its due" '[true,0]' \
	"$(json '.[0] | [.peak < 1.2, .spilled]' --servers a,b=3,c --count 50000 --schemes ring \
		--load-cap 1.25)"
same "a hot key with twice the mean is what is left" true \
	"$(json '.[0].peak_capped | . >= 2 and . < 2.35' --servers 16 --count 20000 --schemes ring \
		--hot-keys 1:0.125 --load-cap 1.25)"

same "CSV has the same" "$(json '.[0] | .sets_of_3, (.peak_capped * 1e6 | round), (.spilled * 1e6 | round)' \
	"${zipf[@]}" --schemes ring)" \
	"$("$ringlb" simulate "${zipf[@]}" --schemes ring --csv |
		awk -F, 'NR == 1 { if ($15 != "sets_of_3" || $16 != "peak_capped" || $17 != "spilled") print }
			NR == 2 { printf "%d\n%.0f\n%.0f\n", $15, $16 * 1e6, $17 * 1e6 }')"
same "CSV has as many fields in each row" 17 \
	"$("$ringlb" simulate --count 1000 --csv | awk -F, '{ print NF }' | sort -u)"
same "a table has two columns more with a cap" 2 \
	$(($("$ringlb" simulate --count 1000 --load-cap 2 --schemes ring | sed 's/->//' | awk 'NR == 2 { print NF }') -
		$("$ringlb" simulate --count 1000 --schemes ring | sed 's/->//' | awk 'NR == 2 { print NF }')))

# Sets of three neighbours, as `shares -r 3` counts them; docs/ring.md has 16 and 555 of 560.
same "sets of three: as many as servers with one vnode each" 16 \
	"$(json '.[0].sets_of_3' --servers 16 --vnodes 1 --count 100 --schemes ring)"
same "the same as shares" "$("$ringlb" --json shares --servers 16 -r 3 --hash blake2b-64 |
	jq .replica_sets)" \
	"$(json '.[0].sets_of_3' --servers 16 --hash blake2b-64 --count 100 --schemes ring)"
same "others have no neighbours" '[null,null]' \
	"$(json 'map(.sets_of_3)' --count 100 --schemes modulo,rendezvous)"
same "cost: up to 10,000 servers of 200" '[10000,200,true]' \
	"$(json '.[-1] | [.servers, .vnodes, .sets_of_3 > 1900000]' --preset cost --count 100)"

# shown ARGUMENTS...: what a person sees of the progress, the last of it
shown() {
	/usr/bin/python3 -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]))' "$ringlb" simulate "$@" |
		tr '\r' '\n' | grep -E '^\[[# ]{30}\] ' | tail -n 1
}
same "progress where there is much to do" "[##############################] 6 of 6" \
	"$(shown --servers 4,5,6 --schemes ring,modulo --count 1000)"
same "also of few rows with many keys" "[##############################] 1 of 1" \
	"$(shown --servers 4 --schemes modulo --count 500000)"
same "not where it is over at once" '' "$(shown --servers 4 --schemes modulo --count 1000)"
same "nor in a file" '' "$("$ringlb" simulate --servers 4,5,6 --schemes ring,modulo --count 1000 2>&1 >/dev/null)"

fails 2 "ringlb: zipf must be 0 to 10 with at most three decimals, got 'x'" --zipf x
fails 2 "ringlb: load cap must be 1.01 to 10 with at most three decimals, got '1'" --load-cap 1
fails 2 "ringlb: hot keys must be like 5:0.3, so many with this share of the load, got '5'" \
	--hot-keys 5
fails 2 "ringlb: hot keys must be like 5:0.3, so many with this share of the load, got '0:0.1'" \
	--hot-keys 0:0.1
fails 2 "ringlb: hot keys must be like 5:0.3, so many with this share of the load, got '5:1.1'" \
	--hot-keys 5:1.1

echo "1..$n"
