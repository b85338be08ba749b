#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A stage of `make check`: the same questions to the kernel's perf and to pmuring
# in one boot, and their answers compared line by line.
#
#   parity.sh 6.1|6.12|base|debug|kcsan [VM-OPTION...]
#   parity.sh --table	the rows of the table in docs/differences.md
#
# tools/tests/parity/ has the questions. What differs on purpose is in its file
# `differences`: case TAB kernel TAB reason, where the kernel is 6.1, 6.12 or both.
# A case that differs and is not there fails, and so does an entry of a case that
# does not differ. One result for each group of cases, which is the first word of
# their names. The module is that of module.sh, the programs those of `make tools`.

set -eu
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
. "$ROOT/scripts/check/results.sh"
. "$ROOT/scripts/check/kernel.sh"

DIFFERENCES=$ROOT/tools/tests/parity/differences
# so many cases there are at least, whatever becomes of the program
CASES_MIN=2000

# table: one row for each reason, with some of its cases
table() {
	grep -v '^#' "$DIFFERENCES" | awk -F'\t' '
		!($3 in n) { order[++reasons] = $3 }
		{ label = $1 ($2 == "both" ? "" : " (" $2 ")") }
		++n[$3] <= 3 { cases[$3] = cases[$3] (n[$3] > 1 ? ", " : "") "`" label "`" }
		END {
			for (i = 1; i <= reasons; i++) {
				reason = order[i]
				more = n[reason] > 3 ? " and " n[reason] - 3 " more" : ""
				print "| " reason " | " cases[reason] more " |"
			}
		}'
}

if [ "${1:-}" = --table ]; then
	table
	exit
fi

begin
KERNEL=$1
shift
NAME=parity-$KERNEL
choose_kernel "$KERNEL"
SHARE=$OUT/$NAME.share
MODULE=${PARITY_MODULE:-$OUT/$KVER/pmuring.ko}

# in_guest: the kernel's perf first, while the PMU is free. Under icount perf
# takes its NMIs for slow, and would throttle events. Each file ends with a mark, or
# the run did not get that far.
in_guest() {
	cat <<-'END'
	echo 0 > /proc/sys/kernel/perf_cpu_time_max_percent
	parity > /share/perf && echo end >> /share/perf
	insmod /root/pmuring.ko && chmod 666 /dev/pmuring || exit 1
	LD_PRELOAD=/root/libpmuring-preload.so parity > /share/pmuring && echo end >> /share/pmuring
	rmmod pmuring
	END
}

boot() {
	rm -rf "$SHARE"
	mkdir -p "$SHARE"
	"$ROOT/scripts/vm/run" --kernel "$IMAGE" --name "$NAME" --log "$OUT/$NAME.console" \
		--timeout 900 --memory 1G "${VM[@]}" --program "$BUILD/parity/parity" \
		--file "$BUILD/tests/spin" --file "$BUILD/tools/libpmuring-preload.so" \
		--file "$MODULE" --share "$SHARE" "$@" -- "$(in_guest)"
}

# complete SIDE: it has answered to the end
complete() {
	[ "$(tail -n 1 "$SHARE/$1" 2>/dev/null)" = end ] && sed -i '$d' "$SHARE/$1"
}

# sane: the table and the reference can be trusted
sane() {
	local found

	found=$(grep -v '^#' "$DIFFERENCES" |
		awk -F'\t' 'NF != 3 || $2 !~ /^(6\.1|6\.12|both)$/ || $3 == "" || seen[$1 $2]++ { print $1 }')
	[ -z "$found" ] || { fail "$NAME: table of differences" "wrong lines: ${found//$'\n'/ }"; return; }
	found=$(cut -f1 "$SHARE/perf" | sort | uniq -d | head -n 5)
	[ -z "$found" ] || { fail "$NAME: names" "not unique: ${found//$'\n'/ }"; return; }
	[ "$(wc -l < "$SHARE/perf")" -ge "$CASES_MIN" ] ||
		{ fail "$NAME: cases" "only $(wc -l < "$SHARE/perf")"; return; }
	found=$(grep -E 'stopped: |HANGS|EXITS' "$SHARE/perf" | cut -f1)
	[ -z "$found" ] || { fail "$NAME: cases" "that ask perf nothing: ${found//$'\n'/ }"; return; }
	pass "$NAME: cases and table"
}

# The list of what differs, for the reader, goes to a log of its own.
compare() {
	awk -F'\t' -v name="$NAME" -v kernel="$SERIES" -v log_="$OUT/$NAME.log" '
		function differ(list, case_) { return list == "" ? case_ : list " " case_ }
		FILENAME ~ /differences$/ {
			if ($0 !~ /^#/ && ($2 == kernel || $2 == "both"))
				reason[$1] = $3
			next
		}
		FILENAME ~ /\/perf$/ { perf[$1] = $2; order[++n] = $1; next }
		{ ours[$1] = $2; if (!($1 in perf)) { perf[$1] = "(not asked)"; order[++n] = $1 } }
		END {
			for (i = 1; i <= n; i++) {
				c = order[i]
				match(c, /^[a-z]+/)
				g = substr(c, 1, RLENGTH)
				if (!(g in cases))
					groups[++ng] = g
				cases[g]++
				got = c in ours ? ours[c] : "(not answered)"
				if (got == perf[c]) {
					if (c in reason)
						stale[g] = differ(stale[g], c)
					continue
				}
				what = c in reason ? "on purpose: " reason[c] : "DIFFERS"
				printf "%s\t%s\n\tperf\t%s\n\tours\t%s\n", c, what, perf[c], got > log_
				if (c in reason)
					purpose[g]++
				else {
					wrong[g]++
					if (wrong[g] <= 5)
						list[g] = differ(list[g], c)
				}
			}
			for (c in reason)
				if (!(c in perf))
					unknown = differ(unknown, c)
			for (i = 1; i <= ng; i++) {
				g = groups[i]
				text = sprintf("%s: %s, %d cases, %d of them differ on purpose", name, g, cases[g], purpose[g])
				if (wrong[g])
					printf "fail\t%s\t%d differ: %s%s\n", text, wrong[g], list[g], (wrong[g] > 5 ? " ..." : "")
				else if (stale[g] != "")
					printf "fail\t%s\tno longer differ: %s\n", text, stale[g]
				else
					printf "pass\t%s\t\n", text
			}
			if (unknown != "")
				printf "fail\t%s: table of differences\tno such case: %s\n", name, unknown
		}' "$DIFFERENCES" "$SHARE/perf" "$SHARE/pmuring" >> "$RESULTS"
}

if [ ! -e "$MODULE" ]; then
	fail "$NAME" "no module: scripts/check/module.sh $KERNEL comes first"
elif [ ! -x "$BUILD/parity/parity" ] || [ ! -e "$BUILD/tools/libpmuring-preload.so" ]; then
	fail "$NAME" "programs that did not build: run 'make tools'"
else
	rc=0
	: > "$OUT/$NAME.log"
	boot "$@" > "$OUT/$NAME.out" 2>&1 || rc=$?
	if [ "$rc" = 0 ]; then
		pass "$NAME: no splat, module unloads"
	else
		fail "$NAME: no splat, module unloads" "status $rc: $(tail -n 1 "$OUT/$NAME.out")"
	fi
	if ! complete perf; then
		fail "$NAME: perf answers" "it did not come to the end, see ${OUT#"$ROOT"/}/$NAME.out"
	elif ! complete pmuring; then
		fail "$NAME: pmuring answers" "it did not come to the end, see ${OUT#"$ROOT"/}/$NAME.out"
	else
		sane
		compare
	fi
fi
finish
