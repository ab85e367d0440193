#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Health checks and what follows from them: a backend that dies leaves the ring, one that
# is mended comes back by itself, and `panic` says what happens when all are down.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"

state_is() { is "$(answer ".[] | select(.pool == \"$1\" and .name == \"$2\") | .state" backend list)" "$3"; }
share_is_zero() { answer ".[] | select(.pool == \"$1\" and .name == \"$2\") | .share" backend list | grep -qx '0\(\.0\)\?'; }
reason_is() { is "$(answer ".[] | select(.pool == \"$1\" and .name == \"$2\") | .check.reason" backend list)" "$3"; }
nginx_kill() { kill -KILL "$(<"$TOPOLOGY_DIR/$1/nginx.pid")"; }
# All of 60 new flows are answered, none of them by $2.
served_without() { [ "$(ask tcp "$1" 80 "$3" 60 | grep -c ' b')" = 60 ] && ! ask tcp "$1" 80 "$3" 60 | grep -q " $2\$"; }
served_by() { ask tcp "$1" 80 "$2" 60 | grep -q " $3\$"; }
says_once() { is "$(grep -c "backend '$1' of pool '$2' is $3" "$TOPOLOGY_DIR/ringlbd.log")" 1; }
drops() { answer '.verdicts[] | select(.name == "DROP_NO_BACKEND") | .packets' stats; }
drops_rise() { ! ask tcp "$NAT4" 80 47000 1 && [ "$(drops)" -gt "$1" ]; }

CHECK='check: {type: http, path: /, expect: 200, interval: 200ms, timeout: 100ms, rise: 2, fall: 3}'

start two 3
# The nat4 pool is asked by http, dr4 by a connection; the others are not checked.
sed -i -E "0,/^    forward: nat/s||    $CHECK\n    panic: none\n    forward: nat|" "$CONFIG"
sed -i -E '0,/^    forward: dr/s//    check: {type: tcp, port: 80, interval: 200ms, timeout: 100ms, fall: 2}\n    forward: dr/' "$CONFIG"
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 5 all_up
check 'b2 serves, nat' served_by $NAT4 40000 b2
check 'b2 serves, dr' served_by $DR4 40000 b2

check 'b2 dies' nginx_kill b2
check 'nat: it is down' wait_for 5 state_is nat4 b2 down
check 'dr: it is down' wait_for 5 state_is dr4 b2 down
check 'it owns nothing' share_is_zero nat4 b2
check 'the reason is told' reason_is nat4 b2 'connection refused'
check 'the log says so once' says_once b2 nat4 down
check 'nat: all are served, by the others' served_without $NAT4 b2 41000
check 'dr: all are served, by the others' served_without $DR4 b2 41000
check 'a pool without a check knows nothing of it' state_is nat6 b2 up

check 'kill -9' daemon_end KILL
check 'all are still served by the others' served_without $NAT4 b2 42000
check 'the daemon starts again' daemon_start
check 'and knows at once that b2 is down' state_is nat4 b2 down
check 'no flow went there' served_without $NAT4 b2 43000

topology_start_nginx b2 20
check 'b2 is mended: it comes back by itself, nat' wait_for 5 state_is nat4 b2 up
check 'dr' wait_for 5 state_is dr4 b2 up
check 'all settles' wait_for 15 settled
check 'and serves again' served_by $NAT4 44000 b2
check 'live and offline agree again' diff <(ask tcp $NAT4 80 45000 50) <(predict tcp $NAT4 80 45000 50 --config "$CONFIG")

check 'all die' eval 'nginx_kill b1; nginx_kill b2; nginx_kill b3'
check 'all are down' wait_for 5 eval 'state_is nat4 b1 down; state_is nat4 b2 down; state_is nat4 b3 down'
check 'panic none: dropped and counted' wait_for 5 drops_rise "$(drops)"
check 'panic all: sent to all as if they were up' wait_for 5 state_is dr4 b1 panic
check 'they have their shares' refused share_is_zero dr4 b1
topology_start_nginx b1 20
topology_start_nginx b2 20
topology_start_nginx b3 20
check 'all come back' wait_for 8 all_up
check 'and serve' wait_for 5 served_by $NAT4 46000 b1
finish
