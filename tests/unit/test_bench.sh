#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The packet bench works, and sees to it that each packet goes its way. What it measures in so
# short a time decides nothing.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/unit/tap.sh
. tests/unit/tap.sh

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
bench() { "${B:-build}/tests/bench/bench" "$@" >"$directory/samples" 2>"$directory/errors"; }

if bench --rounds 2 --packets 2000 'ipip v4 64k' 'ipip v6 1M' gue dr nat pass syn moving step long; then
	passed 'it runs'
else
	failed 'it runs' "$(cat "$directory/errors")"
fi
same 'it has two samples of each scene, all above 0' true \
	"$(jq '[.scenes[].ns | length == 2 and all(. > 0)] | length == 39 and all' "$directory/samples")"
report=$(tests/bench/report "$directory/samples" --json "$directory/json" --svg "$directory/svg")
same 'the report has a row for each' 39 "$(grep -c ' to ' <<<"$report")"
same 'and bars' 'not a VIP, pass' "$(jq -r '.bars[-1].what' "$directory/json")"
same 'a drawing, too' '</svg>' "$(tail -n 1 "$directory/svg")"
if "${B:-build}/tests/bench/veth" --rounds 2 --packets 2000 >"$directory/veth" 2>"$directory/errors"; then
	passed 'frames go through a veth and back'
else
	failed 'frames go through a veth and back' "$(cat "$directory/errors")"
fi
same 'two samples of each scene there' true \
	"$(jq '[.scenes[] | .ns, .core_ns | length == 2 and all(. > 0)] | length == 12 and all' "$directory/veth")"
report=$(tests/bench/report "$directory/samples" "$directory/veth" --json "$directory/json")
same 'the report has packets a second of four, beside floors' 4 "$(grep -c '%.*%' <<<"$report")"
same 'and their bar' 'veth, packets/s, ipip v4, 1M flows / floor' "$(jq -r '.bars[-1].what' "$directory/json")"
bench nonsense
same 'no such scene' "2 bench: no scene's name begins with 'nonsense'" "$? $(cat "$directory/errors")"
bench --rounds 0
same 'no rounds' "2 bench: --rounds must be 1 to 1000, got '0'" "$? $(cat "$directory/errors")"
echo "1..$n"
