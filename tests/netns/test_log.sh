#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Each change is in the log, with the command that it came from; what was done but is
# most likely not meant is said to whoever asked for it.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"

log_lines() { wc -l <"$TOPOLOGY_DIR/ringlbd.log"; }

# logs_only LINE COMMAND...: the command succeeds and adds exactly this line to the log
logs_only() {
	local line=$1 before
	shift
	before=$(log_lines)
	ringlb "$@" && diff <(tail -n +$((before + 1)) "$TOPOLOGY_DIR/ringlbd.log") <(echo "$line")
}

# says_nothing COMMAND...: nothing is added to the log
says_nothing() {
	local before
	before=$(log_lines)
	ringlb "$@"
	is "$(log_lines)" "$before"
}

# warns LINE COMMAND...: done, and the line is on stderr, alone
warns() {
	local line=$1 errors
	shift
	errors=$(ringlb "$@" 2>&1 >/dev/null) && is "$errors" "ringlb: warning: $line"
}

gone() { is "$(answer ".[] | select(.name == \"$2\") | .name" backend list --pool "$1")" ""; }

start one 2
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 5 all_up

check 'add' logs_only "ringlbd: backend.add: added backend 'b3' to pool 'nat4'" \
	backend add b3 10.77.2.12:80 --pool nat4
check 'weight' logs_only \
	"ringlbd: backend.weight: changed weight of backend 'b3' of pool 'nat4': 1 to 0.5" \
	backend weight b3 0.5 --pool nat4
check 'the same weight is no change' says_nothing backend weight b3 0.5 --pool nat4
check 'drain' logs_only "ringlbd: backend.drain: draining backend 'b3' of pool 'nat4'" \
	backend drain b3 --pool nat4
check 'undrain' logs_only "ringlbd: backend.undrain: undrained backend 'b3' of pool 'nat4'" \
	backend undrain b3 --pool nat4
check 'remove' logs_only \
	"ringlbd: backend.remove: draining backend 'b3' of pool 'nat4', to be removed" \
	backend remove b3 --pool nat4
check 'it leaves' wait_for 15 gone nat4 b3
check 'and the log says so' logged "drained: removed backend 'b3' from pool 'nat4'"
check 'vip add' logs_only "ringlbd: vip.add: added vip 10.77.100.2:81/tcp with pool 'dr4'" \
	vip add 10.77.100.2:81/tcp --pool dr4
check 'vip remove' logs_only 'ringlbd: vip.remove: removed vip 10.77.100.2:81/tcp' \
	vip remove 10.77.100.2:81/tcp
check 'what is refused is not logged' says_nothing backend weight b9 1 --pool nat4
check 'nor what only looks' says_nothing status

check 'remove at once' logs_only "ringlbd: backend.remove: removed backend 'b2' from pool 'dr4'" \
	backend remove b2 --pool dr4 --now
check 'reload' logs_only "ringlbd: reload: added backend 'b2' to pool 'dr4'" reload
check 'a reload of what is so already' says_nothing reload
sed -i 's/learn_tcp: 1s/learn_tcp: 2s/' "$CONFIG"
check 'SIGHUP' kill -HUP "$DAEMON"
check 'times are changes, too' wait_for 5 logged 'SIGHUP: changed flows.learn_tcp: 1s to 2s'
check 'save' logs_only "ringlbd: save: wrote '$CONFIG'" save

check 'a backend that does not drain' warns "backend 'b1' of pool 'nat4' was not draining" \
	backend undrain b1 --pool nat4
check '--json has that inside' is "$(answer '.warnings[0]' backend undrain b1 --pool nat4)" \
	"backend 'b1' of pool 'nat4' was not draining"
check 'one of two drains' ringlb backend drain b1 --pool nat4
none="pool 'nat4' has no backend that takes new flows: they are dropped"
check 'the last one drains' warns "$none" backend drain b2 --pool nat4
check 'it does' is "$(answer '[.[] | select(.share > 0)] | length' backend list --pool nat4)" 0
check 'the log has the warning' logged "backend.drain: warning: $none"
check 'one is back' ringlb backend undrain b1 --pool nat4
check 'the other one is back' ringlb backend undrain b2 --pool nat4
check 'weight 0' ringlb backend weight b1 0 --pool nat4
check 'the last weight' warns "$none" backend weight b2 0 --pool nat4
check 'a removal but one' ringlb backend remove b1 --pool dr6 --now
check 'the last one is removed' warns "${none/nat4/dr6}" backend remove b2 --pool dr6 --now
check 'now and timeout together' is "$(printf '%s\n' \
	'{"command": "backend.remove", "pool": "nat4", "name": "b1", "now": "yes", "timeout": "1s"}' |
	topology_on_lb timeout 5 /usr/bin/python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(sys.stdin.buffer.read())
print(s.makefile().readline(), end="")' "$SOCKET" | jq -r .error)" 'now and timeout exclude each other'
check 'down is logged' ringlb down
check 'as the last thing' wait_for 5 logged 'down: took everything out of the kernel'
finish
