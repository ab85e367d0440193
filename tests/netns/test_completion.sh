#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What bash offers after a Tab: commands and options as the programs have them, and what ringlbd
# has live.
# shellcheck source=tests/netns/lib.sh
. "$(dirname "$0")/lib.sh"

# A bash of its own that answers: one line in, the words that would be offered out, on one line.
shell() {
	cat <<-'BASH'
		set -u
		. /usr/share/bash-completion/bash_completion 2>/dev/null
		. "$1/ringlb"
		. "$1/ringlb-backend"
		# As readline has it: ':' and '=' are words of their own.
		line=$2
		read -ra COMP_WORDS <<<"$(sed 's/[:=]/ & /g' <<<"$line")"
		[[ $line != *' ' ]] || COMP_WORDS+=('')
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$line COMP_POINT=${#line} COMP_TYPE=9
		COMPREPLY=()
		case $line in
		ringlb-backend*) _ringlb_backend ringlb-backend "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" ;;
		*) _ringlb ringlb "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" ;;
		esac
		printf '%s\n' ${COMPREPLY[@]+"${COMPREPLY[@]}"} | sort | xargs
	BASH
}

offered() { (cd "$TOPOLOGY_DIR/files" && PATH=$B:$PATH bash "$TOPOLOGY_DIR/shell" "$ROOT/packaging/completion" "$1" 2>&1); }

# offers LINE WORDS: exactly these. L stands for the live daemon's socket.
offers() { check "${1//L/...} -> ${2:-nothing}" is "$(offered "${1//L/--socket $SOCKET}")" "$2"; }

help_of() { "$B/ringlb" "$@" --help | sed -nE 's/^  (--[a-z-]+).*/\1/p' | grep -v -- '--socket\|--json\|--help\|--version'; }

start two 3
shell >"$TOPOLOGY_DIR/shell"
mkdir -p "$TOPOLOGY_DIR/files/subdir"
touch "$TOPOLOGY_DIR/files/new.yaml"
sed -i '/name: dr4/,/name: dr6/s/name: b3/name: only-dr4/' "$CONFIG"

# ---- without a daemon ----

offers 'ringlb backend ' 'add drain list remove undrain weight'
offers 'ringlb ba' backend
offers 'ringlb backend dr' drain
offers 'ringlb --json vip ' 'add list remove'
offers 'ringlb --socket /nowhere backend drain ' ''
offers 'ringlb --socket /nowhere backend list --pool ' ''
offers 'ringlb backend remove x --' '--help --json --now --pool --socket --timeout --version'
offers 'ringlb backend remove --n' --now
offers 'ringlb check ' 'new.yaml subdir'
offers 'ringlb check n' new.yaml
offers 'ringlb down --pin-dir ' subdir
offers 'ringlb lookup ' 'sctp tcp udp'
offers 'ringlb lookup tcp ' ''
offers 'ringlb owner k1 --placement ' 'capped ring'
offers 'ringlb owner k1 --placement=c' capped
offers 'ringlb prefer k1 --spread ' rack
offers 'ringlb owner k1 --hash m' 'md5-32 md5-mod32'
offers 'ringlb vip add 192.0.2.1:80/tcp --pool web --hash s' 'source source-port-less'
offers 'ringlb nonsense ' ''
offers 'ringlb status ' ''
check 'ringlb: each command' is "$(offered 'ringlb ')" \
	"$("$B/ringlb" --help | sed -nE '/^options/q; s/^  ([a-z]+).*/\1/p' | sort -u | xargs)"
for words in simulate plan 'backend add' capture; do
	# shellcheck disable=SC2046,SC2086 # words
	check "ringlb $words: each option" is "$(offered "ringlb $words --")" \
		"$(printf '%s\n' --help --json --socket --version $(help_of $words) | sort | xargs)"
done

# ---- with one ----

check 'the daemon starts' daemon_start
offers 'ringlb L backend drain ' 'b1 b2 b3 only-dr4'
offers 'ringlb L backend drain o' only-dr4
offers 'ringlb L backend weight ' 'b1 b2 b3 only-dr4'
offers 'ringlb L backend weight b1 ' ''
offers 'ringlb L backend remove --pool dr4 ' 'b1 b2 only-dr4'
offers 'ringlb L backend remove --pool=nat4 ' 'b1 b2 b3'
offers 'ringlb L backend add ' ''
offers 'ringlb L backend list --pool ' 'dr4 dr6 nat4 nat6'
offers 'ringlb backend list L --pool n' 'nat4 nat6'
offers 'ringlb L vip add 10.77.100.9:80/tcp --pool=dr' 'dr4 dr6'
# What is before the last colon is there already, for bash.
offers "ringlb L vip remove $DR4:8" 80/tcp
offers "ringlb L vip remove $NAT4" "$NAT4:7000/udp $NAT4:80/tcp"
offers 'ringlb L plan --pool dr4 rem' 'remove:b1 remove:b2 remove:only-dr4'
offers 'ringlb L plan --pool dr4 remove:b1 drain:o' only-dr4
offers 'ringlb L capture --verdict DROP_TT' DROP_TTL
check 'a backend joins' ringlb backend add fresh 10.77.2.99 --pool dr4
offers 'ringlb L backend drain f' fresh
check 'the daemon ends' daemon_end TERM
offers 'ringlb L backend drain ' ''

# ---- ringlb-backend ----

offers 'ringlb-backend ' 'attach check detach status'
offers 'ringlb-backend detach l' lo
offers 'ringlb-backend attach lo --mode ' 'dr gue ipip'
offers 'ringlb-backend attach lo --m' '--mode --mss-clamp'
offers 'ringlb-backend check --' '--help --json --state --verbose --version'
offers 'ringlb-backend check --state ' subdir
finish
