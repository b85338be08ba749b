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
PIDS=()

# stage NAME COMMAND...: runs it with a results file of its own. A stage that
# ends badly without saying why, or without any result, has failed.
stage() {
	local name=$1 rc=0 start=$SECONDS results=$OUT/$1.results

	shift
	say "$name ..."
	: > "$results"
	: > "$OUT/$name.running"
	RESULTS=$results "$@" > "$OUT/$name.stage" 2>&1 </dev/null || rc=$?
	if [ "$rc" != 0 ] && ! grep -q '^fail' "$results"; then
		printf 'fail\t%s\tstage ended with status %s: %s; see %s\n' "$name" "$rc" \
			"$(tail -n 1 "$OUT/$name.stage" | tr '\t' ' ')" "build/check/$name.stage" >> "$results"
	elif [ ! -s "$results" ]; then
		printf 'fail\t%s\tno result at all\n' "$name" >> "$results"
	fi
	rm -f "$OUT/$name.running"
	say "$name: $(cut -f1 "$results" | sort | uniq -c | awk '{ printf "%s%d %s", sep, $1, $2; sep = ", " }') ($((SECONDS - start)) s)"
	sed -n 's/^fail\t\([^\t]*\)\t\(.*\)/  FAILED \1: \2/p' "$results" >&2
}

# start NAME COMMAND...: in the background, once there is room
start() {
	# the heartbeat is a job too
	while [ "$(jobs -rp | wc -l)" -gt "$AT_ONCE" ]; do
		sleep 1
	done
	STARTED+=("$OUT/$1.results")
	stage "$@" &
	PIDS+=($!)
}

# settle: until all that were started have ended
settle() {
	wait "${PIDS[@]}" || :
	PIDS=()
}

# heartbeat: every half minute what runs, and the last that it said, until killed
heartbeat() {
	local mark name last

	# a sleep that outlives us must not hold our output open
	while sleep 30 > /dev/null 2>&1; do
		for mark in "$OUT"/*.running; do
			[ -e "$mark" ] || continue
			name=$(basename "$mark" .running)
			last=$(tail -qn 1 "$OUT/$name.log" 2>/dev/null || tail -n 1 "$OUT/$name.stage")
			say "... $SECONDS s, $name: $(printf %.100s "$last")"
		done
	done
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
	local here=$ROOT/scripts/check pulse

	mkdir -p "$BUILD"
	exec 9> "$BUILD/check.lock"
	flock -n 9 || die "another 'make check' runs in this tree"
	rm -rf "$OUT"
	mkdir -p "$OUT"
	heartbeat 9>&- &
	pulse=$!
	# shellcheck disable=SC2064	# this pulse
	trap "kill $pulse 2>/dev/null || :" EXIT
	"$ROOT/scripts/setup/packages.sh"

	# what the machines need, first
	start qemu qemu
	start module-6.12 "$here/module.sh" 6.12
	start module-6.1 "$here/module.sh" 6.1
	start judges "$here/selftest.sh"
	start cache "$here/cache.sh"
	start tools "$here/tools.sh"
	settle

	# the longest first
	start e2e-6.12 "$here/e2e.sh" 6.12 6.12
	start e2e-6.1 "$here/e2e.sh" 6.1 6.1
	start clients-6.12 "$here/clients.sh" 6.12 6.12
	start clients-6.1 "$here/clients.sh" 6.1 6.1
	start parity-6.12 "$here/parity.sh" 6.12
	start parity-6.1 "$here/parity.sh" 6.1
	start kunit-base "$here/kunit.sh" base
	start unit "$here/unit.sh"
	start docs "$here/docs.sh"
	start clients-nopmu "$here/clients.sh" nopmu 6.12
	start e2e-nopmu-amd "$here/e2e.sh" nopmu-amd 6.12 --cpu amd
	start e2e-nopmu "$here/e2e.sh" nopmu 6.1 --no-icount
	# PMIs that arrive after their counter was stopped
	start e2e-late "$here/e2e.sh" late 6.12 --cpu-flags pmu-skid=200,pmu-late=3000
	# PMIs that are lost, and masked for those behind them, or arrive without status
	start e2e-lossy "$here/e2e.sh" lossy 6.12 \
		--cpu-flags pmu-lose=3,pmu-lose-masks=on,pmu-eat=5
	# what firmware left behind, and silicon that interrupts while a counter is wrapped
	start e2e-stale "$here/e2e.sh" stale 6.12 --cpu-flags \
		pmu-stale=0x7c00000700000003,pmu-stale-pebs=0xff,pmu-relatch-counter=on
	# CPU models whose counters need something else
	start e2e-quirks-haswell "$here/e2e.sh" quirks-haswell 6.12 --cpu Haswell
	start e2e-quirks-broadwell "$here/e2e.sh" quirks-broadwell 6.1 --cpu Broadwell
	start checkpatch "$here/checkpatch.sh"
	settle

	say "$SECONDS s"
	summarize "${STARTED[@]}"
}

main
