#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Changes by command: kept over kill -9, dropped by reload, written by save; nothing is
# accepted that could not be kept.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"

lists() { ringlb --json backend list | jq 'map(del(.packets, .bytes, .flows))' && ringlb --json vip list | jq 'map(del(.packets, .bytes))'; }
same_lists() { diff <(lists) - <<<"$1"; }
changed() { is "$(answer .changed status)" "$1"; }
share() { answer ".[] | select(.name == \"$2\") | .share" backend list --pool "$1"; }
gone() { is "$(answer ".[] | select(.name == \"$2\") | .name" backend list --pool "$1")" ""; }
state_files() { find "$STATE" -type f 2>/dev/null | wc -l; }

# moved_is_share POOL NAME ANSWER: all that moved went to the new backend
moved_is_share() {
	# shellcheck disable=SC2016 # variables are of jq
	topology_holds --argjson share "$(share "$1" "$2")" '(.moved - $share) | fabs < 1e-9' <<<"$3" &&
		is "$(jq -r .weight <<<"$3")" 1
}

# agrees POOL-VIP PROTO PORT: real answers are what lookup says
agrees() {
	diff <(ask "$2" "$1" "$3" 23000 60) <(predict "$2" "$1" "$3" 23000 60)
}

start one 4
write_config 3 >"$CONFIG"
check 'the daemon starts' daemon_start
check 'all backends are up' wait_for 5 all_up
from_file=$(lists)
check 'nothing differs from the file' changed false

planned=$(answer .moved plan add:b4 --pool nat4)
added=$(ringlb --json backend add b4 10.77.2.14:8080 --pool nat4)
check 'backend add moves exactly its share' moved_is_share nat4 b4 "$added"
check 'and what plan said before' is "$(jq .moved <<<"$added")" "$planned"
check 'shares are those of the live ring' is "$(share nat4 b4)" \
	"$(answer '.backends[] | select(.backend == "b4").share' shares --pool nat4)"
# The file says what the live ring is once it has the same backend.
sed "/- name: nat4/,/- name: nat6/s/^    backends:/&\n      - {name: b4, address: 10.77.2.14, port: 8080}/" \
	"$CONFIG" >"$TOPOLOGY_DIR/with_b4.yaml"
for command in 'owner a b c d e f g h' 'prefer a -r 3' 'shares -r 2' 'plan drain:b4 weight:b1=2 --ranges'; do
	# shellcheck disable=SC2086 # words on purpose
	check "live as from a file: ${command%% *}" is "$(ringlb $command --pool nat4 | grep -vE '^(flows|remembered) ')" \
		"$(ringlb $command --pool nat4 --config "$TOPOLOGY_DIR/with_b4.yaml")"
done
check 'the change is known as not in the file' changed true
check 'and is kept on disk' test "$(state_files)" -eq 1
check 'a weight is changed' ringlb backend weight b1 0.5 --pool nat4
check 'weight 0: a backend without a share' ringlb backend weight b2 0 --pool nat4
check 'that is 0' is "$(share nat4 b2)" 0
check 'a backend is removed' ringlb backend remove b3 --pool dr4
check 'a VIP is added' ringlb vip add 10.77.100.2:8080/tcp --pool dr4
check 'a VIP is removed' ringlb vip remove "[$DR6]:7001/udp"
check 'b3 drains and leaves by itself' wait_for 15 gone dr4 b3
check 'all settles' wait_for 15 settled
live=$(lists)
check 'nat: flows follow the changes' agrees $NAT4 tcp 80
check 'dr: flows follow the changes' agrees $DR4 tcp 8080
check 'the removed VIP has no answers' refused ask udp $DR6 7001 23000 1

check 'kill -9' daemon_end KILL
check 'the daemon starts again' daemon_start
check 'live changes are still there' same_lists "$live"
check 'and still known as such' changed true
check 'flows still follow them' agrees $NAT4 tcp 80

check 'save' ringlb save
check 'the file has them' ringlb check "$CONFIG"
check 'nothing differs any more' changed false
check 'no state is kept' test "$(state_files)" -eq 0
check 'saved and live give the same answers' \
	diff <(predict tcp $NAT4 80 23000 40) <(predict tcp $NAT4 80 23000 40 --config "$CONFIG")
check 'reload of what was saved changes nothing' is "$(answer '.changes | length' reload)" 0
check 'the lists are the same' same_lists "$live"

check 'another live change' ringlb backend remove b4 --pool nat4 --now
write_config 3 >"$CONFIG"
check 'reload drops live changes' ringlb reload
check 'what is live is the file, when all has drained' wait_for 15 same_lists "$from_file"
check 'nothing differs' changed false
check 'no state is kept' test "$(state_files)" -eq 0

check 'a live change, then an edited file' ringlb backend add b4 10.77.2.14:8080 --pool nat4
check 'kill -9' daemon_end KILL
echo '# edited' >>"$CONFIG"
check 'the daemon starts' daemon_start
check 'the edited file counts, not the changes to the old one' same_lists "$from_file"
check 'and the log says so' logged 'unsaved live changes are dropped'

# Mounted in lb's mount namespace only, and gone with it.
full() {
	topology_on_lb mount -t tmpfs -o size=16k tmpfs "$STATE" &&
		topology_on_lb sh -c "dd if=/dev/zero of=$STATE/ballast bs=4k count=4 2>/dev/null"
	daemon_end KILL
	daemon_start
}
check 'the state directory is full' full
check 'nothing moves by itself' wait_for 15 settled
check 'all backends are up' wait_for 5 all_up
before=$(snapshot)
check 'a change is refused' refuses "cannot keep the change: .*No space left" \
	ringlb backend add b4 10.77.2.14:8080 --pool nat4
check 'nothing changed' diff <(echo "$before") <(snapshot)
check 'the disk is free again' topology_on_lb rm "$STATE/ballast"
check 'then it is accepted' ringlb backend add b4 10.77.2.14:8080 --pool nat4
check 'and dropped again' ringlb reload
check 'when it has drained' wait_for 15 settled
check 'the state directory is read-only' topology_on_lb mount -o remount,ro "$STATE"
before=$(snapshot)
check 'a change is refused' refuses 'cannot keep the change: .*Read-only' \
	ringlb vip add 10.77.100.2:81/tcp --pool dr4
check 'nothing changed' diff <(echo "$before") <(snapshot)
check 'the directory is writable again' topology_on_lb mount -o remount,rw "$STATE"

# bpftool takes the key byte by byte: struct endpoint of bpf/abi.h.
vip_key="10 77 100 1 0 0 0 0 0 0 0 0 0 0 0 0 0 80 6 4"
# shellcheck disable=SC2086 # words
check 'an entry is deleted behind the daemon' \
	topology_on_lb bpftool map delete pinned "$PINS/vips" key $vip_key
# shellcheck disable=SC2086 # words
has_entry() { topology_on_lb bpftool map lookup pinned "$PINS/vips" key $vip_key; }
check 'it is gone' refused has_entry
check 'reload' ringlb reload
check 'puts it back' wait_for 15 has_entry
check 'all is well' wait_for 15 settled
check 'as it was' agrees $NAT4 tcp 80
finish
