#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The command line tool: usage, exit statuses and output, offline and against a
# stand-in for the daemon that gives fixed answers and notes what it was asked.
#
# Usage: tests/unit/test_cli.sh        B=DIR: where ringlb was built (build)
set -u
cd "$(dirname "$0")/../.." || exit 1
ringlb=$(realpath "${B:-build}")/ringlb
unset POSIXLY_CORRECT
export LC_ALL=C

T=$(mktemp -d) || exit 1
daemon=
cleanup() {
	[ -z "$daemon" ] || kill "$daemon" 2>/dev/null
	rm -rf "$T"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

# shellcheck source=tests/unit/tap.sh
. tests/unit/tap.sh

# run ARGUMENTS...: what became of it, as text that a test can state
run() {
	local to=$T/run$BASHPID # two may run at a time
	"$ringlb" "$@" >"$to.out" 2>"$to.err" </dev/null
	echo "status $?"
	sed 's/^/out: /' "$to.out"
	sed 's/^/err: /' "$to.err"
}

# Wrong usage: status 2, nothing on stdout, one line on stderr.
# usage LINE ARGUMENTS...
usage() {
	local line=$1
	shift
	same "usage: ringlb $*" "status 2
err: ringlb: $line" "$(run "$@")"
}

# Refused or failed: status 1, one line on stderr.
refused() {
	local line=$1
	shift
	same "refused: ringlb $*" "status 1
err: $line" "$(run "$@")"
}

# Done: status 0, nothing on stderr.
# prints TEXT ARGUMENTS...
prints() {
	local text=$1
	shift
	same "prints: ringlb $*" "status 0
out: ${text//$'\n'/$'\n'out: }" "$(run "$@")"
}

# asks REQUEST ARGUMENTS...: the request that the daemon got, members sorted
asks() {
	local request=$1
	shift
	: >"$T/requests"
	"$ringlb" --socket "$T/socket" "$@" >/dev/null 2>&1
	same "asks: ringlb $*" "$request" "$(cat "$T/requests")"
}

# --- the stand-in for the daemon ---------------------------------------------

cat >"$T/daemon.py" <<'PYTHON'
import json, os, socket, sys, threading

base = sys.argv[1]
web1 = {"pool": "web", "name": "web1", "address": "10.0.0.1:8080", "weight": "1",
        "share": 1 / 3, "state": "up", "interface": "eth1", "mac": "02:00:00:00:00:01",
        "mtu": 1500, "flows": 17, "packets": 123456, "bytes": 98765432}
web22 = {"pool": "web", "name": "web22", "address": "10.0.0.2", "weight": "0.5",
         "share": 0.0588235, "state": "resolving", "interface": None, "mac": None,
         "mtu": None, "flows": 0, "packets": 0, "bytes": 0}
vip = {"vip": "192.0.2.10:80/tcp", "address": "192.0.2.10", "protocol": "tcp", "port": 80,
       "port_last": 80, "hash": "5-tuple", "pool": "web", "packets": 5, "bytes": 3000}
vip6 = {"vip": "[2001:db8::1]:443/udp", "address": "2001:db8::1", "protocol": "udp",
        "port": 443, "port_last": 443, "hash": "source", "pool": "web", "packets": 12345678, "bytes": 0}
pool = {"name": "web", "forward": "nat", "vnodes": 200, "positions": 300, "backends": 2,
        "weight": "1.5", "mtu": 1500, "mss_clamp": None}
verdicts = [
    {"name": "PASS_NOT_IP", "action": "PASS", "text": "not IPv4 or IPv6", "packets": 0},
    {"name": "TX_BACKEND", "action": "TX", "text": "sent to a backend", "packets": 1234},
]
quic = [{"name": "ID", "text": "by its id", "packets": 77},
        {"name": "GONE", "text": "by hash", "packets": 0}]
answers = {
    "status": {"version": "0.1.0", "pid": 4242, "uptime_s": 11520, "config": "/etc/r.yaml",
               "changed": True, "pin_dir": "/sys/fs/bpf/ringlb",
               "interfaces": [{"name": "eth0", "ifindex": 2, "mode": "native",
                               "attach": "dispatcher"},
                              {"name": "veth-long", "ifindex": 117, "mode": "generic",
                               "attach": "single"}],
               "pools": [{**pool, "moving": {"arcs": 198, "share": 0.25, "flows": 17,
                                             "learning_tcp_s": 3541, "learning_other_s": 0}}],
               "draining": [{"pool": "web", "name": "web9", "flows": 812, "arcs": 57,
                             "share": 0.1234, "learning_tcp_s": 3541, "learning_other_s": 0,
                             "cut_off_s": 600, "then": "remove"},
                            {"pool": "web", "name": "web10", "flows": 1, "arcs": 0,
                             "share": 0, "learning_tcp_s": 0, "learning_other_s": 0,
                             "cut_off_s": None, "then": "keep"}],
               "tables": [{"name": "established", "size": 262144, "bytes": 22544384}],
               "vips": 2, "backends": 2},
    "vip.list": [vip, vip6],
    "vip.add": vip,
    "vip.remove": vip,
    "pool.list": [pool],
    "backend.list": [web1, web22],
    "backend.add": {**web22, "moved": 0.0588235},
    "backend.remove": {"pool": "web", "name": "web22", "moved": 0.0588235},
    "backend.weight": {**web22, "moved": 0.25},
    "backend.drain": {**web22, "state": "draining", "moved": 0.0588235},
    "backend.undrain": {**web22, "state": "up", "moved": 0.25},
    "why": {"vip": None, "near": [], "reply": None, "cases": [], "interfaces": []},
    "lookup": {"vip": "192.0.2.10:80/tcp", "pool": "web", "forward": "nat",
               "hashed": "5-tuple", "hash": "0x00000000deadbeef", "slot": 17, "position": "0x00000000deadbf00",
               "backend": "web1", "address": "10.0.0.1:8080", "state": "up",
               "interface": "eth1", "mac": None},
    "stats": {"verdicts": verdicts, "quic": quic, "vips": [vip], "backends": [web1]},
    "reload": {"changes": ["added backend 'web3' to pool 'web'", "removed VIP 192.0.2.9:80/tcp"]},
    "save": {"config": "/etc/r.yaml"},
    "down": {"removed": ["link of eth0", "map vips"]},
}
empty = {"vip.list": [], "pool.list": [], "backend.list": [], "reload": {"changes": []},
         "down": {"removed": []}, "stats": {"verdicts": verdicts[:1], "vips": [], "backends": []},
         "status": {}}


def reply(stream, value):
    stream.write((json.dumps(value) + "\n").encode())
    stream.flush()


def request(stream):
    line = json.loads(stream.readline())
    with open(base + "/requests", "a") as log:
        log.write(json.dumps(line, sort_keys=True) + "\n")
    return line


def normal(stream):
    asked = request(stream)
    if asked.get("name") == "web9":
        reply(stream, {"ok": False, "error": "pool 'web' has no backend 'web9'"})
    elif asked.get("name") == "evil":
        reply(stream, {"ok": False, "error": "two\nlines and \x1b[31mred"})
    else:
        reply(stream, {"ok": True, "result": answers[asked["command"]]})


def nothing(stream):
    reply(stream, {"ok": True, "result": empty[request(stream)["command"]]})


def drip(stream):
    text = json.dumps({"ok": True, "result": answers[request(stream)["command"]]}) + "\n"
    for character in text:
        stream.write(character.encode())
        stream.flush()


def large(stream):
    request(stream)
    reply(stream, {"ok": True, "result": [web1] * 20000})


def hang(stream):
    request(stream)
    stream.read()


def hang_up(stream):
    request(stream)


def full(stream):  # as ringlbd does with one client too many: answers unasked
    reply(stream, {"ok": False, "error": "ringlbd serves 64 clients already"})


def garbage(stream):
    request(stream)
    stream.write(b"{\"ok\": maybe}\n")
    stream.flush()


def no_result(stream):
    request(stream)
    reply(stream, {"ok": True})


def answer(connection, behave):
    try:
        with connection, connection.makefile("rwb") as stream:
            behave(stream)
    except (OSError, ValueError):
        pass


def serve(listener, behave):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection, behave), daemon=True).start()


for name, behave in {"socket": normal, "empty": nothing, "drip": drip, "large": large,
                     "hang": hang, "hang-up": hang_up, "full": full, "garbage": garbage,
                     "no-result": no_result}.items():
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(base + "/" + name)
    listener.listen(16)
    threading.Thread(target=serve, args=(listener, behave), daemon=True).start()
crowded = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
crowded.bind(base + "/crowded")
crowded.listen(0)
waiting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
waiting.connect(base + "/crowded")
stale = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
stale.bind(base + "/stale")
print("ready", flush=True)
sys.stdin.read()
PYTHON

mkfifo "$T/ready" "$T/end"
/usr/bin/python3 "$T/daemon.py" "$T" <"$T/end" >"$T/ready" &
daemon=$!
exec 9>"$T/end"
read -r _ <"$T/ready"

# These take the ten seconds of the client's patience: look at them in the end.
(run --socket "$T/hang" status) >"$T/hang.result" &
hanging=$!
(run --socket "$T/crowded" status) >"$T/crowded.result" &
crowded=$!

# --- usage --------------------------------------------------------------------

usage "no command given, see 'ringlb --help'"
usage "no command given, see 'ringlb --help'" --json
usage "unknown command 'stauts' (did you mean 'status'?), see 'ringlb --help'" stauts
usage "unknown command 'backends' (did you mean 'backend'?), see 'ringlb --help'" backends
usage "unknown command 'frobnicate', see 'ringlb --help'" frobnicate
usage "unknown command '', see 'ringlb --help'" ''
usage "unknown command 'lst' after 'vip' (did you mean 'list'?), see 'ringlb vip --help'" vip lst
usage "'backend' must be followed by one of: list, add, remove, drain, undrain, weight, see 'ringlb backend --help'" \
	backend
usage "unknown option '--jsn' (did you mean '--json'?), see 'ringlb --help'" --jsn status
usage "unknown option '-x', see 'ringlb --help'" status -x
usage "unknown option '--wieght' (did you mean '--weight'?), see 'ringlb --help'" \
	backend add web4 10.0.0.14 --wieght=2
usage "option '--socket' needs a value, see 'ringlb --help'" status --socket
usage "option '--json' takes no value, see 'ringlb --help'" status --json=yes
usage "option '--weight' does not apply to 'vip list', see 'ringlb vip list --help'" \
	vip list --weight 1
usage "option '--all' does not apply to 'status', see 'ringlb status --help'" status --all
usage "unexpected argument 'now', see 'ringlb status --help'" status now
usage "unexpected argument 'c', see 'ringlb backend weight --help'" backend weight a 1 c
usage "'backend add' needs NAME, see 'ringlb backend add --help'" backend add
usage "'backend add' needs ADDRESS[:PORT], see 'ringlb backend add --help'" backend add web4
usage "'vip add' needs --pool POOL, see 'ringlb vip add --help'" vip add 192.0.2.10:80/tcp
usage "'lookup' needs DST:PORT, see 'ringlb lookup --help'" lookup tcp 192.0.2.1:1
usage "'why' needs SRC:PORT, see 'ringlb why --help'" why
usage "'why' needs DST:PORT, see 'ringlb why --help'" why 192.0.2.1:1
usage "unexpected argument 'now', see 'ringlb why --help'" why tcp 192.0.2.1:1 192.0.2.2:2 now
usage "'check' needs CONFIG, see 'ringlb check --help'" check

must_name="must be 1 to 63 letters, digits, '.', '_' or '-', starting with a letter or digit"
must_vip='must be like 192.0.2.10:80/tcp, [2001:db8::1]:443/udp or 192.0.2.0/24:1000-2000/tcp'
must_peer='must be like 192.0.2.10:80 or [2001:db8::1]:80'
must_address='must be like 10.0.0.1, 10.0.0.1:8080 or [2001:db8::1]:8080'
usage "weight must be 0 to 1000, got '-1'" backend weight web1 -1
usage "weight must be 0 to 1000, got '-1'" backend weight web1 -1 --pool web
usage "weight must be 0 to 1000 with at most three decimals, got '-.5'" backend weight web1 -.5
usage "weight must be 0 to 1000, got '-1'" backend add web4 10.0.0.14 --weight -1
usage "weight must be 0 to 1000, got '1001'" backend weight web1 1001
usage "weight must be 0 to 1000, got ''" backend weight web1 ''
usage "weight must be 0 to 1000 with at most three decimals, got '0.1234'" \
	backend weight web1 0.1234
usage "weight must be 0 to 1000, got '-x'" backend weight web1 -- -x
usage "name $must_name, got 'web 1'" backend weight 'web 1' 1
usage "name $must_name, got '\\x1b[31m'" backend remove $'\e[31m'
usage "pool $must_name, got ''" backend list --pool ''
usage "pool $must_name, got '--json'" backend list --pool --json
usage "address $must_address, got '10.0.0.256'" backend add web4 10.0.0.256
usage "address $must_address, got '10.0.0.1:65536'" backend add web4 10.0.0.1:65536
usage "VIP $must_vip, got '192.0.2.10/tcp'" vip remove 192.0.2.10/tcp
usage "VIP $must_vip, got '192.0.2.10:80/icmp'" vip add 192.0.2.10:80/icmp --pool web
must_quic='must be CONFIGURATION:BYTES in hexadecimal, as in 0:12ab or 0:12ab,1:07'
usage "quic id $must_quic (a byte has two digits), got '0:12a'" backend add web4 10.0.0.14 --quic-id 0:12a
usage "quic id $must_quic (the configuration, 0 to 6, comes first), got '12ab'" \
	backend add web4 10.0.0.14 --quic-id 12ab
usage "quic cid must be 1 to 20 bytes in hexadecimal, got '0x12'" \
	lookup udp 192.0.2.1:1 192.0.2.2:2 --quic-cid 0x12
usage "quic cid must be 1 to 20 bytes in hexadecimal, got ''" \
	lookup udp 192.0.2.1:1 192.0.2.2:2 --quic-cid=
usage "quic cid must be 1 to 20 bytes in hexadecimal, got '000102030405060708090a0b0c0d0e0f1011121314'" \
	lookup udp 192.0.2.1:1 192.0.2.2:2 --quic-cid 000102030405060708090a0b0c0d0e0f1011121314
usage "option '--quic-cid' goes with udp only" \
	lookup tcp 192.0.2.1:1 192.0.2.2:2 --quic-cid 0012
for bad in 192.0.2.0/33:80/tcp 0.0.0.0/0:80/tcp 192.0.2.0/7:80/tcp '[2001:db8::/15]:80/tcp' \
	2001:db8::/64:80/tcp 192.0.2.10:1000-/tcp 192.0.2.10:-5/tcp 192.0.2.10:1-65536/tcp \
	192.0.2.10:all/tcp 192.0.2.10:any-5/tcp 192.0.2.10:1-2-3/tcp; do
	usage "VIP $must_vip, got '$bad'" vip add "$bad" --pool web
done
usage "hash must be 5-tuple, source or source-port-less, got 'src'" \
	vip add 192.0.2.10:80/tcp --pool web --hash src
usage "option '--hash' does not apply to 'vip remove', see 'ringlb vip remove --help'" \
	vip remove 192.0.2.10:80/tcp --hash source
usage "protocol must be tcp, udp or sctp, got 'icmp'" lookup icmp 192.0.2.1:1 192.0.2.2:2
usage "source $must_peer, got '192.0.2.1'" lookup tcp 192.0.2.1 192.0.2.2:2
usage "source $must_peer, got '2001:db8::1:80'" lookup tcp 2001:db8::1:80 '[2001:db8::2]:2'
usage "destination $must_peer, got '[2001:db8::2]'" lookup tcp '[2001:db8::1]:1' '[2001:db8::2]'
usage "source and destination must both be IPv4 or both IPv6, got '192.0.2.1:1' and '[2001:db8::2]:2'" \
	lookup tcp 192.0.2.1:1 '[2001:db8::2]:2'

# --- help ---------------------------------------------------------------------

commands='status|vip list|vip add|vip remove|pool list|backend list|backend add|backend remove
backend weight|lookup|why|stats|top|reload|save|down|check'
while read -r command; do
	# shellcheck disable=SC2086 # words on purpose
	text=$(run $command --help)
	if [[ $text == "status 0"* && $text == *"out: examples:"$'\n'"out:   ringlb"*" $command"* &&
		$text != *err:* && $text == *"usage: ringlb "*" $command"* ]]; then
		passed "help of '$command' has usage and an example"
	else
		failed "help of '$command' has usage and an example" "$text"
	fi
	# shellcheck disable=SC2086
	same "help $command" "$text" "$(run help $command)"
	case $("$ringlb" --help) in
	*"  $command"*) passed "the help names '$command'" ;;
	*) failed "the help names '$command'" ;;
	esac
done < <(tr '|' '\n' <<<"$commands")

same 'help alone' "$(run --help)" "$(run help)"
same '-h' "$(run --help)" "$(run -h)"
case $(run --help) in
*"Exit status: 0 done, 1 refused or failed, 2 wrong usage."*) passed 'the help has the statuses' ;;
*) failed 'the help has the statuses' "$(run --help)" ;;
esac
same 'the help of a group is that of its commands' 3 "$("$ringlb" vip --help | grep -c ^usage:)"
same 'no line of any help is wider than a terminal' '' "$(
	for words in '' vip pool backend status lookup why stats top reload save down check; do
		# shellcheck disable=SC2086
		"$ringlb" $words --help | grep -E '.{101}'
	done
)"
usage "unknown command 'frob', see 'ringlb --help'" frob --help
prints 'ringlb 0.1.0' --version

# --- offline ------------------------------------------------------------------

cat >"$T/good.yaml" <<'YAML'
seed: 0x5eed5eed5eed5eed
interfaces:
  - name: eth0
pools:
  - name: web
    forward: nat
    backends:
      - {name: web1, address: 10.0.0.1, port: 8080}
      - {name: web2, address: 10.0.0.2, weight: 0.5}
  - name: idle
    forward: dr
    backends:
      - {name: idle1, address: 10.0.0.3, weight: 0}
vips:
  - {address: 192.0.2.10, protocol: tcp, port: 80, pool: web}
  - {address: 192.0.2.11, protocol: udp, port: 0, pool: idle}
YAML
sed 's/weight: 0.5/weight: -1/' "$T/good.yaml" >"$T/bad.yaml"

cd "$T" || exit 1
prints 'good.yaml: ok, 1 interface, 2 pools, 3 backends, 2 VIPs' check good.yaml
refused "bad.yaml:9: pools[0].backends[1].weight must be 0 to 1000, got '-1'" check bad.yaml
refused "ringlb: cannot open 'none.yaml': No such file or directory" check none.yaml
same 'check --json of a good file' \
	'{"backends":3,"column":null,"error":null,"interfaces":1,"line":null,"ok":true,"pools":2,"vips":2}' \
	"$("$ringlb" check good.yaml --json | jq -cS .)"
same 'check --json of a bad file' \
	"{\"column\":49,\"error\":\"pools[0].backends[1].weight must be 0 to 1000, got '-1'\",\"line\":9,\"ok\":false}" \
	"$("$ringlb" --json check bad.yaml 2>err | jq -cS .)"
same 'and its error on stderr too' \
	"bad.yaml:9: pools[0].backends[1].weight must be 0 to 1000, got '-1'" "$(cat err)"
same 'check --json of no file' 'status 1
err: ringlb: cannot open '\''none.yaml'\'': No such file or directory' \
	"$(run check --json none.yaml | grep -v ^out:)"
same 'which is valid JSON' '{"column":null,"line":null,"ok":false}' \
	"$("$ringlb" check --json none.yaml 2>/dev/null | jq -cS 'del(.error)')"

lookup=(lookup tcp 198.51.100.7:40000 192.0.2.10:80 --config good.yaml)
result=$("$ringlb" "${lookup[@]}" --json)
same 'lookup --config --json has the members of the protocol' \
	'["address","backend","forward","hash","hashed","pool","position","slot","vip"]' "$(jq -cS keys <<<"$result")"
same 'which are of the file' '["192.0.2.10:80/tcp","web","nat"]' \
	"$(jq -c '[.vip, .pool, .forward]' <<<"$result")"
same 'hash and position are 64 bits, and the position is not before the hash' true \
	"$(jq '(.hash, .position | test("^0x[0-9a-f]{16}$")) and .hash <= .position' <<<"$result" | sort -u)"
value() {
	jq -r ".$1" <<<"$result"
}
prints "vip        192.0.2.10:80/tcp
pool       web (nat)
hash       $(value hash) (5-tuple)
position   $(value position) (slot $(value slot))
backend    $(value backend)
address    $(value address)" "${lookup[@]}"
same 'the port is the backend'\''s own' true \
	"$(jq 'if .backend == "web1" then .address == "10.0.0.1:8080" else .address == "10.0.0.2" end' <<<"$result")"
refused 'ringlb: no VIP for 192.0.2.10:81/tcp' \
	lookup tcp 198.51.100.7:40000 192.0.2.10:81 --config good.yaml
refused "ringlb: pool 'idle' has no backend with a weight above 0" \
	lookup udp 198.51.100.7:40000 192.0.2.11:53 --config good.yaml
refused "bad.yaml:9: pools[0].backends[1].weight must be 0 to 1000, got '-1'" \
	lookup tcp 198.51.100.7:40000 192.0.2.10:80 --config bad.yaml

sed -e '/name: web1/s/}/, quic_id: "0:12ab,2:07"}/' -e '/name: web2/s/}/, quic_id: "0:12ac,2:08"}/' \
	-e 's/protocol: tcp, port: 80/protocol: udp, port: 443/' good.yaml >quic.yaml
# quic_lookup CID: what it comes to, and the backend
quic_lookup() {
	"$ringlb" lookup udp 198.51.100.7:40000 192.0.2.10:443 --config quic.yaml --json --quic-cid "$1" |
		jq -r '"\(.quic) \(.backend)"'
}
by_hash=$("$ringlb" lookup udp 198.51.100.7:40000 192.0.2.10:443 --config quic.yaml --json | jq -r .backend)
same 'a connection id that names web1' 'ID web1' "$(quic_lookup 0012ab5eed)"
same 'one that names web2' 'ID web2' "$(quic_lookup 1f12AC)"
same 'one of another configuration' 'ID web1' "$(quic_lookup 4007)"
same 'one that is not known' "UNKNOWN $by_hash" "$(quic_lookup 0012ad5eed)"
same 'one that is too short' "UNROUTABLE $by_hash" "$(quic_lookup 0012)"
same 'one of a configuration that nobody has' "UNROUTABLE $by_hash" "$(quic_lookup 2012ab5eed)"
same 'one that names nobody' "UNROUTABLE $by_hash" "$(quic_lookup e012ab5eed)"
same 'in words' 'quic       ID: to the backend that the connection id names
backend    web2' "$("$ringlb" lookup udp 198.51.100.7:40000 192.0.2.10:443 --config quic.yaml \
	--quic-cid 0012ac5eed | sed -n '/^quic/,/^backend/p')"
cat >tunnels.yaml <<'YAML'
seed: 0x5eed5eed5eed5eed
interfaces:
  - name: eth0
pools:
  - {name: gue4, forward: gue, gue_port: 6081, backends: [{name: b1, address: 10.0.0.1}]}
  - {name: gue6, forward: gue, backends: [{name: b1, address: "2001:db8:5::1"}]}
  - {name: ipip4, forward: ipip, backends: [{name: b1, address: 10.0.0.1}]}
  - {name: ipip6, forward: ipip, backends: [{name: b1, address: "2001:db8:5::1"}]}
vips:
  - {address: 192.0.2.10, protocol: tcp, port: 80, pool: gue4}
  - {address: "2001:db8::10", protocol: tcp, port: 80, pool: gue6}
  - {address: 192.0.2.10, protocol: tcp, port: 81, pool: ipip4}
  - {address: 192.0.2.10, protocol: tcp, port: 82, pool: ipip6}
YAML
outer() { "$ringlb" lookup tcp "$@" --config tunnels.yaml | sed -n 's/^outer *//p'; }
# From XXH64 and docs/dataplane.md, worked out by other code.
same 'lookup shows the outer header, gue' '198.18.29.51:49622 > 10.0.0.1:6081' \
	"$(outer 198.51.100.7:40000 192.0.2.10:80)"
same 'gue over IPv6' '[100::4992:e0be:5dab:8368]:57534 > [2001:db8:5::1]:6080' \
	"$(outer '[2001:db8:c::7]:40000' '[2001:db8::10]:80')"
same 'ipip' '198.18.206.7 > 10.0.0.1' "$(outer 198.51.100.7:40000 192.0.2.10:81)"
same 'ipip over IPv6' '100::4995:7a54:d9a8:5111 > 2001:db8:5::1' "$(outer 198.51.100.7:40000 192.0.2.10:82)"
same 'in JSON, gue' '{"source":"198.18.29.51","destination":"10.0.0.1","source_port":49622,"destination_port":6081}' \
	"$("$ringlb" lookup tcp 198.51.100.7:40000 192.0.2.10:80 --config tunnels.yaml --json | jq -c .outer)"
same 'in JSON, ipip' '{"source":"198.18.206.7","destination":"10.0.0.1"}' \
	"$("$ringlb" lookup tcp 198.51.100.7:40000 192.0.2.10:81 --config tunnels.yaml --json | jq -c .outer)"
cd - >/dev/null || exit 1

# --- what is asked --------------------------------------------------------------

asks '{"command": "status"}' status
asks '{"command": "vip.list"}' vip list
asks '{"command": "vip.add", "pool": "web", "vip": "192.0.2.10:0/tcp"}' \
	vip add 192.0.2.10:0/tcp --pool web
asks '{"command": "vip.add", "hash": "source", "pool": "web", "vip": "192.0.2.0/24:1000-2000/tcp"}' \
	vip add 192.0.2.0/24:1000-2000/tcp --pool web --hash source
asks '{"command": "vip.remove", "vip": "[2001:db8::1]:443/tcp"}' vip remove '[2001:db8::1]:443/tcp'
asks '{"command": "pool.list"}' pool list
asks '{"command": "backend.list"}' backend list
asks '{"command": "backend.list", "pool": "web"}' --pool web backend list
asks '{"address": "10.0.0.14", "command": "backend.add", "name": "web4"}' \
	backend add web4 10.0.0.14
asks '{"address": "[2001:db8::4]:8080", "command": "backend.add", "name": "web4", "pool": "web", "weight": "0.5"}' \
	backend --pool=web add web4 --weight=0.5 '[2001:db8::4]:8080'
asks '{"address": "10.0.0.14", "command": "backend.add", "name": "web4", "quic_id": "0:12ab,3:07"}' \
	backend add web4 10.0.0.14 --quic-id 0:12ab,3:07
asks '{"command": "backend.remove", "name": "web4", "pool": "web"}' backend remove web4 --pool web
asks '{"command": "backend.weight", "name": "web1", "weight": "0"}' backend weight web1 0
asks '{"command": "lookup", "destination": "192.0.2.10:80", "protocol": "tcp", "source": "192.0.2.1:0"}' \
	lookup tcp 192.0.2.1:0 192.0.2.10:80
asks '{"command": "why", "destination": "192.0.2.10:80", "protocol": "tcp", "source": "192.0.2.1:0"}' \
	why 192.0.2.1:0 192.0.2.10:80
asks '{"command": "why", "destination": "192.0.2.10:80", "protocol": "sctp", "source": "192.0.2.1:0"}' \
	why sctp 192.0.2.1:0 192.0.2.10:80
asks '{"command": "lookup", "destination": "192.0.2.10:443", "protocol": "udp", "quic_cid": "0012ab5eed", "source": "192.0.2.1:9"}' \
	lookup udp 192.0.2.1:9 192.0.2.10:443 --quic-cid 0012ab5eed
asks '{"command": "stats"}' stats --all
asks '{"command": "reload"}' reload
asks '{"command": "save"}' save
asks '{"command": "down"}' down
asks '' backend weight web1 -1

# --- what is printed ------------------------------------------------------------

online=(--socket "$T/socket")
prints 'ringlbd 0.1.0, pid 4242, up 3 h 12 min
config    /etc/r.yaml (what is live differs: ringlb save or reload)
pins      /sys/fs/bpf/ringlb
vips      2
backends  2

INTERFACE  INDEX  MODE     ATTACH
eth0           2  native   dispatcher
veth-long    117  generic  single

POOL  FORWARD  BACKENDS  WEIGHT  VNODES  POSITIONS   MTU  MSS CLAMP
web   nat             2     1.5     200        300  1500          -

MOVING IN POOL  ARCS    SHARE  OLD FLOWS  LEARNING TCP  LEARNING OTHER
web              198  25.00 %         17        3541 s             0 s

DRAINING  POOL  ARCS    SHARE  FLOWS  LEARNING TCP  LEARNING OTHER  CUT OFF IN  THEN
web9      web     57  12.34 %    812        3541 s             0 s       600 s  remove
web10     web      0   0.00 %      1           0 s             0 s       never  keep

FLOW TABLE   ENTRIES    MEMORY
established   262144  21.5 MiB' "${online[@]}" status
prints 'VIP                    POOL  HASH      PACKETS  BYTES
192.0.2.10:80/tcp      web   5-tuple         5   3000
[2001:db8::1]:443/udp  web   source   12345678      0' "${online[@]}" vip list
prints "added 192.0.2.10:80/tcp to pool 'web'" "${online[@]}" vip add 192.0.2.10:80/tcp --pool web
prints 'removed 192.0.2.10:80/tcp' "${online[@]}" vip remove 192.0.2.10:80/tcp
prints 'POOL  FORWARD  BACKENDS  WEIGHT  VNODES  POSITIONS   MTU  MSS CLAMP
web   nat             2     1.5     200        300  1500          -' "${online[@]}" pool list
prints 'POOL  BACKEND  ADDRESS        WEIGHT    SHARE  STATE      FLOWS  INTERFACE  MAC                 MTU  PACKETS     BYTES
web   web1     10.0.0.1:8080       1  33.33 %  up            17  eth1       02:00:00:00:00:01  1500   123456  98765432
web   web22    10.0.0.2          0.5   5.88 %  resolving      0  -          -                     -        0         0' \
	"${online[@]}" backend list
prints "added backend 'web22' to pool 'web' with weight 0.5, moved 5.88 % of the hash space" \
	"${online[@]}" backend add web22 10.0.0.2
prints "draining backend 'web22' of pool 'web', moved 5.88 % of the hash space" \
	"${online[@]}" backend remove web22
prints "draining backend 'web22' of pool 'web', moved 5.88 % of the hash space" \
	"${online[@]}" backend remove web22 --timeout 10m
prints "removed backend 'web22' from pool 'web', moved 5.88 % of the hash space" \
	"${online[@]}" backend remove web22 --now
prints "backend 'web22' of pool 'web' is draining, moved 5.88 % of the hash space" \
	"${online[@]}" backend drain web22
prints "backend 'web22' of pool 'web' is up, moved 25.00 % of the hash space" \
	"${online[@]}" backend undrain web22
prints "backend 'web22' of pool 'web' has weight 0.5, moved 25.00 % of the hash space" \
	"${online[@]}" backend weight web22 0.5
prints 'vip        192.0.2.10:80/tcp
pool       web (nat)
hash       0x00000000deadbeef (5-tuple)
position   0x00000000deadbf00 (slot 17)
backend    web1
address    10.0.0.1:8080
state      up
interface  eth1
mac        -' "${online[@]}" lookup tcp 192.0.2.1:1 192.0.2.10:80
verdict_counters='

QUIC  PACKETS  MEANING
ID         77  by its id

VIP                POOL  HASH     PACKETS  BYTES
192.0.2.10:80/tcp  web   5-tuple        5   3000

POOL  BACKEND  PACKETS     BYTES
web   web1      123456  98765432'
prints "VERDICT     ACTION  PACKETS  MEANING
TX_BACKEND  TX         1234  sent to a backend$verdict_counters" "${online[@]}" stats
prints "VERDICT      ACTION  PACKETS  MEANING
PASS_NOT_IP  PASS          0  not IPv4 or IPv6
TX_BACKEND   TX         1234  sent to a backend${verdict_counters/by its id/by its id
GONE        0  by hash}" "${online[@]}" stats --all
prints "added backend 'web3' to pool 'web'
removed VIP 192.0.2.9:80/tcp" "${online[@]}" reload
prints "saved to '/etc/r.yaml'" "${online[@]}" save
prints 'link of eth0
map vips' "${online[@]}" down

prints '(none)' --socket "$T/empty" vip list
prints '(none)' --socket "$T/empty" pool list
prints '(none)' --socket "$T/empty" backend list
prints '(none)

(none)

(none)' --socket "$T/empty" stats
prints 'nothing changed' --socket "$T/empty" reload
prints 'nothing to remove' --socket "$T/empty" down
same 'an answer without members is printed all the same' 'ringlbd -, pid 0, up 0 s' \
	"$("$ringlb" --socket "$T/empty" status | head -n 1)"
same 'an answer of 20,000 backends' 20001 \
	"$("$ringlb" --socket "$T/large" backend list | wc -l)"
same 'an answer byte by byte' "$(run --socket "$T/socket" status)" \
	"$(run --socket "$T/drip" status)"

# --- JSON -----------------------------------------------------------------------

while read -r words; do
	# shellcheck disable=SC2086 # words on purpose
	set -- $words
	text=$("$ringlb" --json "${online[@]}" "$@")
	same "--json before and after '$words'" "$text" "$("$ringlb" "$@" "${online[@]}" --json)"
	same "which is JSON" true "$(jq -s 'length == 1' <<<"$text")"
done <<'WORDS'
status
vip list
vip add 192.0.2.10:80/tcp --pool web
vip remove 192.0.2.10:80/tcp
pool list
backend list
backend add web22 10.0.0.2
backend remove web22
backend weight web22 0.5
lookup tcp 192.0.2.1:1 192.0.2.10:80
stats
reload
save
down
WORDS
same '--json prints the result, all of it' '[4242,"single",null]' \
	"$("$ringlb" --json "${online[@]}" status | jq -c '[.pid, .interfaces[1].attach, .ok]')"
same '--json has the verdicts without packets too' 2 \
	"$("$ringlb" stats --json "${online[@]}" | jq '.verdicts | length')"

# --- what goes wrong --------------------------------------------------------------

refused "ringlb: pool 'web' has no backend 'web9'" "${online[@]}" backend weight web9 1
refused "ringlb: pool 'web' has no backend 'web9'" "${online[@]}" --json backend weight web9 1
refused 'ringlb: two?lines and ?[31mred' "${online[@]}" backend remove evil
refused "ringlb: cannot reach ringlbd at '$T/none': No such file or directory (is ringlbd running?)" \
	--socket "$T/none" status
refused "ringlb: cannot reach ringlbd at '$T/none': No such file or directory (is ringlbd running?)" \
	--json --socket "$T/none" status
refused "ringlb: cannot reach ringlbd at '$T/stale': Connection refused (is ringlbd running?)" \
	status --socket "$T/stale"
refused "ringlb: cannot reach ringlbd at '': No such file or directory (is ringlbd running?)" \
	status --socket ''
long=$T/$(printf '%0120d' 0)
refused "ringlb: cannot reach ringlbd at '$long': File name too long" status --socket "$long"
refused "ringlb: ringlbd at '$T/hang-up' hung up without an answer" --socket "$T/hang-up" status
refused "ringlb: ringlbd at '$T/garbage' sent an answer that is not valid" \
	--socket "$T/garbage" status
refused "ringlb: ringlbd at '$T/no-result' sent an answer that is not valid" \
	--socket "$T/no-result" status
refused 'ringlb: ringlbd serves 64 clients already' --socket "$T/full" status

if [ "$(id -u)" -eq 0 ]; then
	# The build may be where others cannot look.
	install -m 755 "$ringlb" "$T/ringlb"
	chmod 755 "$T"
	chmod 600 "$T/socket"
	same 'without permission' \
		"ringlb: cannot reach ringlbd at '$T/socket': Permission denied (this takes root or membership of group ringlb)" \
		"$(setpriv --reuid 65534 --regid 65534 --clear-groups "$T/ringlb" --socket "$T/socket" status 2>&1)"
else
	n=$((n + 1))
	echo "ok $n - without permission # SKIP needs root to become somebody else"
fi

# Without a daemon, `down` works by itself.
prints 'nothing to remove' down --socket "$T/none" --pin-dir "$T/no-pins"
same 'down --json without a daemon' '{"removed":[]}' \
	"$("$ringlb" down --json --socket "$T/stale" --pin-dir "$T/no-pins" | jq -c .)"
refused "ringlb: ringlbd at '$T/hang-up' hung up without an answer" \
	down --socket "$T/hang-up" --pin-dir "$T/no-pins"

# --- where it prints to -------------------------------------------------------------

lost='ringlb: cannot write to standard output:'
same 'a full disk' "1 $lost No space left on device" \
	"$("$ringlb" "${online[@]}" status 2>&1 >/dev/full | { read -r line; echo "1 $line"; })"
"$ringlb" "${online[@]}" status >/dev/full 2>/dev/null
same 'a full disk: status' 1 $?
same 'no stdout' "$lost Bad file descriptor" "$("$ringlb" "${online[@]}" status 2>&1 >&-)"
"$ringlb" --help >&- 2>/dev/null
same 'no stdout: status' 1 $?
: >"$T/requests"
"$ringlb" "${online[@]}" --json backend list <&- >&- 2>&-
same 'no standard stream at all: status' 1 $?
same 'and nothing but the request is sent' '{"command": "backend.list"}' "$(cat "$T/requests")"
"$ringlb" "${online[@]}" status now 2>&-
same 'no stderr: status' 2 $?
"$ringlb" --socket "$T/large" backend list 2>"$T/err" | head -n 1 >/dev/null
same 'a reader that leaves: status' 1 "${PIPESTATUS[0]}"
same 'a reader that leaves' "$lost Broken pipe" "$(cat "$T/err")"

wait "$hanging"
same 'a daemon that does not answer' "status 1
err: ringlb: ringlbd at '$T/hang' did not answer within 10 s" "$(cat "$T/hang.result")"
wait "$crowded"
same 'a daemon that does not accept' "status 1
err: ringlb: ringlbd at '$T/crowded' did not answer within 10 s" "$(cat "$T/crowded.result")"

echo "1..$n"
