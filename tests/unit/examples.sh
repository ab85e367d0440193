# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Examples of commands in pages, run so far that they are understood. To be sourced after tap.sh.

# examples_prepare DIR: an empty directory, where they are run, as nobody, with nobody who answers
examples_prepare() {
	EXAMPLES=$1
	cp "$B/ringlb" "$B/ringlb-backend" "$EXAMPLES" && chmod 755 "$EXAMPLES" || exit 1
	printf '%s\n' 'seed: 1' 'interfaces: [{name: eth0}]' 'pools:' \
		'  - {name: web, forward: dr, backends: [{name: web1, address: 10.0.0.1}, {name: web2, address: 10.0.0.2}]}' \
		'vips: [{address: 192.0.2.10, protocol: tcp, port: 80, pool: web}]' >"$EXAMPLES/new.yaml"
}

# Lines of commands on standard input. What they are piped to, and what follows, is not ours; nor
# is what is said beside them.
examples_run() {
	local line words status
	while read -r line; do
		line=${line%%   *} line=${line%% \#*} line=${line%% |*} line=${line%% &&*}
		case $line in 'ringlb demo: '*) continue ;; 'ringlb '* | 'ringlb-backend '*) ;; *) continue ;; esac
		eval "words=(${line//\/etc\/ringlb\/ringlb.yaml/new.yaml})"
		[ "${words[0]}" != ringlb ] || words=(ringlb --socket ./none "${words[@]:1}")
		(cd "$EXAMPLES" && setpriv --reuid=65534 --regid=65534 --clear-groups "./${words[0]}" "${words[@]:1}" >out 2>&1)
		status=$?
		if [ $status -lt 2 ]; then
			passed "an example is understood: $line"
		else
			failed "an example is understood: $line" "status $status: $(<"$EXAMPLES/out")"
		fi
	done
}
