#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What operators of other balancers ran into has numbers, and each has a test with its number
# in the name, "case 9: ..." or case_9_...: 1 to 6 are path MTU and ICMP, 7 to 12 fragments and
# headers, 30 to 41 the network around the balancer.
cd "$(dirname "$0")/../.." || exit 1

count=0 failed=0
for number in {1..12} {30..41}; do
	count=$((count + 1))
	where=$(grep -rlE "[\"']case $number: |case_${number}_" tests --include='test_*' --include='*.sh' | sort | xargs)
	if [ -n "$where" ]; then
		echo "ok $count - case $number: $where"
	else
		echo "not ok $count - case $number has no test of its name"
		failed=1
	fi
done
echo "1..$count"
exit $failed
