# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# {nat, dr} x {IPv4, IPv6} x {TCP, UDP} in one shape of the network. Who answers is who
# the ring says, live and from the file; shares and counters agree with what was sent.

# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"

FIRST=20000
COUNT=300
SAMPLE=50
# Three backends, sorted: what a share may be off by, in standard deviations.
SIGMAS=4

# The first SAMPLE lines of who answered are what ringlb lookup says.
answers_are() {
	diff <(head -n $SAMPLE "$1") <(predict "${@:2:3}" $FIRST $SAMPLE "${@:5}")
}

# Everybody got an answer from somebody.
all_answered() {
	is "$(wc -l <"$1")" $COUNT && ! grep -- ' -$' "$1"
}

# shares_fit FILE POOL: each backend served its exact share, within chance
shares_fit() {
	local name share served
	while read -r name share; do
		served=$(grep -c " $name\$" "$1")
		echo "$name served $served of $COUNT, share $share"
		awk -v n=$COUNT -v p="$share" -v k="$served" -v s=$SIGMAS \
			'BEGIN { d = k - n * p; exit d * d > s * s * n * p * (1 - p) }' || return 1
	done < <(answer '.[] | "\(.name) \(.share)"' backend list --pool "$2")
}

shares_sum_to_one() {
	answer 'group_by(.pool)[] | map(.share) | add' backend list |
		awk '{ n++; if ($1 < 0.999999 || $1 > 1.000001) exit 1 } END { exit n != 4 }'
}

vip_packets() { answer ".[] | select(.vip == \"$1\") | .packets" vip list; }
vip_bytes() { answer ".[] | select(.vip == \"$1\") | .bytes" vip list; }
verdict_packets() {
	answer ".verdicts[] | select(.action == \"$1\" and (.name | endswith(\"$2\"))) | .packets" stats
}
backend_packets() {
	answer ".[] | select(.pool == \"$1\") | \"\(.name) \(.packets)\"" backend list
}

# UDP asks with one packet each, so all counters are known in advance.
count_udp() {
	local vip=$1 pool=$2 frame=$3 way=$4 out=$TOPOLOGY_DIR/counted name before
	local vip_before bytes_before sent_before reply_before replies=0
	vip_before=$(vip_packets "$vip") bytes_before=$(vip_bytes "$vip")
	sent_before=$(verdict_packets "$way" BACKEND) reply_before=$(verdict_packets "$way" REPLY)
	backend_packets "$pool" >"$TOPOLOGY_DIR/before"
	ask udp "$(sed -E 's/^\[?([^]]*)\]?:[0-9]+\/udp$/\1/' <<<"$vip")" 7000 25000 $COUNT >"$out" || return 1
	[[ $pool != nat* ]] || replies=$COUNT
	is $(($(vip_packets "$vip") - vip_before)) $COUNT || return 1
	is $(($(vip_bytes "$vip") - bytes_before)) $((COUNT * frame)) || return 1
	is $(($(verdict_packets "$way" BACKEND) - sent_before)) $COUNT || return 1
	is $(($(verdict_packets "$way" REPLY) - reply_before)) "$replies" || return 1
	while read -r name before; do
		is "$name $(($(backend_packets "$pool" | sed -n "s/^$name //p") - before))" \
			"$name $(grep -c " $name\$" "$out")" || return 1
	done <"$TOPOLOGY_DIR/before"
}

one_case() {
	local proto=$1 vip=$2 port=$3 pool=$4
	local out=$TOPOLOGY_DIR/$pool-$proto what="$pool $proto"
	ask "$proto" "$vip" "$port" $FIRST $COUNT >"$out"
	check "$what: $COUNT of $COUNT flows are answered" all_answered "$out"
	check "$what: ringlb lookup names who answered" answers_are "$out" "$proto" "$vip" "$port"
	check "$what: so does lookup in the file" \
		answers_are "$out" "$proto" "$vip" "$port" --config "$CONFIG"
	check "$what: shares are those of the ring" shares_fit "$out" "$pool"
}

# The request is 18 bytes: HTTP's, also for UDP.
traffic() {
	local way=$2 ip4=60 ip6=80
	start "$1" 3
	check 'the daemon starts' daemon_start
	check 'all backends are up' wait_for 5 all_up
	check 'the shares of each pool sum to 1' shares_sum_to_one
	one_case tcp $NAT4 80 nat4
	one_case tcp $NAT6 80 nat6
	one_case tcp $DR4 80 dr4
	one_case tcp $DR6 80 dr6
	one_case udp $NAT4 7000 nat4
	one_case udp $NAT6 7000 nat6
	one_case udp $DR4 7000 dr4
	one_case udp $DR6 7000 dr6
	one_case udp $DR6 7001 dr4
	check 'nat4: counters are exact' count_udp $NAT4:7000/udp nat4 $ip4 "$way"
	check 'nat6: counters are exact' count_udp "[$NAT6]:7000/udp" nat6 $ip6 "$way"
	check 'dr4: counters are exact' count_udp $DR4:7000/udp dr4 $ip4 "$way"
	check 'dr6: counters are exact' count_udp "[$DR6]:7000/udp" dr6 $ip6 "$way"
	download_start four "$NAT4" 1G
	check 'a download through nat' download_end four
	download_start six "$DR6" 1G
	check 'a download through dr over IPv6' download_end six
	finish
}
