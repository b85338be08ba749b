#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# `make check`: every stage, two at a time, then one verdict.
#
# The last line is `N passed, N failed, N skipped`; before it every failure and
# every skip with its reason. Logs, console logs and results: build/check/.

set -eu
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
. "$ROOT/scripts/check/results.sh"

AT_ONCE=2
STARTED=()

# stage NAME COMMAND...: runs it with a results file of its own. A stage that
# ends badly without saying why, or without any result, has failed.
stage() {
	local name=$1 rc=0 start=$SECONDS results=$OUT/$1.results

	shift
	say "$name ..."
	: > "$results"
	RESULTS=$results "$@" > "$OUT/$name.stage" 2>&1 </dev/null || rc=$?
	if [ "$rc" != 0 ] && ! grep -q '^fail' "$results"; then
		printf 'fail\t%s\tstage ended with status %s: %s; see %s\n' "$name" "$rc" \
			"$(tail -n 1 "$OUT/$name.stage" | tr '\t' ' ')" "build/check/$name.stage" >> "$results"
	elif [ ! -s "$results" ]; then
		printf 'fail\t%s\tno result at all\n' "$name" >> "$results"
	fi
	say "$name: $(cut -f1 "$results" | sort | uniq -c | awk '{ printf "%s%d %s", sep, $1, $2; sep = ", " }') ($((SECONDS - start)) s)"
	sed -n 's/^fail\t\([^\t]*\)\t\(.*\)/  FAILED \1: \2/p' "$results" >&2
}

# start NAME COMMAND...: in the background, once there is room
start() {
	while [ "$(jobs -rp | wc -l)" -ge "$AT_ONCE" ]; do
		wait -n || :
	done
	STARTED+=("$OUT/$1.results")
	stage "$@" &
}

qemu() {
	if [ -n "${QEMU:-}" ]; then
		[ -x "$QEMU" ] || return 1
	else
		"$ROOT/scripts/qemu/build.sh" >/dev/null
	fi
	printf 'pass\tqemu: with the PMU model\t\n' >> "$RESULTS"
}

main() {
	local here=$ROOT/scripts/check

	rm -rf "$OUT"
	mkdir -p "$OUT"
	"$ROOT/scripts/setup/packages.sh"

	# what the machines need, first
	start qemu qemu
	start module-6.12 "$here/module.sh" 6.12
	start module-6.1 "$here/module.sh" 6.1
	start tools "$here/tools.sh"
	wait

	# the longest first
	start e2e-6.12 "$here/e2e.sh" 6.12 6.12
	start e2e-6.1 "$here/e2e.sh" 6.1 6.1
	start kunit-base "$here/kunit.sh" base
	start e2e-nopmu-amd "$here/e2e.sh" nopmu-amd 6.12 --cpu amd
	start e2e-nopmu "$here/e2e.sh" nopmu 6.1 --no-icount
	start checkpatch "$here/checkpatch.sh"
	wait

	say "$SECONDS s"
	summarize "${STARTED[@]}"
}

main
