#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A stage of `make check`: the test programs against the real module, one boot.
#
#   e2e.sh NAME 6.1|6.12|base|debug|kcsan [VM-OPTION...]
#
# 6.1 and 6.12 are stock Debian kernels, the others test kernels, where a minute of
# stress is 5 s.
#
# NAME picks the tests: `nopmu*` runs tools/tests/nopmu*_test.c, which expect no
# PMU that pmuring knows; `quirks*` those of CPU models; `late` those whose right answer
# does not depend on where a PMI arrives; `lossy` those that stand the loss of PMIs;
# `stale` some that count; `kexec` the one that starts another kernel; any other name all
# but these and nopmu's. TESTS="exec_test task_test"
# picks among them. The module is that of module.sh (kunit.sh for a test kernel), the
# programs are those of `make tools`; on 6.1 the tool is the one built with sanitizers.

set -eu
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
. "$ROOT/scripts/check/results.sh"
. "$ROOT/scripts/check/kernel.sh"
begin

NAME=e2e-$1
KERNEL=$2
shift 2
LOG=$OUT/$NAME.log

tool() {
	case $KERNEL in
	6.1) echo "$BUILD/san/tools/pmuring" ;;
	*) echo "$BUILD/tools/pmuring" ;;
	esac
}

# The sources say what there is to run: a binary whose source is gone is not
# run, one that did not build is missed.
chosen() {
	local test name

	for test in "$ROOT"/tools/tests/*_test.c "$ROOT"/tools/tests/*_test.sh; do
		[ -e "$test" ] || continue
		name=${test##*/}
		case " ${TESTS:-${name%.*}} " in *" ${name%.*} "*) ;; *) continue ;; esac
		case $test in *.c) test=$BUILD/tests/${name%.c} ;; esac
		case $NAME:$name in
		e2e-nopmu*:nopmu*) echo "$test" ;;
		e2e-nopmu*) ;;
		e2e-quirks*:quirks_*) echo "$test" ;;
		e2e-quirks*) ;;
		e2e-late:task_* | e2e-late:race_* | e2e-late:hotplug_* | e2e-late:lost_* | \
			e2e-late:poll_* | e2e-late:group_* | e2e-late:pinned_* | \
			e2e-late:multiplex_* | e2e-late:pingpong_*)
			echo "$test" ;;
		e2e-late:*) ;;
		e2e-lossy:silent_*) echo "$test" ;;
		e2e-lossy:*) ;;
		e2e-stale:count_* | e2e-stale:coexist_* | e2e-stale:silent_*) echo "$test" ;;
		e2e-stale:*) ;;
		e2e-kexec:kexec_*) echo "$test" ;;
		e2e-kexec:* | *:kexec_*) ;;
		*:nopmu*) ;;
		*) echo "$test" ;;
		esac
	done
}

boot() {
	local -a files=(--file "$OUT/$KVER/pmuring.ko" --file "$ROOT/scripts/check/run-tests.sh")
	local file list=

	for file in $CHOSEN; do
		files+=(--file "$file:/tests/")
		list+=" /tests/${file##*/}"
	done
	# programs of known length, and whatever else the tests run
	for file in "$BUILD"/tests/*; do
		case $file in *_test) ;; *) files+=(--file "$file:/tests/") ;; esac
	done
	# a guest that starts the next kernel has its image
	[ "$NAME" != e2e-kexec ] ||
		files+=(--file "$("$ROOT/scripts/kernel/stock.sh" "$KERNEL")/vmlinuz")
	"$ROOT/scripts/vm/run" --kernel "$IMAGE" --name "$NAME" --log "$OUT/$NAME.console" \
		--timeout 1500 "${VM[@]}" --program "$(tool)" --program perf \
		"${files[@]}" "$@" -- \
		"export TEST_TIMEOUT=$LIMIT PMURING_TIME_LIMIT=$TIME_LIMIT PMURING_STRESS_SECONDS=${MINUTE:-60}; echo 0 > /proc/sys/kernel/perf_cpu_time_max_percent; /root/run-tests.sh /root/pmuring.ko$list"
}

# KCSAN stalls an access in thousands for up to a ms, so what a test measures in time says
# nothing there: it runs for the races, and a result that fails otherwise is a skip.
races_only() {
	sed -i '/kernel log is clean\|no splat\|did not end\|results for a plan\|come to its end\|Bail out\|is left/!s/^fail\t\([^\t]*\)\t.*/skip\t\1\tKCSAN stalls accesses, so that this measures something else/' "$RESULTS"
}

present() {
	local file

	for file; do
		[ -x "$file" ] || return 1
	done
}

choose_kernel "$KERNEL"
case $KERNEL in 6.*) VM+=(--module msr) ;; *) MINUTE=5 ;; esac
# a checking kernel takes 0.6 s for each load of the module, which fail_nth_test asks for 600 times
# and a sample, which makes many checked accesses, more time than the default limit leaves
LIMIT=600 TIME_LIMIT=
case $KERNEL in debug | kcsan) LIMIT=1800 TIME_LIMIT=0 ;; esac
CHOSEN=$(chosen)
# shellcheck disable=SC2086	# one word for each test, throughout
if [ -z "$CHOSEN" ]; then
	fail "$NAME" "no test to run"
elif ! present $CHOSEN; then
	fail "$NAME" "tests that did not build: run 'make tools'"
elif [ ! -e "$OUT/$KVER/pmuring.ko" ]; then
	fail "$NAME" "no module: scripts/check/module.sh $KERNEL, for a test kernel kunit.sh, comes first"
else
	# a failed result makes no failed boot: the results below count that
	rc=0
	boot "$@" > "$LOG" 2> "$OUT/$NAME.err" || rc=$?
	if [ "$rc" = 0 ]; then
		pass "$NAME: no splat, module unloads"
	else
		fail "$NAME: no splat, module unloads" \
			"status $rc: $(tail -n 1 "$OUT/$NAME.err"); output: ${LOG#"$ROOT"/}"
	fi
	# shellcheck disable=SC2046,SC2086
	python3 "$ROOT/scripts/check/tap.py" tap "$NAME" "$LOG" "$RESULTS" \
		$(basename -s .sh -a $CHOSEN) || fail "$NAME" "its results cannot be read"
	[ "$KERNEL" != kcsan ] || races_only
fi
finish
