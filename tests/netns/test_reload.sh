#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The file changes under traffic: backends join, leave and change weight, a VIP comes.
# Whoever is not concerned notices nothing.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"

# The default configuration with the pools nat4 and dr4 of the arguments "N..." each.
write_pools() {
	config_interfaces
	config_soon
	echo 'pools:'
	# shellcheck disable=SC2086 # numbers
	{
		config_pool nat4 nat 10.77.2. 8080 $1
		config_pool dr4 dr 10.77.2. 0 $2
		config_pool dr6 dr fd77:2:: 0 1 2 3
	}
	echo 'vips:'
	config_vip $NAT4 tcp 80 nat4
	config_vip $DR4 tcp 80 dr4
	config_vip $DR6 tcp 80 dr6
	config_vip $DR6 udp 7000 dr6
}

# The source ports whose backend is the same in both files: unconcerned VIP OLD NEW
unconcerned() {
	join <(predict tcp "$1" 80 30000 100 --config "$2") \
		<(predict tcp "$1" 80 30000 100 --config "$3") | awk '$2 == $3 { print $1 }'
}

# Between a tenth and nine tenths of the flows: else this test would show nothing.
some() { [ "$1" -gt 10 ] && [ "$1" -lt 90 ]; }

agrees() { diff <(ask tcp "$1" 80 40000 50) <(predict tcp "$1" 80 40000 50 --config "$2"); }

reloads() { grep -c "reloaded '" "$TOPOLOGY_DIR/ringlbd.log"; }
reloaded_more_than() { [ "$(reloads)" -gt "$1" ]; }
no_backend_drops() {
	answer '.verdicts[] | select(.name | endswith("NO_BACKEND")) | .packets' stats | grep -vx 0
}

# Every difference is told, in the spelling of the file.
tells() {
	local word
	for word in "$@"; do
		grep -F -- "$word" <<<"$TOLD" || {
			echo "no '$word' in: $TOLD"
			return 1
		}
	done
}

start two 4
OLD=$TOPOLOGY_DIR/old.yaml NEW=$TOPOLOGY_DIR/new.yaml
write_pools '1 2 3' '1 2 3' >"$OLD"
write_pools '1 2 4' '1 2 3 4' | sed -E '0,/name: b2/s//&\n        weight: 0.5/' >"$NEW"
config_vip $DR4 tcp 8080 dr4 >>"$NEW"
cp "$OLD" "$CONFIG"
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 5 all_up

nat_ports=$(unconcerned $NAT4 "$OLD" "$NEW")
dr_ports=$(unconcerned $DR4 "$OLD" "$NEW")
check 'the change concerns some flows of the nat pool' some "$(wc -w <<<"$nat_ports")"
check 'the change concerns some flows of the dr pool' some "$(wc -w <<<"$dr_ports")"

# The last one is for the download, as two connections cannot share a port.
download_port=$(tail -n 1 <<<"$nat_ports")
nat_ports=$(head -n -1 <<<"$nat_ports") dr_ports=$(grep -v "$download_port" <<<"$dr_ports")
# shellcheck disable=SC2086 # ports
{
	stream_start nat tcp $NAT4 80 $nat_ports
	stream_start dr tcp $DR4 80 $dr_ports
}
stream_start other-tcp tcp $DR6 80 31000-31999
stream_start other-udp udp $DR6 7000 31000-31999
download_start big $NAT4 8M --local-port "$download_port"
download_start other $DR6 8M

for round in 1 2; do
	cp "$NEW" "$CONFIG"
	TOLD=$(ringlb reload 2>&1)
	check "round $round: it settles" wait_for 15 settled
	check "round $round: the new file is live" agrees $NAT4 "$NEW"
	check "round $round: what changed is told" tells b3 b4 0.5 10.77.100.2:8080/tcp
	cp "$OLD" "$CONFIG"
	reloads=$(reloads)
	kill -HUP "$DAEMON"
	check "round $round: SIGHUP reloads too" wait_for 3 reloaded_more_than "$reloads"
	check "round $round: it settles again" wait_for 15 settled
	check "round $round: the old file is live" agrees $DR4 "$OLD"
done

check 'nat, backends that stay: no error' stream_end nat
check 'dr, backends that stay: no error' stream_end dr
check 'another VIP, TCP: no error' stream_end other-tcp
check 'another VIP, UDP: no error' stream_end other-udp
check 'download through nat' download_end big
check 'download through dr' download_end other

# A pool may go to nothing and come back.
sed '/^  - name: dr4/,/^  - name: dr6/{/backends:/,/address: "10.77.2.13"/d}' "$OLD" >"$CONFIG"
check 'a pool without backends' ringlb reload
check 'its backends have drained' wait_for 15 settled
check 'has no answers' refused ask tcp $DR4 80 42000 1
check 'and says so' no_backend_drops
check 'another VIP goes on' agrees $NAT4 "$OLD"
cp "$OLD" "$CONFIG"
check 'backends come back' ringlb reload
check 'and settle' wait_for 15 settled
check 'and answer' agrees $DR4 "$OLD"

sed -i 's/^flows:/flows:\n  established: 4096/' "$CONFIG"
check 'reload: another size of a flow table is said to come later' \
	is "$(answer '.changes[] | select(test("flows.established")) | test("ringlb down")' reload)" true
check 'status has the size that is and the one that was asked for' \
	is "$(answer '.tables[] | select(.name == "established") | [.size != .configured, .configured] |
		@csv' status)" 'true,4096'
check 'down' ringlb down
check 'the daemon starts' daemon_start
check 'now it is that size' \
	is "$(answer '.tables[] | select(.name == "established") | .size' status)" 4096
finish
