#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What the README and docs/ show is understood: pieces of configurations, and commands.
#
# Usage: tests/unit/test_examples.sh        B=DIR: where the programs are (build)
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build}")
export LC_ALL=C

T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT
trap 'exit 1' INT TERM

# shellcheck source=tests/unit/tap.sh
. tests/unit/tap.sh
# shellcheck source=tests/unit/examples.sh
. tests/unit/examples.sh
mkdir "$T/examples"
examples_prepare "$T/examples"

# Blocks of a page that are YAML, each in a file of its own: FILE.1, FILE.2
pieces() {
	awk -v to="$2" '
		/^    (seed|interfaces|flows|encap|pools|vips):/ { if (!on) close(to "." n++); on = 1 }
		!/^    / { on = 0 }
		on { print substr($0, 5) > (to "." n) }' "$1"
}

# What a piece leaves out, as little of it as there may be.
completed() {
	local name
	cat "$1"
	grep -q '^seed:' "$1" || echo 'seed: 1'
	grep -q '^interfaces:' "$1" || echo 'interfaces: [{name: eth0}]'
	grep -q '^pools:' "$1" && return
	echo 'pools:'
	grep -oE 'pool: [a-z0-9-]+' "$1" | sort -u | while read -r _ name; do echo "  - {name: $name, forward: dr}"; done
}

for page in README.md docs/*.md; do
	name=${page##*/}
	pieces "$page" "$T/$name"
	for piece in "$T/$name".[0-9]*; do
		[ -e "$piece" ] || continue
		completed "$piece" >"$T/whole.yaml"
		same "$page: configuration ${piece##*.} is accepted" '' "$("$B/ringlb" check "$T/whole.yaml" 2>&1 >/dev/null)"
	done
done
same 'there were configurations' yes "$([ "$n" -ge 4 ] && echo yes)"
same 'docs/ringlb.example.yaml is accepted' '' "$("$B/ringlb" check docs/ringlb.example.yaml 2>&1 >/dev/null)"

before=$n
examples_run < <(sed -n 's/^    \(ringlb\(-backend\)\{0,1\} \)/\1/p' README.md docs/*.md)
same 'there were commands' yes "$([ $((n - before)) -gt 20 ] && echo yes)"
echo "1..$n"
