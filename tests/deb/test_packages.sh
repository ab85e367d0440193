#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The life of the packages on a load balancer and on a backend: install, start, reload, crash,
# hang, upgrade under traffic, remove, purge. tests/deb/run sets the scene.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/../netns/lib.sh"

VERSION=$RINGLB_TEST_VERSION
FIRST=$(cd "$RINGLB_TEST_DEBS" && pwd) NEXT=$FIRST/next

# ---- the container ----

container_start() {
	mkdir "$TOPOLOGY_DIR/container"
	topology_spawn lb "$TOPOLOGY_DIR/container.log" \
		"$ROOT/tests/deb/container" "$RINGLB_TEST_ROOT" "$TOPOLOGY_DIR/container"
	CONTAINER=$TOPOLOGY_PID
	wait_for 20 container_is_up
}

# Its process 1, seen from here, and what systemd says of itself.
container_is_up() {
	INIT=$(xargs <"/proc/$CONTAINER/task/$CONTAINER/children") && [ "$INIT" ] &&
		is "$(inside systemctl is-system-running)" running
}

inside() {
	nsenter --target "$INIT" --mount --pid --net --ipc --uts --root --wd -- \
		env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@"
}

apt() { inside apt-get -qy --no-install-recommends "$@" </dev/null; }

# install DIR PACKAGE: of the packages in DIR
install_package() {
	cp "$1/$2"_*.deb "/proc/$INIT/root/root/$2.deb" && apt install "/root/$2.deb"
}

property() { inside systemctl show -P "$1" "${2:-ringlbd}"; }
property_is() { is "$(property "$1" "${3:-ringlbd}")" "$2"; }
restarted() { [ "$(property NRestarts)" -gt "$1" ] && property_is ActiveState active; }

attached() { topology_in lb ip link show | grep -c 'prog/xdp'; }
program_id() { topology_in lb ip -j link show eth0 | jq '.[0].xdp.prog.id'; }

# What the kernel says of the daemon: proc_is FIELD VALUE
proc_is() { is "$(inside sed -n "s/^$1:\s*//p" "/proc/$(property MainPID)/status")" "$2"; }
capabilities() { echo $((16#$(inside sed -n 's/^CapBnd:\s*//p' "/proc/$(property MainPID)/status"))); }
signal() { inside sh -c "kill -$1 $(property MainPID)"; }

# As the daemon would: with its files, and so with what is executable for it.
cannot_execute() {
	local daemon
	daemon=/proc/$INIT/root/proc/$(property MainPID)
	nsenter --mount="$daemon/ns/mnt" --root="$daemon/root" -- "$@" 2>&1 |
		grep "failed to execute $1: Permission denied"
}

journal_has() { inside journalctl --no-pager -o cat -u ringlbd "RINGLB_EVENT=$1" | grep -v '^-- No entries'; }

works() { diff <(ask tcp "$1" 80 "$2" 30) <(predict tcp "$1" 80 "$2" 30); }

# What of ours is in the container, but for what dpkg and the journal remember.
files() {
	inside find / -xdev '(' -name '*ringlb*' -o -name xdp ')' \
		-not -path '/root/*' -not -path '/proc/*' -not -path '/sys/class/*' \
		-not -path '/var/lib/dpkg/info/*' -not -path '/var/cache/*' -not -path '/var/log/*'
	inside getent group ringlb
	inside sh -c 'ls /sys/fs/bpf/ringlb' 2>/dev/null
}

# systemd has made control groups below its own, and is not gone as soon as it is killed.
remove_groups() {
	local group
	group=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)/${TOPOLOGY_DIR##*/}
	find "$group" -depth -type d -exec rmdir {} +
	[ ! -e "$group" ]
}

# lib.sh shows the end of that file if something failed.
container_clean_up() {
	inside journalctl --no-pager -o cat -u ringlbd -u ringlb-backend@eth0 >"$TOPOLOGY_DIR/ringlbd.log"
	kill -KILL "$INIT"
	check 'no control group is left over' wait_for 5 remove_groups
	clean_up
}

start two 3
trap container_clean_up EXIT
check 'a container with systemd' container_start

# ---- install ----

check 'install ringlb' install_package "$FIRST" ringlb
check 'it is enabled' property_is UnitFileState enabled
check 'it waits for a configuration' property_is ConditionResult no
check 'and does nothing' is "$(attached)" 0
check 'group ringlb is there' inside getent group ringlb
check 'its unit is sound' is "$(inside systemd-analyze verify --man=no ringlbd.service 2>&1)" ''

install -m 600 "$CONFIG" "/proc/$INIT/root/etc/ringlb/ringlb.yaml"
CONFIG=/proc/$INIT/root/etc/ringlb/ringlb.yaml SOCKET=/proc/$INIT/root/run/ringlb/ringlb.sock
check 'start' inside systemctl start ringlbd
check 'it is active as soon as start returns' property_is ActiveState active
check 'and says what it does' property_is StatusText 'interfaces 2, pools 4, backends 12, vips 9'
check 'all backends are up' wait_for 5 all_up
check 'it balances' works $NAT4 20000
check 'the socket is the group'\''s' is \
	"$(inside stat -c '%U %G %a' /run/ringlb/ringlb.sock)" 'root ringlb 660'

# ---- hardening ----

# CAP_NET_ADMIN is 12, CAP_NET_RAW 13, CAP_SYS_ADMIN 21.
check 'it has three capabilities' is "$(capabilities)" $((1 << 12 | 1 << 13 | 1 << 21))
check 'and can gain none' proc_is NoNewPrivs 1
check 'and a filter of system calls' proc_is Seccomp 2
check 'it has no shell' cannot_execute /bin/sh -c true
exposure=$(inside systemd-analyze security --no-pager ringlbd | sed -nE 's/.*exposure level.*: ([0-9.]+) .*/\1/p')
check "exposure, of systemd-analyze security, is $exposure, at most 3" awk "BEGIN { exit !(${exposure:-9} <= 3) }"

# ---- changes ----

sed -i '0,/name: b2/s//&\n        weight: 0.5/' "$CONFIG"
check 'reload' inside systemctl reload ringlbd
check 'changes the weight' is "$(answer '[.[] | select(.name == "b2") | .weight] | unique | @csv' backend list)" '"0.5","1"'
check 'and is an event in the journal' wait_for 5 journal_has changed
check 'no event has another name' refused journal_has nonsense
cp "$CONFIG" "$TOPOLOGY_DIR/good"
echo 'seed: none' >"$CONFIG"
check 'a broken file: reload fails' refused inside systemctl reload ringlbd
check 'and it runs on' property_is ActiveState active
cp "$TOPOLOGY_DIR/good" "$CONFIG"
check 'a change' inside ringlb backend weight b3 0.25 --pool nat4
check 'save' inside ringlb save
check 'is in the file' grep -q 'weight: 0.25' "$CONFIG"

# ---- crashes and hangs ----

check 'nothing moves any more' wait_for 15 settled
stream_start crash tcp $NAT4 80 21000-22000
restarts=$(property NRestarts)
check 'kill -9' signal KILL
check 'it is started again' wait_for 10 restarted "$restarts"
inside mkdir -p /run/systemd/system/ringlbd.service.d
printf '[Service]\nWatchdogSec=500ms\nTimeoutAbortSec=1\n' |
	inside tee /run/systemd/system/ringlbd.service.d/watchdog.conf >/dev/null
inside systemctl daemon-reload
check 'restart with a short watchdog' inside systemctl restart ringlbd
restarts=$(property NRestarts)
check 'it hangs' signal STOP
check 'it is started again' wait_for 15 restarted "$restarts"
check 'no request failed meanwhile' stream_end crash
inside rm -r /run/systemd/system/ringlbd.service.d
inside systemctl daemon-reload
check 'restart' inside systemctl restart ringlbd
check 'it is there' property_is ActiveState active

# ---- upgrade ----

stream_start nat tcp $NAT4 80 23000-24000
stream_start nat-udp udp $NAT6 7000 23000-24000
stream_start dr tcp $DR6 80 23000-24000
stream_start dr-udp udp $DR4 7000 23000-24000
download_start big $NAT4 4M
download_start big6 $DR6 4M
before=$(program_id)
check 'upgrade' install_package "$NEXT" ringlb
check 'the new version runs' is "$(answer .version status)" "$VERSION+1"
check 'with its own program' refused is "$(program_id)" "$before"
check 'the configuration is as it was' grep -q 'weight: 0.25' "$CONFIG"
for name in nat nat-udp dr dr-udp; do
	check "upgrade: no packet is lost ($name)" stream_end "$name"
done
check 'upgrade: a download goes on (nat)' download_end big
check 'upgrade: a download goes on (dr)' download_end big6

# ---- stop and remove ----

check 'stop' inside systemctl stop ringlbd
check 'it balances without the daemon' is "$(ask tcp $NAT4 80 25000 30 | grep -c ' b')" 30
check 'remove' apt remove ringlb
check 'nothing is in the kernel' is "$(attached)" 0
check 'the configuration stays' test -e "$CONFIG"
check 'purge' apt purge ringlb
check 'nothing is left' is "$(files)" ''

# ---- a backend ----

check 'install ringlb-backend' install_package "$FIRST" ringlb-backend
check 'nothing is attached' is "$(attached)" 0
check 'its unit is sound' is "$(inside systemd-analyze verify --man=no ringlb-backend@eth0.service 2>&1)" ''
check 'without options it does not start' refused inside systemctl start ringlb-backend@eth0
printf 'OPTIONS="--vip %s %s --from 198.18.0.0/16"\n' $DR4 $DR6 | inside tee /etc/default/ringlb-backend >/dev/null
check 'with options it does' inside systemctl start ringlb-backend@eth0
check 'nothing is wrong' inside ringlb-backend check
check 'reload' inside systemctl reload ringlb-backend@eth0
before=$(program_id)
check 'upgrade' install_package "$NEXT" ringlb-backend
check 'what is attached stays' is "$(program_id)" "$before"
check 'the options stay' inside grep -q $DR4 /etc/default/ringlb-backend
check 'stop' inside systemctl stop ringlb-backend@eth0
check 'detaches' is "$(attached)" 0
check 'start' inside systemctl start ringlb-backend@eth0
check 'another one by hand' inside ringlb-backend attach eth1 --vip $DR4 --mode ipip
check 'both are there' is "$(attached)" 2
check 'purge' apt purge ringlb-backend
check 'nothing is in the kernel' is "$(attached)" 0
check 'no VIP is on lo' is "$(topology_in lb ip -br address show lo | grep -c 10.77.100)" 0
check 'nothing is left' is "$(files)" ''
finish
