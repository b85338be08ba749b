#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What one sample costs: pmuring beside the kernel's own perf, in one boot of
# each stock kernel in the PMU-modelling QEMU.
#
#   run.sh [6.12|6.1]...		[6.12 6.1]

set -eu
. "$(dirname "$0")/../setup/common.sh"

# Under -icount an instruction takes a nanosecond, so perf believes that its
# NMIs are slow and throttles: the rate goes up first, then the limit goes.
GUEST='
echo 1000000 > /proc/sys/kernel/perf_event_max_sample_rate
echo 0 > /proc/sys/kernel/perf_cpu_time_max_percent
./sample_cost pmuring.ko'

measure() {
	local kernel=$1 kver

	kver=$("$ROOT/scripts/kernel/versions.sh" "$kernel")
	make --no-print-directory -C "$ROOT" module KVER="$kver" >&2
	printf '=== %s\n' "$kver"
	"$ROOT/scripts/vm/run" --kernel "$kernel" --name "bench-$kernel" --module msr \
		--file "$BUILD/$kver/pmuring.ko" --file "$BUILD/bench/sample_cost" -- "$GUEST"
}

main() {
	local kernel

	"$ROOT/scripts/setup/packages.sh" build vm
	make --no-print-directory -C "$ROOT" tools >&2
	[ $# != 0 ] || set -- 6.12 6.1
	for kernel; do
		measure "$kernel"
	done
}

main "$@"
