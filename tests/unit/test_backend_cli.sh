#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The command line of ringlb-backend: usage, exit statuses, and what it says.
#
# Usage: tests/unit/test_backend_cli.sh        B=DIR: where it was built (build)
set -u
cd "$(dirname "$0")/../.." || exit 1
backend=$(realpath "${B:-build}")/ringlb-backend
export LC_ALL=C

T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT
trap 'exit 1' INT TERM
cp "$backend" "$T/ringlb-backend" && chmod 755 "$T" || exit 1

# shellcheck source=tests/unit/tap.sh
. tests/unit/tap.sh

# Without a right to do anything: what gets past the arguments fails for that.
run() {
	(cd "$T" && setpriv --reuid=65534 --regid=65534 --clear-groups ./ringlb-backend "$@" 2>&1
		echo "status $?")
}

# usage LINE ARGUMENTS...: wrong usage, told on one line
usage() {
	local line=$1
	shift
	same "wrong: $*" "ringlb-backend: $line
status 2" "$(run "$@")"
}

# fine ARGUMENTS...: nothing is wrong but that this is not root
fine() {
	same "fine: $*" "ringlb-backend: root is needed, to look at programs as well as to attach them
status 1" "$(run "$@")"
}

hint="see 'ringlb-backend --help'"
usage "no command given, $hint"
usage "no command given, $hint" --json
usage "unknown command 'attache', $hint" attache
usage "unknown option '--vips', $hint" attach eth0 --vips 192.0.2.1
usage "unknown option '-v', $hint" -v
usage "the interface is missing, $hint" attach
usage "the interface is missing, $hint" attach --vip 192.0.2.1
usage "the interface is missing, $hint" detach
usage "'attach' needs --vip ADDRESS, $hint" attach eth0 --mode dr
usage "option '--vip' needs a value, $hint" attach eth0 --vip
must_vip='an address like 192.0.2.1 or 2001:db8::1, or a prefix like 192.0.2.0/24, without bits behind its length'
usage "--vip must be $must_vip, got '192.0.2'" attach eth0 --vip 192.0.2
usage "--vip must be $must_vip, got '192.0.2.1/24'" attach eth0 --vip 192.0.2.1/24
usage "--vip must be $must_vip, got '2001:db8::/129'" attach eth0 --vip 2001:db8::/129
usage "--vip must be $must_vip, got ''" attach eth0 --vip=
usage "--vip must be $must_vip, got 'x'" attach eth0 --vip 192.0.2.1 x
usage "--vip must be a prefix of /8 or longer, of /16 with IPv6, got '10.0.0.0/7'" attach eth0 --vip 10.0.0.0/7
usage "--vip must be a prefix of /8 or longer, of /16 with IPv6, got '2000::/15'" attach eth0 --vip 2000::/15
usage "--vip must be an address that others can reach, got '127.0.0.1'" attach eth0 --vip 127.0.0.1
usage "--vip must be an address that others can reach, got 'ff02::1'" attach eth0 --vip ff02::1
usage "IFACE must be the name of an interface, got 'a/b'" attach a/b --vip 192.0.2.1
usage "IFACE must be the name of an interface, got 'sixteen-letters-'" detach sixteen-letters-
usage "IFACE must be the name of an interface, got ''" check ''
usage "--mode must be ipip, gue or dr, got 'gre'" attach eth0 --vip 192.0.2.1 --mode gre
usage "--mode must be ipip, gue or dr, got 'ipip and gue'" attach eth0 --vip 192.0.2.1 --mode 'ipip and gue'
for port in 0 65536 -1 '' x 6080x ' 1' 99999999999999999999; do
	usage "--gue-port must be a number from 1 to 65535, got '$port'" attach eth0 --vip 192.0.2.1 --gue-port "$port"
done
for mss in 535 65496 1400b; do
	usage "--mss-clamp must be a number from 536 to 65495, got '$mss'" attach eth0 --vip 192.0.2.1 --mss-clamp "$mss"
done
for from in 10.0.0.1/8 10.0.0.0/33 x fd00::/129; do
	usage "--from must be a prefix like 10.0.0.0/24, without bits behind its length, got '$from'" \
		attach eth0 --vip 192.0.2.1 --from "$from"
done
usage "--gue-port does not go with --mode ipip" attach eth0 --vip 192.0.2.1 --mode ipip --gue-port 6081
usage "--gue-port does not go with --mode dr" attach eth0 --vip 192.0.2.1 --gue-port 6081 --mode dr
usage "--from does not go with --mode dr: there is no outer source" attach eth0 --vip 192.0.2.1 --mode dr --from 10.0.0.1
usage "--egress only says where --mss-clamp works: give that too" attach eth0 --vip 192.0.2.1 --egress eth1
usage "--egress must be the name of an interface, got 'a b'" attach eth0 --vip 192.0.2.1 --mss-clamp 1400 --egress 'a b'
usage "only 'attach' takes such options, $hint" detach eth0 --vip 192.0.2.1
usage "only 'attach' takes such options, $hint" status --mode dr
usage "only 'check' and 'status' take --json, $hint" attach eth0 --vip 192.0.2.1 --json
usage "unexpected argument 'eth1', $hint" detach eth0 eth1
usage "unexpected argument '192.0.2.2', $hint" attach eth0 --vip 192.0.2.1 --mode dr 192.0.2.2
# 512 VIPs are what a host may have.
mapfile -t vips < <(for ((i = 0; i < 513; i++)); do echo "10.1.$((i / 256)).$((i % 256))"; done)
usage "there are more than 512 VIPs" attach eth0 --vip "${vips[@]}"
mapfile -t from < <(for ((i = 0; i < 65; i++)); do echo "10.$i.0.0/16"; done)
usage "there are more than 64 prefixes for --from" attach eth0 --vip 192.0.2.1 --from "${from[@]}"

fine attach eth0 --vip "${vips[@]:1}"
fine attach eth0 --vip "${vips[@]:1}" "${vips[1]}"
fine attach eth0 --vip 192.0.2.1 2001:db8::1 --vip 192.0.2.2 --from 10.0.0.1 fd00::/8 --mode gue --gue-port 1
fine attach eth0 --vip=192.0.2.1 --mode=ipip --mss-clamp=65495 --egress=eth1
fine --vip 192.0.2.1 --mss-clamp 536 --state /tmp attach eth0
fine attach eth0
fine detach eth0
fine check
fine check eth0 --json
fine status --json
fine status eth0

out=$("$backend" --help)
same 'help: status' 0 $?
same 'help begins with usage' 'usage: ringlb-backend attach IFACE --vip ADDRESS... [OPTION]...' "${out%%$'\n'*}"
for word in attach detach check status --vip --mode --gue-port --from --mss-clamp --egress --json \
	--state --verbose --version forge 'gone after a boot' 'Exit status' examples; do
	same "help says $word" yes "$(grep -qF -- "$word" <<<"$out" && echo yes)"
done
same 'help fits a terminal' '' "$(awk 'length > 100' <<<"$out")"
same 'help after a command' "$out" "$("$backend" attach --help)"
same 'version' "ringlb-backend $(sed -n 's/^VERSION := //p' Makefile)" "$("$backend" --version)"
"$backend" --help >/dev/full 2>"$T/err"
same 'help into a full disk: status' 1 $?
same 'help into a full disk' 'ringlb-backend: cannot write to standard output: No space left on device' "$(<"$T/err")"
echo "1..$n"
