#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# `make check`: every stage, two at a time, then one verdict.
#
# ONLY="e2e-6.12 docs" runs these stages and what they build upon; `*` matches
# anything. TESTS="exec_test group_test" picks among the tests of e2e-*, TESTS="stat"
# among those of clients-*, TESTS="pmuring_freq" among the suites of kunit-*, and
# TESTS="ring_test" among those of unit. What a stage builds upon is then brought up to
# date (QUICK=1) and not checked from scratch.
#
# The last line is `N passed, N failed, N skipped`; before it every failure and
# every skip with its reason. Logs, console logs and results: build/check/.

set -eu
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
. "$ROOT/scripts/check/results.sh"

# `make check TESTS=...` must not set a variable of that name in the makes below
unset MAKEFLAGS

AT_ONCE=2
STARTED=()
PIDS=()
read -ra PICKED <<< "${ONLY:-}"

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
	# without an argument, wait would wait for the heartbeat as well
	[ ${#PIDS[@]} = 0 ] || wait "${PIDS[@]}" || :
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

# The stages: name | stages that it needs | command. Those behind the empty line start
# when all before it have ended, the longest first.
stages() {
	cat <<-'END'
	qemu               |                      | qemu
	module-6.12        |                      | module.sh 6.12
	module-6.1         |                      | module.sh 6.1
	judges             |                      | selftest.sh
	cache              |                      | cache.sh
	tools              |                      | tools.sh

	e2e-6.12           | qemu module-6.12 tools | e2e.sh 6.12 6.12
	e2e-6.1            | qemu module-6.1 tools  | e2e.sh 6.1 6.1
	clients-6.12       | qemu module-6.12 tools | clients.sh 6.12 6.12
	clients-6.1        | qemu module-6.1 tools  | clients.sh 6.1 6.1
	parity-6.12        | qemu module-6.12 tools | parity.sh 6.12
	parity-6.1         | qemu module-6.1 tools  | parity.sh 6.1
	kunit-base         | qemu                   | kunit.sh base
	unit               | tools                  | unit.sh
	docs               | module-6.12 tools      | docs.sh
	clients-nopmu      | qemu module-6.12 tools | clients.sh nopmu 6.12
	e2e-nopmu-amd      | qemu module-6.12 tools | e2e.sh nopmu-amd 6.12 --cpu amd
	e2e-nopmu          | qemu module-6.1 tools  | e2e.sh nopmu 6.1 --no-icount
	# PMIs that arrive after their counter was stopped
	e2e-late           | qemu module-6.12 tools | e2e.sh late 6.12 --cpu-flags pmu-skid=200,pmu-late=3000
	# PMIs that are lost, and masked for those behind them, or arrive without status
	e2e-lossy          | qemu module-6.12 tools | e2e.sh lossy 6.12 --cpu-flags pmu-lose=3,pmu-lose-masks=on,pmu-eat=5
	# what firmware left behind, and silicon that interrupts while a counter is wrapped
	e2e-stale          | qemu module-6.12 tools | e2e.sh stale 6.12 --cpu-flags pmu-stale=0x7c00000700000003,pmu-stale-pebs=0xff,pmu-relatch-counter=on
	# the PMU as the next kernel finds it
	e2e-kexec          | qemu module-6.12 tools | e2e.sh kexec 6.12
	# CPU models whose counters need something else
	e2e-quirks-haswell | qemu module-6.12 tools | e2e.sh quirks-haswell 6.12 --cpu Haswell
	e2e-quirks-broadwell | qemu module-6.1 tools | e2e.sh quirks-broadwell 6.1 --cpu Broadwell
	checkpatch         |                        | checkpatch.sh
	END
}

# matches STAGE PATTERN...: one of them names it
matches() {
	local pattern stage=$1

	shift
	for pattern; do
		# shellcheck disable=SC2053	# a pattern
		[[ $stage != $pattern ]] || return 0
	done
	return 1
}

# asked STAGE: ONLY names it, or nothing
asked() {
	[ ${#PICKED[@]} = 0 ] || matches "$1" "${PICKED[@]}"
}

# needed: the stages that those asked for build upon
needed() {
	local name needs command

	while IFS='|' read -r name needs command; do
		! asked "${name// /}" || echo "$needs"
	done < <(stages | grep -v '^#')
}

# check_choice: ONLY and TESTS make sense
check_choice() {
	local pattern name names

	[ ${#PICKED[@]} != 0 ] || [ -z "${TESTS:-}" ] ||
		die "TESTS picks among the tests of a stage: give ONLY=<stage> too"
	names=$(stages | sed -n 's/^\([a-z][^ ]*\) .*/\1/p')
	for pattern in "${PICKED[@]}"; do
		for name in $names; do
			! matches "$name" "$pattern" || continue 2
		done
		die "ONLY: no stage is called '$pattern'; there are ${names//$'\n'/ }"
	done
}

# run_stages: all that are wanted, see above
run_stages() {
	local name needs command wanted quick
	local -a words

	wanted=" $(needed | tr '\n' ' ') "
	while IFS='|' read -r name needs command; do
		case $name in '') settle; continue ;; '#'*) continue ;; esac
		name=${name// /}
		quick=
		if ! asked "$name"; then
			[[ $wanted == *" $name "* ]] || continue
			quick=1
		fi
		read -ra words <<< "$command"
		[[ ${words[0]} != *.sh ]] || words[0]=$ROOT/scripts/check/${words[0]}
		QUICK=$quick start "$name" "${words[@]}"
	done < <(stages)
	settle
}

main() {
	local pulse

	check_choice
	mkdir -p "$BUILD"
	exec 9> "$BUILD/check.lock"
	flock -n 9 || die "another 'make check' runs in this tree"
	# the modules stay for those that are only brought up to date
	[ ${#PICKED[@]} != 0 ] || rm -rf "$OUT"
	mkdir -p "$OUT"
	rm -f "$OUT"/*.results "$OUT"/*.running
	heartbeat 9>&- &
	pulse=$!
	# shellcheck disable=SC2064	# this pulse
	trap "kill $pulse 2>/dev/null || :" EXIT
	"$ROOT/scripts/setup/packages.sh"
	run_stages
	say "$SECONDS s"
	summarize "${STARTED[@]}"
}

main
