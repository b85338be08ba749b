#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The tool end to end: what `pmuring stat`, `record` and `report` say about a
# program of known length, and that Debian's perf reads the same file. Run by
# scripts/check/run-tests.sh; a POSIX shell, since the guest has no other.

# what spin.S executes in user space, exit's system call included; no other
# stop of the program adds to it
LENGTH=20000004
PERIOD=100003
SAMPLES=$((LENGTH / PERIOD))

spin=${0%/*}/spin
pmuring=${PMURING:-pmuring}
data=$(mktemp)
out=$(mktemp)
n=0

# ok WHAT COMMAND...: one result, by the command's status; its output on failure
ok() {
	what=$1
	shift
	n=$((n + 1))
	if "$@" > "$out.now" 2>&1; then
		echo "ok $n - $what"
	else
		tail -qn 8 "$out.now" "$out" | sed 's/^/# /'
		echo "not ok $n - $what"
	fi
}

# run COMMAND...: output to $out, status kept
run() {
	"$@" > "$out" 2>&1 < /dev/null
}

prints() {
	grep -qE -e "$1" "$out"
}

# script_has N: N lines of `perf script` are in spin_here
script_has() {
	[ "$(grep -c spin_here "$out")" = "$1" ]
}

echo 1..16

ok "doctor finds nothing to mend" run "$pmuring" doctor
ok "doctor names the PMU" prints 'PMU'

ok "stat runs a command" run "$pmuring" stat -e instructions:u "$spin"
ok "stat counts it to the instruction" prints '^ *20,000,004 +instructions:u'

ok "record runs a command" run "$pmuring" record -e instructions:u -c $PERIOD -o "$data" "$spin"
ok "report reads the file" run "$pmuring" report -i "$data"
ok "report: one sample each period" prints "^# Samples: $SAMPLES of event 'instructions:u'"
ok "report: the function, command and object" prints '100\.00% .*spin .*spin .*spin_here'
ok "report: the totals" prints "^# Totals: $SAMPLES samples, 0 lost, 0 throttled"

ok "perf report reads the file" run perf report --stdio -i "$data"
ok "perf report: the function" prints '100\.00% .*spin .*spin .*spin_here'
ok "perf script reads the file" run perf script -i "$data"
ok "perf script: every sample in the function" script_has $SAMPLES

run "$pmuring" record -e nonsense -o "$data" "$spin"
ok "an unknown event is named in the error" prints "error: .*'nonsense'"
run "$pmuring" record -p 999999 -o "$data"
ok "a dead process is named in the error" prints 'error: .*999999'
ok "no file: the error names it" sh -c "! $pmuring report -i /nonexistent > $out 2>&1 && grep -q 'error: .*/nonexistent' $out"

rm -f "$data" "$out" "$out.now"
