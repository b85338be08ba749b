#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The cost of pmuring compared with the kernel's own perf, in one boot of each stock
# kernel in the PMU-modelling QEMU: samples, context switches, system calls.
#
#   run.sh [--assert] [6.12|6.1]...	[6.12 6.1]
#
# Prints one table per kernel, and leaves it in build/bench/VERSION.tsv for
# programs (columns: table.py). Exit status: 1 when something could not be
# measured right, and with --assert also when a goal is missed.

set -eu
. "$(dirname "$0")/../setup/common.sh"

# the first one finds a kernel in which no event was ever open
PROGRAMS=(switch_cost call_cost sample_cost storm_cost)

# Commands of the guest. perf runs first: once the module is loaded, every NMI passes
# its handler too, which would add to perf's cost. Under -icount an instruction takes a
# nanosecond, so perf takes its NMIs for slow and throttles: raise the rate first, then
# disable the limit.
guest() {
	local program

	echo 'set -e'
	echo 'echo 1000000 > /proc/sys/kernel/perf_event_max_sample_rate'
	echo 'echo 0 > /proc/sys/kernel/perf_cpu_time_max_percent'
	# Debian's perf has nothing for users otherwise
	echo 'echo 2 > /proc/sys/kernel/perf_event_paranoid'
	for program in "${PROGRAMS[@]}"; do
		echo "./$program perf >> /share/numbers"
	done
	echo 'insmod pmuring.ko'
	for program in "${PROGRAMS[@]}"; do
		echo "./$program pmuring >> /share/numbers"
	done
}

# measure KERNEL KVER: the programs' lines, in build/bench/KVER/numbers. One
# CPU: the clock counts the instructions of all of them.
measure() {
	local kernel=$1 kver=$2 program
	local -a files=(--file "$BUILD/$kver/pmuring.ko")

	for program in "${PROGRAMS[@]}"; do
		files+=(--file "$BUILD/bench/$program")
	done
	rm -rf "$BUILD/bench/$kver"
	mkdir -p "$BUILD/bench/$kver"
	"$ROOT/scripts/vm/run" --kernel "$kernel" --smp 1 --name "bench-$kernel" --module msr \
		--share "$BUILD/bench/$kver" "${files[@]}" -- "$(guest)"
}

main() {
	local kernel kver status rc=0 missed=0

	[ "${1:-}" != --assert ] || { missed=1; shift; }
	"$ROOT/scripts/setup/packages.sh" build vm
	make --no-print-directory -C "$ROOT" tools >&2
	[ $# != 0 ] || set -- 6.12 6.1
	for kernel; do
		kver=$("$ROOT/scripts/kernel/versions.sh" "$kernel")
		make --no-print-directory -C "$ROOT" module KVER="$kver" >&2
		measure "$kernel" "$kver"
		status=0
		"$ROOT/scripts/bench/table.py" "$kver" "$BUILD/bench/$kver/numbers" \
			"$BUILD/bench/$kver.tsv" || status=$?
		echo
		[ "$status" != 1 ] || status=$missed
		[ "$status" = 0 ] || rc=1
	done
	return $rc
}

main "$@"
