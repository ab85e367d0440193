#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `ringlb trace`: what happens to each packet, in a line; and what `ringlb capture` has of the
# same packets, read back by tshark. Filters let through what they say and nothing else.
#
# shellcheck disable=SC2086 # no address has blanks
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"

OTHER4=10.77.1.3 IPIP4=10.77.100.9 NONE4=10.77.100.10

trace_config() {
	config_interfaces
	printf 'flows:\n  learn_tcp: 1h\n  learn_other: 1h\n  idle_other: 1h\n'
	echo 'pools:'
	config_pool nat4 nat 10.77.2. 8080 1 2 3
	config_pool dr4 dr 10.77.2. 0 1 2 3
	config_pool dr6 dr fd77:2:: 0 1 2 3
	config_pool ipip4 ipip 10.77.2. 0 1 2 3
	printf '  - name: none4\n    forward: dr\n    backends: []\n'
	echo 'vips:'
	config_vip $NAT4 udp 7000 nat4
	config_vip $DR4 udp 7000 dr4
	config_vip $DR6 udp 7000 dr6
	config_vip $IPIP4 udp 7000 ipip4
	config_vip $NONE4 udp 7000 none4
}

# run_start COMMAND ARGUMENT...: in the background; it is at work when this returns
run_start() {
	rm -f "$OUT"
	topology_spawn_on_lb "$OUT" "$B/ringlb" "$@"
	RUN=$TOPOLOGY_PID
	wait_for 5 grep -qE '^(tracing|capturing)' "$OUT"
}

ended() { wait_for 5 refused kill -0 $RUN; }

# It ends, and nothing was lost: the last line says so.
run_end() {
	kill -"${1:-INT}" $RUN 2>/dev/null
	ended && tail -n 1 "$OUT" && grep -qE '^[0-9]+ packets( in [0-9]+ frames)?, 0 lost$' "$OUT"
}

lines() { grep -E '^[0-9:.]{15} ' "$OUT"; }
count() { lines | grep -cE -- "$1"; }
# count_is N PATTERN
count_is() { is "$(count "$2")" "$1" || { lines | head -n 5; return 1; }; }

# From the other client; ask_other VIP FIRST COUNT
ask_other() { topology_in client "$FLOWS" ask udp $OTHER4 "$1" 7000 "$2-$(($2 + $3 - 1))"; }

# Datagrams that nobody answers: send VIP COUNT [PORT]
send() {
	# shellcheck disable=SC2016 # for that shell
	topology_in client bash -c \
		'for ((i = 0; i < $2; i++)); do echo x >"/dev/udp/$1/${3:-7000}"; done' send "$@"
}

# What the program shares with who captures.
state() { topology_on_lb bpftool -j map dump pinned "$PINS/capture" | jq ".[0].formatted.value.$1"; }

# More than there is room for while nobody reads: 2000 long ones.
flood() {
	topology_in client /usr/bin/python3 -c '
import socket, sys
to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(2000):
    to.sendto(bytes(1400), (sys.argv[1], 7000))' "$1"
}

vip_packets() { answer ".vips[] | select(.vip == \"$1\") | .packets" stats; }

# What was shown and what was lost is what came, and neither is nothing. adds_up CAME
adds_up() {
	local shown lost
	read -r shown _ lost _ < <(tail -n 1 "$OUT")
	echo "$shown shown, $lost lost of $1"
	[ "$shown" -gt 0 ] && [ "$lost" -gt 0 ] && [ $((shown + lost)) = "$1" ] && is "$(lines | wc -l)" "$shown"
}

# What the daemon says of the flow of each line is what the line says: matches FILTER PATTERN
matches() {
	local line client vip wanted n=0
	while read -r line; do
		client=$(sed -E 's/^[^ ]+ [^ ]+ udp ([^ ]+) > .*/\1/' <<<"$line")
		vip=$(sed -E 's/^[^ ]+ [^ ]+ udp [^ ]+ > ([^ ]+) .*/\1/' <<<"$line")
		wanted=$(answer "$1" lookup udp "$client" "$vip") || return 1
		grep -qF -- "$wanted" <<<"$line" || { echo "$line lacks $wanted"; return 1; }
		n=$((n + 1))
	done < <(lines | grep -E -- "$2")
	[ $n -gt 0 ]
}

HASHED='"hash \(.hash) (5-tuple) arc \(.position) owner \(.pool)/\(.backend) | to \(.pool)/\(.backend) by \(.forward)"'

by_backend() { awk -v b="$1" '$2 == b' "$TOPOLOGY_DIR/answers" | wc -l; }

# What tshark finds in the file, a line a frame: destinations, port, and what is said of it.
dissect() {
	tshark -r "$FILE" -T fields -e ip.src -e ip.dst -e ipv6.dst -e udp.dstport -e frame.comment \
		>"$TOPOLOGY_DIR/frames" 2>/dev/null
}

frames() { grep -cP -- "$1" "$TOPOLOGY_DIR/frames"; }

# In pairs: comments have each packet's number twice, in this order. paired N
paired() {
	awk -F'packet ' '{ n = $2 + 0 }
		/as it came in$/ { if (open) bad = 1; open = n; pairs++; next }
		{ if (n != open) bad = 1; open = 0 }
		END { exit bad || open || pairs != wanted }' wanted="$1" "$TOPOLOGY_DIR/frames"
}

# run_refused STATUS PATTERN ARGUMENT...: with one line
run_refused() {
	local output status wanted=$1 pattern=$2
	shift 2
	output=$(topology_on_lb timeout 10 "$B/ringlb" "$@" 2>&1 >/dev/null)
	status=$?
	echo "status $status: $output"
	[ $status = "$wanted" ] && [ "$(wc -l <<<"$output")" = 1 ] && grep -qE -- "^ringlb: $pattern" <<<"$output"
}

start two 3
FILE=$TOPOLOGY_DIR/trace.pcapng OUT=$TOPOLOGY_DIR/trace.out
trace_config >"$CONFIG"
check 'a second client' ip -n "$TOPOLOGY_ID-client" address add $OTHER4/24 dev eth0
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 5 all_up
check 'the way to both clients is known' ask_other $NAT4 20000 1
check 'as is this one' ask udp $NAT4 7000 20000 1

check 'a VIP, traced' run_start trace --vip $NAT4:7000/udp
check 'ten of one client' ask udp $NAT4 7000 20000 10
check 'ten of another' ask_other $NAT4 20000 10
check 'ten to another VIP' ask udp $DR4 7000 20000 10
check 'some to another port' send $NAT4 3 7001
check 'Ctrl-C' run_end
check 'requests of both clients' count_is 20 " eth0 udp 10\.77\.1\.[23]:2000[0-9] > $NAT4:7000 .* REDIRECT_BACKEND$"
check 'and replies' count_is 20 " eth1 udp reply 10\.77\.2\.1[123]:8080 > 10\.77\.1\.[23]:2000[0-9] \| as $NAT4:7000 > .* REDIRECT_REPLY$"
check 'nothing else' count_is 40 .
check 'hash, arc and owner are those of the daemon' matches "$HASHED" "> $NAT4:7000"
check 'and it went where the line says' count_is 20 'by nat 10\.77\.1\.[23]:2000[0-9] > 10\.77\.2\.1[123]:8080 \| out eth1 ([0-9a-f]{2}:){5}[0-9a-f]{2} '

check 'a client' run_start trace --client $OTHER4
check 'one of two' ask udp $NAT4 7000 20000 10
check 'the other' ask_other $NAT4 20000 10
check 'end' run_end
check 'there and back' count_is 20 "$OTHER4:"
check 'only these' count_is 20 .

ask udp $NAT4 7000 20100 20 >"$TOPOLOGY_DIR/answers"
check 'a backend' run_start trace --backend nat4/b2
check 'twenty clients' ask udp $NAT4 7000 20100 20
check 'end' run_end
check 'to it, and from it' count_is $((2 * $(by_backend b2))) .
check 'some' test "$(by_backend b2)" -gt 0

check 'drops' run_start trace --verdict drop --client 10.77.1.0/30
check 'what is odd' topology_in client /usr/bin/python3 "$ROOT/tests/netns/odd.py" $CLIENT4 $NAT4 7000 3 2
check 'and what has no backend' send $NONE4 4
check 'and what is fine' ask udp $DR4 7000 20000 5
check 'end' run_end
check 'TTL' count_is 3 "> $NAT4:7000 \| DROP_TTL: packet to a VIP with TTL"
check 'malformed' count_is 2 "> $NAT4:7000 \| DROP_BAD_UDP_LENGTH: "
check 'no backend' count_is 4 "> $NONE4:7000 .*\| DROP_NO_BACKEND: "
check 'no others' count_is 9 .

check 'two verdicts' run_start trace --verdict DROP_TTL,drop_no_ring
check 'what is odd' topology_in client /usr/bin/python3 "$ROOT/tests/netns/odd.py" $CLIENT4 $NAT4 7000 3 2
check 'end' run_end
check 'these only' count_is 3 .

check 'ipip' run_start trace --vip $IPIP4
check 'five' send $IPIP4 5
check 'end' run_end
check 'with its outer addresses' matches '"by ipip \(.outer.source) > \(.outer.destination) | out eth1 "' .
check 'five lines' count_is 5 'REDIRECT_BACKEND$'

check 'a reader that sleeps' run_start trace --vip $IPIP4
before=$(vip_packets $IPIP4:7000/udp)
kill -STOP $RUN
check 'meanwhile' flood $IPIP4
kill -CONT $RUN
check 'end' refused run_end
check 'what it missed is told' adds_up $(($(vip_packets $IPIP4:7000/udp) - before))

check 'IPv6, one in four' run_start trace --vip $DR6 --sample 4
check 'forty' ask udp $DR6 7000 20000 40
check 'end' run_end
check 'ten' count_is 10 " udp \[$CLIENT6\]:200[0-9]+ > \[$DR6\]:7000 .* by dr \| out eth1 "

check 'JSON, ten packets' run_start trace --json --vip $IPIP4:7000/udp -c 10
check 'twenty' send $IPIP4 20
check 'it ends' ended
check 'ten objects' is "$(grep '^{' "$OUT" | jq -s 'map(select(.forward == "ipip" and .backend == "ipip4/" + (.owner | ltrimstr("ipip4/")) and .out.protocol == 4 and .took_ns > 0 and .moving == false)) | length')" 10

check 'a while' run_start trace --duration 300ms --vip $DR4
check 'it ends by itself' ended

check 'while the daemon restarts' run_start trace --vip $DR4
check 'before' ask udp $DR4 7000 20000 10
check 'it ends' daemon_end TERM
check 'without it' ask udp $DR4 7000 20010 10
check 'it starts' daemon_start
check 'afterwards' ask udp $DR4 7000 20020 10
check 'end' run_end
check 'all are there' count_is 30 "> $DR4:7000 .* by dr .* REDIRECT_BACKEND$"

check 'what moves' ringlb backend weight b1 0.2 --pool dr4
check 'is traced' run_start trace --vip $DR4
check 'hundred' ask udp $DR4 7000 21000 100
check 'twice' ask udp $DR4 7000 21000 100
check 'end' run_end
old=$(count 'moving from dr4/b1: ASKED\+OLD \| to dr4/b1 ') hit=$(count 'moving from dr4/b1: ASKED\+HIT \| to dr4/b1 ')
check 'first to the previous owner, as far as it moves' test "$old" -gt 0
check 'then as remembered' is "$hit" "$old"
check 'the others do not move' count_is $((200 - old - hit)) 'owner (dr4/b[123]) \| to \1 '

check 'capture of two clients' run_start capture -w "$FILE" --vip $NAT4:7000/udp
check 'ten' ask udp $NAT4 7000 20000 10
check 'ten others' ask_other $NAT4 20000 10
check 'not these' ask udp $DR4 7000 20000 10
check 'a second one is refused' run_refused 1 'somebody else captures' trace
check 'Ctrl-C' run_end
check 'tshark reads it' dissect
check 'all that came' is "$(frames 'as it came in$')" 40
check 'requests' is "$(frames "^10\.77\.1\.[23]\t$NAT4\t\t7000\tpacket .* as it came in$")" 20
check 'rewritten ones' is "$(frames '^10\.77\.1\.[23]\t10\.77\.2\.1[123]\t\t8080\tpacket .* REDIRECT_BACKEND: .* owner nat4/b. \| to nat4/b. by nat$')" 20
check 'rewritten replies' is "$(frames "^$NAT4\t10\.77\.1\.[23]\t\t2000\d\tpacket .* REDIRECT_REPLY: ")" 20
check 'in pairs' paired 40

check 'ipip and IPv6' run_start capture -w "$FILE" --verdict REDIRECT_BACKEND
check 'five' send $IPIP4 5
check 'five of IPv6' ask udp $DR6 7000 20000 5
check 'end' run_end TERM
check 'tshark reads it' dissect
check 'ipip around it' is "$(frames "^198\.18\.[0-9.]*,$CLIENT4\t10\.77\.2\.1[123],$IPIP4\t\t7000\tpacket .* by ipip$")" 5
check 'IPv6 before and after' is "$(frames "^\t\t$DR6\t7000\tpacket ")" 10
check 'in pairs' paired 10

piped() {
	topology_on_lb timeout 10 "$B/ringlb" capture -w - -c 3 --vip $DR4 2>"$OUT" |
		tshark -r - -T fields -e frame.comment 2>/dev/null >"$TOPOLOGY_DIR/piped"
}
rm "$OUT"
piped &
PIPED=$!
check 'to the standard output' wait_for 5 grep -q ^capturing "$OUT"
check 'five' ask udp $DR4 7000 20000 5
check 'tshark reads it' wait $PIPED
check 'six frames' is "$(wc -l <"$TOPOLOGY_DIR/piped")" 6

mkdir "$TOPOLOGY_DIR/small"
check 'a small disk' topology_on_lb mount -t tmpfs -o size=32k none "$TOPOLOGY_DIR/small"
check 'fills' run_start capture -w "$TOPOLOGY_DIR/small/file" --vip $DR4
check 'soon' ask udp $DR4 7000 20000 300
check 'and ends it' ended
check 'which it says' is "$(grep -c "^ringlb: cannot write to '$TOPOLOGY_DIR/small/file': No space left" "$OUT")" 1
topology_on_lb umount "$TOPOLOGY_DIR/small"

check 'no VIP' run_refused 2 "--vip must be like .*'abc'" trace --vip abc
check 'no port of a VIP' run_refused 2 "VIP must be like .*:0x/tcp'" trace --vip 10.0.0.1:0x/tcp
check 'no client' run_refused 2 "--client must be like .*'1.2.3'" trace --client 1.2.3
check 'a prefix with bits behind it' run_refused 2 "--client has bits .*'10.0.0.1/8'" trace --client 10.0.0.1/8
check 'no backend' run_refused 1 "there is no backend 'b9'" trace --backend b9
check 'several backends' run_refused 1 "several pools have a backend 'b1' \(give POOL/NAME\)" trace --backend b1
check 'no verdict' run_refused 2 "--verdict must be one of .*'lost'" trace --verdict drop,lost
check 'no time' run_refused 2 "--duration must be .*'5'" trace --duration 5
check 'no time at all' run_refused 2 "--duration must be above 0, got '0s'" trace --duration 0s
check 'not a number' run_refused 2 "--packets must be .*'x'" trace -c x
check 'off after all these' wait_for 4 is "$(state until_ns)" 0
check 'one packet more' run_start trace --vip $NAT4 -c 1
check 'of those that go the long way' ask udp $NAT4 7000 20000 1
check 'it ends' ended
counted=$(state next)
check 'the next ones' ask udp $NAT4 7000 20000 5
check 'are nobody'"'"'s any more' is "$(state next)" "$counted"
finish
