#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Number of samples below and above the rate limit, compared with the kernel's own
# perf, in one boot in the PMU-modelling QEMU.
#
#   curve.sh [6.12|6.1]		[6.12]
#
# Prints a table in parts of the limit.

set -eu
. "$(dirname "$0")/../setup/common.sh"

# The kernel's perf would lower its limit, see run.sh. It accepts no other limit once
# that is disabled.
guest() {
	echo 'set -e'
	echo 'echo 4000 > /proc/sys/kernel/perf_event_max_sample_rate'
	echo 'echo 0 > /proc/sys/kernel/perf_cpu_time_max_percent'
	echo './rate_curve perf >> /share/curve'
	echo 'insmod pmuring.ko cpu_time_max_percent=0 max_sample_rate=4000'
	echo './rate_curve pmuring >> /share/curve'
}

table() {
	awk -F'\t' '
		{ row = $1 "\t" $3; if (!(row in seen)) { seen[row] = 1; rows[n++] = row } }
		{ got[row, $2] = $4 }
		END {
			printf "%-16s%8s%8s%10s\n", "event", "asked", "perf", "pmuring"
			for (i = 0; i < n; i++) {
				split(rows[i], key, "\t")
				printf "%-16s%8s%8s%10s\n", key[1], key[2],
				       got[rows[i], "perf"], got[rows[i], "pmuring"]
			}
		}' "$1"
}

main() {
	local kernel=${1:-6.12} kver dir

	"$ROOT/scripts/setup/packages.sh" build vm
	kver=$("$ROOT/scripts/kernel/versions.sh" "$kernel")
	make --no-print-directory -C "$ROOT" tools >&2
	make --no-print-directory -C "$ROOT" module KVER="$kver" >&2
	dir=$BUILD/bench/curve-$kver
	rm -rf "$dir"
	mkdir -p "$dir"
	"$ROOT/scripts/vm/run" --kernel "$kernel" --smp 1 --name "curve-$kernel" --share "$dir" \
		--file "$BUILD/$kver/pmuring.ko" --file "$BUILD/bench/rate_curve" -- "$(guest)"
	table "$dir/curve"
}

main "$@"
