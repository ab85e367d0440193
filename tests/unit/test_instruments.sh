#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The ring as an instrument: `ringlb owner`, `prefer`, `shares`, `plan` and `simulate`
# give the figures that have been published for known hashes, digit by digit.
#
# Usage: tests/unit/test_instruments.sh        B=DIR: where ringlb was built (build)
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
	"$ringlb" --json "$@" | jq -c "$filter"
}

# fails STATUS LINE ARGUMENTS...
fails() {
	local status=$1 line=$2
	shift 2
	"$ringlb" "$@" >"$T/out" 2>"$T/err"
	same "refused: ringlb $*" "$status $line" "$? $(cat "$T/out" "$T/err")"
}

# --- A: a toy ring of 100 places, positions given -------------------------------
toy=s0@15,s1@40,s2@65,s3@90
same "A: owners" '["s0","s1","s2","s3"]' \
	"$(json 'map(.owner)' owner 5 30 55 80 --points $toy --top 99)"
same "A: an exact hit, and across the top" '["s0","s0","s0"]' \
	"$(json 'map(.owner)' owner 15 91 0 --points $toy --top 99)"
same "A: s4 joins at 10" '["s4","s1","s2","s3","s4","s4","s0","s0"]' \
	"$(json 'map(.owner)' owner 5 30 55 80 91 10 11 15 --points $toy,s4@10 --top 99)"
same "A: s1 leaves" '["s0","s2","s2","s3","s0","s2","s2"]' \
	"$(json 'map(.owner)' owner 5 30 55 80 15 16 40 --points s0@15,s2@65,s3@90 --top 99)"
same "A: s4 takes (90, 10] from s0" '[["91","10","s0","s4"]]' \
	"$(json '[.ranges[] | [.first, .last, .from, .to]]' plan --ranges --top 99 \
		--points $toy --to $toy,s4@10)"
same "A: s2 takes (15, 40] from s1" '[["16","40","s1","s2"]]' \
	"$(json '[.ranges[] | [.first, .last, .from, .to]]' plan --ranges --top 99 \
		--points $toy --to s0@15,s2@65,s3@90)"

# --- B: modulo, hashes given ----------------------------------------------------
hashes="18358617 26143584 18131146 35863496 34085809 27581703 38164978 22530351"
# shellcheck disable=SC2086 # they are words
same "B: 4 -> 3 moves six of eight" '[6,8]' \
	"$(json '.[0] | [.moved, .count]' simulate --schemes modulo --hash given \
		--servers 4 --to 3 $hashes)"
before=() after=()
for hash in $hashes; do
	before+=("$(json '.[0].keys | to_entries[] | select(.value == 1).key' simulate \
		--schemes modulo --hash given --servers 4 --to 3 "$hash")")
	after+=("$(json '.[0].keys_after | to_entries[] | select(.value == 1).key' simulate \
		--schemes modulo --hash given --servers 4 --to 3 "$hash")")
done
moved=
for i in "${!before[@]}"; do
	[ "${before[i]}" = "${after[i]}" ] || moved+=" key$i"
done
same "B: which ones" " key0 key2 key3 key5 key6 key7" "$moved"

# --- C, D, E: MD5 and BLAKE2b -----------------------------------------------------
same "C: modulo and ring" '[["modulo",7975],["ring",1985]]' \
	"$(json 'map([.scheme, .moved])' simulate --preset md5-32)"
same "C: every moved key goes to s4" '[0]' \
	"$(json 'map(.astray)' simulate --preset md5-32 --schemes ring)"

rows=$(json 'map([.vnodes, .keys.s0, .keys.s1, .keys.s2, .keys.s3, .moved, .astray])' \
	simulate --preset md5-mod32)
same "D: keys and movement for V = 1, 10, 100, 200" \
	'[[1,290,307,156,247,125,0],[10,165,339,235,261,251,0],[100,277,249,241,233,214,0],[200,243,268,236,253,189,0]]' \
	"$rows"

same "E: ring and modulo, 16 -> 17" '[["modulo",188120,0.9406],["ring",11851,0.0593]]' \
	"$(json 'map([.scheme, .moved, (.fraction * 10000 | round / 10000)])' \
		simulate --preset blake2b-64)"
same "E: every moved key goes to s16" '[0]' \
	"$(json 'map(.astray)' simulate --preset blake2b-64 --schemes ring)"
same "E: keys before the join" \
	'[13862,13449,12457,12727,13306,11679,13225,12257,12785,12253,11562,11439,12015,12410,12267,12307]' \
	"$(json '[.[0].keys[]]' simulate --preset blake2b-64 --schemes ring)"
e=(--servers 16 --hash blake2b-64)
same "E: position of s0, and peak over mean" '[0.068941,1.1031]' \
	"$(json '[(.backends[] | select(.backend == "s0").share * 1e6 | round / 1e6),
		(.peak * 1e4 | round / 1e4)]' shares "${e[@]}")"
same "E: preference lists" "s6 s0 s15
s15 s11 s9" "$("$ringlb" prefer user:8842 -r 3 "${e[@]}"; "$ringlb" prefer key:0 -r 3 "${e[@]}")"
same "E: replica sets at V = 200 and 1" '[555,560] [16,560]' \
	"$(json '[.replica_sets, .possible_sets]' shares -r 3 "${e[@]}") $(json \
		'[.replica_sets, .possible_sets]' shares -r 3 "${e[@]}" --vnodes 1)"
same "E: the first three positions, and the last" \
	'[["0x0010bfb3a168d2a3","s0"],["0x001a06865bcf7b5b","s13"],["0x002414381a88fcdc","s10"],["0xfffa8cdac1e2122c","s0"]]' \
	"$(json '.positions_listed[0:3] + .positions_listed[-1:]' shares --positions "${e[@]}")"

# --- F: closed forms --------------------------------------------------------------
same "F: 16 -> 17" '[0.0588,0.9412]' \
	"$(json '[.least, .modulo] | map(. * 1e4 | round / 1e4)' plan --to 17 --servers 16)"
same "F: 16 -> 18 at once" '[0.1111]' \
	"$(json '[.least] | map(. * 1e4 | round / 1e4)' plan --to 18 --servers 16)"
same "F: 16 -> 18, one by one" '0.1144' \
	"$(json '.least_one_by_one * 1e4 | round / 1e4' plan add:s16 add:s17 --servers 16)"
same "F: removing one of 16" '0.0625' "$(json '.least * 1e4 | round / 1e4' plan remove:s3 --servers 16)"
cv=
for v in 1 4 16 64 100 128 150 200 256 1000; do
	cv+=" $(json '.expected_cv * 1e4 | round / 1e4' shares --servers 16 --vnodes $v)"
done
same "F: CV of the shares, N = 16" \
	" 0.9393 0.4804 0.2416 0.121 0.0968 0.0856 0.079 0.0685 0.0605 0.0306" \
	"$cv"
same "F: positions and their memory, 16 x 200" '[3200,25600]' \
	"$(json '[.positions, .positions * 8]' shares --servers 16)"

# --- Jump: the outputs of the code in its paper ------------------------------------
jumps=
while read -r key buckets bucket; do
	owner=$(json '.[0].keys | to_entries[] | select(.value == 1).key' simulate \
		--schemes jump --hash given --servers "$buckets" "$key")
	[ "$owner" = "\"s$bucket\"" ] || jumps+=" $key/$buckets: $owner"
done <<-'END'
	1 1 0
	42 57 43
	0xdead10cc 1 0
	0xdead10cc 666 361
	256 1024 520
END
same "jump: known outputs" "" "$jumps"

# --- Properties of the others ---------------------------------------------------------
same "no scheme that moves the least moves keys astray" \
	'[["ring",0],["capped",0],["jump",0],["rendezvous",0],["multi-probe",0]]' \
	"$(json 'map([.scheme, .astray])' simulate --servers 16 --count 50000 \
		--schemes ring,capped,jump,rendezvous,multi-probe)"
same "maglev: nearly even, a few keys astray" '[true,true,true]' \
	"$(json '.[0] | [.peak < 1.02, .astray > 0, .astray < 0.01 * .count]' simulate \
		--servers 16 --count 400000 --schemes maglev)"
same "weights are kept by all that know them" '[true,true,true,true,true]' \
	"$(json 'map(.keys.b / .keys.a | . > 2.4 and . < 3.6)' simulate --servers a,b=3 --to a,b=3,c \
		--count 100000 --vnodes 1000 --schemes ring,capped,rendezvous,maglev,multi-probe)"

# --- A configuration file, and racks ------------------------------------------------------
cat >"$T/config.yaml" <<-'END'
	seed: 7
	interfaces: [{name: eth0}]
	pools:
	  - name: web
	    forward: dr
	    backends:
	      - {name: a1, address: 10.0.0.1, rack: a}
	      - {name: a2, address: 10.0.0.2, rack: a}
	      - {name: a3, address: 10.0.0.3, rack: a}
	      - {name: b1, address: 10.0.0.4, rack: b}
	      - {name: c1, address: 10.0.0.5, rack: c}
	  - {name: idle, forward: dr}
END
file=(--config "$T/config.yaml" --pool web)
spread=
for i in {1..100}; do
	spread+=$("$ringlb" prefer "key:$i" -r 3 --spread rack "${file[@]}" | tr -d '0-9\n ' |
		fold -w1 | sort | tr -d '\n')
done
same "spread: three replicas in three racks" "$(printf 'abc%.0s' {1..100})" "$spread"
lists=$(for i in {1..100}; do "$ringlb" prefer "key:$i" -r 3 "${file[@]}"; done)
same "without: some keys have two in one rack" true \
	"$(grep -qE 'a. (.. )?a.' <<<"$lists" && echo true)"
same "more replicas than racks: all are used" 5 \
	"$("$ringlb" prefer key:1 -r 5 --spread rack "${file[@]}" | wc -w)"
same "spread: fewer sets" true \
	"$(jq -n "$(json .replica_sets shares "${file[@]}" --spread rack) < $(json .replica_sets \
		shares "${file[@]}")")"
same "the owner that a file gives a key is that of the same fleet by hand" \
	"$(json '[.[].owner]' owner k1 k2 k3 k4 "${file[@]}")" \
	"$(json '[.[].owner]' owner k1 k2 k3 k4 --servers a1,a2,a3,b1,c1 --seed 7)"

# --- Plans ----------------------------------------------------------------------------
same "several changes at once move no more than one by one" true \
	"$(json '.moved <= .one_by_one' plan add:a add:b remove:s3 weight:s4=2 --servers 16)"
same "what moves, from whom to whom, adds up" true \
	"$(json '([.moves[].share] | add) - .moved | fabs < 1e-9' plan drain:s3 --servers 16)"
same "a drained backend gives all it has" '["s3"]' \
	"$(json '[.moves[].from] | unique' plan drain:s3 --servers 16)"
same "capped: within epsilon after the change" true \
	"$(json '.peak_after <= 1.02' plan remove:s3 --servers 50 --placement capped --cells 262144)"

# --- Pictures -------------------------------------------------------------------------
# elements FILE NAME: how many there are, if it is well-formed
elements() {
	/usr/bin/python3 -c 'import sys, xml.etree.ElementTree as tree
print(sum(e.tag.endswith("}" + sys.argv[2]) for e in tree.parse(sys.argv[1]).iter()))' "$@"
}
"$ringlb" shares --servers 'a,b=2,c' --svg "$T/shares.svg" >"$T/text"
same "shares: a column for each, on a ground" 4 "$(elements "$T/shares.svg" rect)"
same "and the text is there as well" 1 "$(grep -c peak/mean "$T/text")"
"$ringlb" plan add:x --servers 300 --svg "$T/plan.svg" >/dev/null
same "plan: arcs of 300 backends, and what moves" true \
	"$([ "$(elements "$T/plan.svg" path)" -gt 500 ] && echo true)"
"$ringlb" simulate --servers 4,16 --count 1000 --schemes ring,modulo --svg "$T/lines.svg" >/dev/null
same "simulate: a line for each scheme, and theory" 3 "$(elements "$T/lines.svg" polyline)"
fails 1 "ringlb: cannot write '$T/none/x.svg': No such file or directory" simulate --servers 4 \
	--count 10 --schemes ring --svg "$T/none/x.svg"

fails 1 "ringlb: cannot reach ringlbd at '$T/none': No such file or directory (is ringlbd running?); --config FILE or --servers LIST need no daemon" \
	--socket "$T/none" shares
fails 2 "ringlb: hash must be xxh64, md5-32, md5-mod32, blake2b-64 or given, got 'sha1'" \
	owner a --servers 3 --hash sha1
same "plan: only ringlbd remembers flows" '[false,true]' \
	"$(json '[has("flows_remembered", "flows_tracked")]' plan add:x --servers 3 --flows 100)"
fails 2 "ringlb: change must be add:NAME, add:NAME=WEIGHT, remove:NAME, drain:NAME or weight:NAME=WEIGHT, got 'remove:s1=2'" \
	plan remove:s1=2 --servers 3
fails 1 "ringlb: there is no backend 'x'" plan remove:x --servers 3
fails 1 "ringlb: backend 's1' exists already" plan add:s1 --servers 3
fails 1 "ringlb: 256 cells are too few for 200 servers within epsilon; raise --cells or --epsilon" \
	shares --servers 200 --placement capped --cells 256
fails 2 "ringlb: schemes must be a list of modulo, ring, capped, jump, rendezvous, maglev, multi-probe, got 'ketama'" \
	simulate --schemes ketama
fails 2 "ringlb: preset must be one of md5-32, md5-mod32, blake2b-64, 10-to-11, 4-to-5, movement, vnodes, cost, got 'x'" \
	simulate --preset x

echo "1..$n"
