#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# `make check-debug`: everything once more in the checking kernels. Not part of `make
# check`: the kernels take half an hour to build, and under KASAN everything runs
# several times slower.
#
#   debug.sh [STAGE...]	only these; without any, all
#
# A run that was cut short goes on with the STAGEs that are left; each leaves its results
# in build/check/STAGE.results. Environment: AT_ONCE=N, how many boots at once [2].
#
# In the debug kernel, with KASAN, lockdep, atomic-sleep checks and, after the module
# is unloaded, kmemleak: the unit tests, the end-to-end programs, among them the one
# that makes every allocation fail, parity, the clients, and random operations. In
# the kcsan kernel, for data races: the unit tests and the end-to-end programs. A boot
# has a handful of programs, so that one that kills the machine takes few along.
#
# The last line is `N passed, N failed, N skipped`, as for `make check`.

set -eu
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
. "$ROOT/scripts/check/results.sh"
. "$ROOT/scripts/check/kernel.sh"

HERE=$ROOT/scripts/check
# boots, each of which keeps one CPU busy
AT_ONCE=${AT_ONCE:-2}
PER_BOOT=6
TIMEOUT=3600

# programs: all that e2e.sh runs on a machine with a PMU, in handfuls, but kexec's
programs() {
	(cd "$ROOT/tools/tests" && ls -- *_test.c *_test.sh) | grep -v '^nopmu\|^kexec' |
		sed 's/\.[a-z]*$//' | xargs -n "$PER_BOOT"
}

# stages: NAME TAB COMMAND; a kernel's kunit stage builds the module for the others
stages() {
	local kernel tests expect n

	for kernel in debug kcsan; do
		printf 'kunit-%s\t%s/kunit.sh %s\n' "$kernel" "$HERE" "$kernel"
	done
	echo
	for kernel in debug kcsan; do
		n=0
		while read -r tests; do
			n=$((n + 1))
			expect=
			case $tests in *fail_nth*) expect=" --expect-splat '$LOST_ALLOCATION'" ;; esac
			printf 'e2e-%s-%d\tTESTS="%s" %s/e2e.sh %s-%d %s --timeout %d%s\n' \
				"$kernel" "$n" "$tests" "$HERE" "$kernel" "$n" "$kernel" "$TIMEOUT" \
				"$expect"
		done < <(programs)
	done
	printf 'parity-debug\t%s/parity.sh debug --timeout %d\n' "$HERE" "$TIMEOUT"
	printf 'clients-debug\t%s/clients.sh debug debug --timeout %d\n' "$HERE" "$TIMEOUT"
	printf 'fuzz-debug\t%s fuzz\n' "$HERE/debug.sh"
}

# random: the fuzzer as a stage; the operations that it says are the result
random() {
	begin
	choose_kernel debug
	verdict "fuzz-debug: 20000 operations, no splat, leak or hang" "$OUT/fuzz-debug.log" \
		env OPS=20000 KERNEL=debug MODULE="$OUT/$KVER/pmuring.ko" \
		"$ROOT/scripts/fuzz" || :
	finish
}

# stage NAME COMMAND: one that ends badly without saying why has failed
stage() {
	local results=$OUT/$1.results rc=0 start=$SECONDS

	: > "$results"
	RESULTS=$results bash -c "$2" > "$OUT/$1.stage" 2>&1 </dev/null || rc=$?
	if [ ! -s "$results" ] || { [ "$rc" != 0 ] && ! grep -q '^fail' "$results"; }; then
		printf 'fail\t%s\tended with status %s: %s\n' "$1" "$rc" \
			"$(tail -n 1 "$OUT/$1.stage" | tr '\t' ' ')" >> "$results"
	fi
	say "$1: $(cut -f1 "$results" | sort | uniq -c | awk '{ printf "%s%d %s", sep, $1, $2; sep = ", " }') ($((SECONDS - start)) s)"
	sed -n 's/^fail\t\([^\t]*\)\t\(.*\)/  FAILED \1: \2/p' "$results" >&2
}

main() {
	local name command
	local -a results=()

	mkdir -p "$OUT"
	"$ROOT/scripts/setup/packages.sh"
	make -C "$ROOT" -j"$JOBS" tools >&2
	# one after the other: both take all CPUs
	"$ROOT/scripts/kernel/test-kernel.sh" debug >&2
	"$ROOT/scripts/kernel/test-kernel.sh" kcsan >&2
	while IFS=$'\t' read -r name command; do
		[ -n "$name" ] || { wait; continue; }
		[ -z "${WANTED:-}" ] || case " $WANTED " in *" $name "*) ;; *) continue ;; esac
		while [ "$(jobs -rp | wc -l)" -ge "$AT_ONCE" ]; do
			wait -n || :
		done
		results+=("$OUT/$name.results")
		stage "$name" "$command" &
	done < <(stages)
	wait
	summarize "${results[@]}"
}

case "${1:-}" in
fuzz) random ;;
*) WANTED=$*; main ;;
esac
