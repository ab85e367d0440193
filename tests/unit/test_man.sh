#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The man pages say what the programs say of themselves, all of it and nothing else: commands,
# options, fields of the configuration. Their examples are understood.
#
# Usage: tests/unit/test_man.sh        B=DIR: where the programs are (build)
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(realpath "${B:-build}")
export LC_ALL=C

T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT
trap 'exit 1' INT TERM

# shellcheck source=tests/unit/tap.sh
. tests/unit/tap.sh
# shellcheck source=tests/unit/examples.sh
. tests/unit/examples.sh

# As it is read, without the bold letters.
rendered() { mandoc -T ascii "man/$1" | sed 's/.\x08//g'; }

# What it says, on one line with single spaces, and with words whole that were broken at a hyphen.
flat() { sed -E ':next; /[^ ]-$/ { N; s/\n +//; b next }' | one_line; }
one_line() { tr -s '[:space:]' ' '; }

# Lines of standard input that are not in the flat text of a file.
missing_in() {
	local line text
	text=$(<"$1")
	while read -r line; do
		[[ $text == *" $line "* ]] || echo "$line"
	done
}

# ---- pages ----

for page in ringlb.8 ringlbd.8 ringlb.yaml.5 ringlb-backend.8; do
	# Manuals of other packages may not be here.
	same "$page: sound" '' "$(mandoc -T lint -W style "man/$page" 2>&1 | grep -v 'referenced manual not found\|mandoc.db')"
	rendered "$page" >"$T/$page"
	flat <"$T/$page" >"$T/$page.flat"
	same "$page: refers to the others" 3 "$(sed '1,/^\.Sh SEE ALSO/d' "man/$page" | grep -cE '^\.Xr ringlb(d|\.yaml|-backend)? [58]')"
done
same 'these are all pages' 'ringlb-backend.8 ringlb.8 ringlb.yaml.5 ringlbd.8' "$(cd man && echo *)"

# ---- ringlb.8 ----

# The help's commands, one a line. What goes on in the next line begins with an option.
help_commands() {
	"$B/ringlb" --help | awk '
		/^options/ { exit }
		/^  [a-z]/ { if (line) print line; line = substr($0, 3); next }
		/^ +\[/ { sub(/^ +/, ""); line = line " " $0 }
		END { print line }'
}

help_words() { help_commands | grep -oE '^[a-z]+( [a-z]+)?' | sort -u; }

# "--pool POOL pool; needed where several would fit", as both have it
flat_lines() { sed -E 's/ +/ /g; s/ $//'; }
options_of() { sed -n '/^options/,/^$/s/^  --/--/p' | flat_lines; }
all_options() {
	"$B/ringlb" --help | options_of
	help_words | while read -r words; do
		# shellcheck disable=SC2086 # a command of two words
		"$B/ringlb" $words --help | options_of
	done
}
all_options | sort -u >"$T/options"

same 'ringlb.8: there are commands to look for' yes "$([ "$(help_commands | wc -l)" -gt 20 ] && echo yes)"
same 'ringlb.8: has each command with its options' '' "$(help_commands | missing_in "$T/ringlb.8.flat")"
same 'ringlb.8: has no others' "$(help_commands | wc -l)" \
	"$(grep -c '^\.It Cm' man/ringlb.8)"
same 'ringlb.8: there are options to look for' yes "$([ "$(wc -l <"$T/options")" -gt 30 ] && echo yes)"
same 'ringlb.8: has each option as its help says' '' "$(missing_in "$T/ringlb.8.flat" <"$T/options")"
same 'ringlb.8: has no others' "$(wc -l <"$T/options")" "$(grep -c '^\.It Fl' man/ringlb.8)"

# What each command is about, in the words of its help but for quotes.
about() {
	"$B/ringlb" "$@" --help | awk '/^(options|examples):/ { exit } /^$/ { on = 1 } on' | tr "'" '"' | one_line
	echo
}
tr "'" '"' <"$T/ringlb.8.flat" >"$T/quotes"
stale=$(help_words | while read -r words; do
	# shellcheck disable=SC2086 # a command of two words
	about $words | missing_in "$T/quotes"
done)
same 'ringlb.8: says of each command what its help says' '' "$stale"
same 'ringlb.8: exit statuses' '' "$("$B/ringlb" --help | sed -n 's/^Exit status: //p' | tr ',' '\n' | grep -oE '[012] [a-z ]+' |
	sed -E 's/^(.) /\1: /' | while read -r status; do grep -qF "$status" "$T/ringlb.8.flat" || echo "$status"; done)"

# ---- the others ----

# Options with a short form in ringlbd: "-c, --config FILE"
"$B/ringlbd" --help | sed -n 's/^  -/-/p' | flat_lines | sed 's/, --/, --/' >"$T/daemon"
same 'ringlbd.8: has each option as its help says' '' "$(missing_in "$T/ringlbd.8.flat" <"$T/daemon")"
same 'ringlbd.8: has no others' "$(wc -l <"$T/daemon")" "$(grep -c '^\.It Fl' man/ringlbd.8)"
same 'ringlbd.8: signals' "$("$B/ringlbd" --help | grep -oE 'SIG[A-Z]+' | sort -u)" \
	"$(grep -oE 'Dv SIG[A-Z]+' man/ringlbd.8 | cut -d ' ' -f 2 | sort -u)"

"$B/ringlb-backend" --help | grep -oE '^  --[a-z-]+( [A-Z]+(\.\.\.)?)?|^  --version, --help' | sed 's/^  //; s/, /\n/' >"$T/backend"
same 'ringlb-backend.8: has each option' '' "$(missing_in "$T/ringlb-backend.8.flat" <"$T/backend")"
same 'ringlb-backend.8: has no others' "$(wc -l <"$T/backend")" "$(grep -c '^\.It Fl' man/ringlb-backend.8)"
same 'ringlb-backend.8: has each command' \
	"$("$B/ringlb-backend" --help | sed -n 's/.*ringlb-backend \([a-z]*\) [I[].*/\1/p' | head -n 4 | sort)" \
	"$(grep -oE '^\.It Cm [a-z]+' man/ringlb-backend.8 | cut -d ' ' -f 3 | sort)"
same 'ringlb-backend.8: defaults' '' "$("$B/ringlb-backend" --help | grep -oE '\(default[^)]*\)' | missing_in "$T/ringlb-backend.8.flat")"

# ---- ringlb.yaml.5 ----

# Names of the fields in a table of the parser, as the compiler sees it.
fields() {
	gcc -E -P -D_GNU_SOURCE -I. -Iuserspace "userspace/config/$1.c" |
		awk -v table="$2[]" 'index($0, "config_field " table " = {") { on = 1 } on { print } /^};/ { on = 0 }' |
		sed 's/" "//g; s/{/\n/g' | sed -nE 's/.*\.name = "([a-z0-9_]+)".*/\1/p' | sort
}

# Fields that the page lists in a section.
listed() {
	awk -v start=".Ss $1" '$0 == start { on = 1; next } /^\.S[hs]/ { on = 0 }
		/^\.Bl/ { depth += on } /^\.El/ { depth -= on }
		on && depth == 1 && /^\.It Cm/ { print $3 }' man/ringlb.yaml.5 | sort
}

while read -r file table title; do
	known=$(fields "$file" "$table")
	same "ringlb.yaml.5: $title: there are fields to look for" yes "$([ "$(wc -l <<<"$known")" -gt 1 ] && echo yes)"
	same "ringlb.yaml.5: $title: all fields" "$known" "$(listed "$title")"
done <<'TABLES'
read root_fields Top level
read interface_fields interfaces
read pool_fields pools
read backend_fields backends
check fields check
flows fields flows
encap fields encap
vip fields vips
TABLES

# ---- examples ----

# Literal blocks of a page, each in a file of its own.
blocks() { awk -v to="$T/$1.block" '/^\.Ed/ { on = 0 } on { print > (to n) } /^\.Bd/ { on = 1; n++ }' "man/$1"; }

for page in ringlb.8 ringlbd.8 ringlb.yaml.5 ringlb-backend.8; do blocks "$page"; done
for file in "$T"/ringlb.yaml.5.block*; do
	grep -q '^seed:' "$file" || continue
	same "ringlb.yaml.5: an example is accepted: ${file##*.}" 0 "$("$B/ringlb" check "$file" >"$T/out" 2>&1; echo $?)"
done
mkdir "$T/examples"
examples_prepare "$T/examples"
before=$n
examples_run < <(cat "$T"/ringlb.8.block* "$T"/ringlbd.8.block* "$T"/ringlb-backend.8.block*)
same 'there were examples' yes "$([ $((n - before)) -gt 20 ] && echo yes)"
echo "1..$n"
