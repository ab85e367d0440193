#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The demo does what the README says, from its very first request on.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/unit/tap.sh
. tests/unit/tap.sh

shown=$(scripts/demo 2>&1)
same 'it ends well' 0 $?

# says WHAT PATTERN N: so many lines of what it showed are like that
says() {
	if [ "$(grep -cE "$2" <<<"$shown")" = "$3" ]; then
		passed "$1"
	else
		failed "$1" "$shown"
	fi
}

says 'four VIPs answered all requests' '^   (nat|dr) +http://[^ ]+( +[1-9][0-9]*){3} +0$' 4
says 'lookup says who answered' 'and (web[123]) it was$' 1
says 'nothing failed when a backend joined' '^     failed +0$' 1
says 'no flow moved between old backends' '^ +answered by another, or not at all +0$' 1
echo "1..$n"
