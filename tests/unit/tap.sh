# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Test results of a shell script, in TAP. To be sourced; the last line has to print the plan, 1..$n.

n=0

passed() {
	n=$((n + 1))
	echo "ok $n - $1"
}

# failed NAME [LINES]
failed() {
	n=$((n + 1))
	echo "not ok $n - $1"
	printf '%s\n' "${2:-}" | sed 's/^/# /'
}

# same NAME EXPECTED GOT
same() {
	if [ "$2" = "$3" ]; then
		passed "$1"
	else
		failed "$1" "expected:
$2
got:
$3"
	fi
}
