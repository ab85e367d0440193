#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What ringlbd tells a service manager: that it is ready, reloads, lives and ends, in this
# order and never before it is so.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"

# What came, one field a line; each message ends with an empty line.
listen() {
	cat <<-'PYTHON'
		import socket, sys
		listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		listener.bind(sys.argv[1])
		print("listening", flush=True)
		while True:
		    print(listener.recv(4096).decode() + "\n", flush=True)
	PYTHON
}

told() { grep -qx -- "$1" "$LOG"; }
times() { grep -cx -- "$1" "$LOG"; }
more_than() { [ "$(times "$1")" -gt "$2" ]; }

# The states that were told so far, in their order, are these.
came() { is "$(grep -xE 'READY=1|RELOADING=1|STOPPING=1' "$LOG" | tr '\n' ' ')" "$1"; }
up_for() { [ "$(answer .uptime_s status)" -ge "$1" ]; }

# notified_start [SETTING...]: as a service manager does it, in the daemon's environment
notified_start() {
	topology_spawn_on_lb "$TOPOLOGY_DIR/ringlbd.log" env "NOTIFY_SOCKET=$NOTIFY" "$@" \
		"$B/ringlbd" -c "$CONFIG" -s "$SOCKET" -S "$STATE"
	DAEMON=$TOPOLOGY_PID
}

start two 2
NOTIFY=$TOPOLOGY_DIR/notify LOG=$TOPOLOGY_DIR/notified
listen >"$TOPOLOGY_DIR/listen.py"
topology_spawn lb "$LOG" python3 "$TOPOLOGY_DIR/listen.py" "$NOTIFY"
check 'somebody listens' wait_for 5 told listening

check 'a broken file: the daemon ends' refused \
	topology_on_lb env "NOTIFY_SOCKET=$NOTIFY" timeout 10 "$B/ringlbd" -c /dev/null -s "$SOCKET" -S "$STATE"
check 'and was never ready' came ''

notified_start WATCHDOG_USEC=400000
check 'it is ready' wait_for 10 told READY=1
check 'then the socket answers at once' daemon_is_ready
check 'and the data plane is up' topology_on_lb test -e "$PINS/vips"
check 'it says what it balances' told 'STATUS=interfaces 2, pools 4, backends 8, vips 9'
check 'it lives' wait_for 5 more_than WATCHDOG=1 3

check 'a backend less' ringlb backend remove b2 --pool dr4 --now
check 'is told' wait_for 5 told 'STATUS=interfaces 2, pools 4, backends 7, vips 9'
check 'reload' ringlb reload
check 'is told before and after' wait_for 5 came 'READY=1 RELOADING=1 READY=1 '
check 'with the time, for Type=notify-reload' grep -qE '^MONOTONIC_USEC=[0-9]{6,}$' "$LOG"
check 'SIGHUP' kill -HUP "$DAEMON"
check 'is told, too' wait_for 5 more_than READY=1 2
echo 'seed: none' >"$CONFIG"
check 'a reload that is refused' refused ringlb reload
check 'is over as well' wait_for 5 came \
	'READY=1 RELOADING=1 READY=1 RELOADING=1 READY=1 RELOADING=1 READY=1 '
check 'status says the same as before' is "$(grep STATUS "$LOG" | tail -n 1)" \
	'STATUS=interfaces 2, pools 4, backends 8, vips 9'
check 'SIGTERM' daemon_end TERM
check 'is told' wait_for 5 told STOPPING=1

# Nobody who waits for it: no watchdog, and no complaint that nobody listens.
write_config 2 >"$CONFIG"
lives=$(times WATCHDOG=1)
notified_start
check 'a start without a watchdog' wait_for 10 daemon_is_ready
check 'a second later' wait_for 5 up_for 1
check 'down' ringlb down
check 'it has sent no sign of life' is "$(times WATCHDOG=1)" "$lives"
finish
