#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A stage of `make check`: unmodified programs from Debian, perf, PAPI and
# libpfm4's examples, on the kernel's perf and through the preload library, one
# boot.
#
#   clients.sh NAME 6.1|6.12|base|debug|kcsan [VM-OPTION...]
#
# NAME picks the tests: `nopmu*` runs tools/tests/clients/nopmu*_test.sh on a kernel
# that leaves the PMU alone; any other name all the others.
# TESTS="stat record" picks some by name, SIDES=kernel asks the kernel's perf alone,
# MODULE=FILE takes another module than that of module.sh. The programs are those of
# `make tools`.

set -eu
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
. "$ROOT/scripts/check/results.sh"
. "$ROOT/scripts/check/kernel.sh"
begin

NAME=clients-$1
KERNEL=$2
shift 2
LOG=$OUT/$NAME.log
CLIENTS=$ROOT/tools/tests/clients
LIBRARY=$BUILD/tools/libpmuring-preload.so
choose_kernel "$KERNEL"
MODULE=${MODULE:-$OUT/$KVER/pmuring.ko}

# chosen: the names of the scripts
chosen() {
	local test

	for test in ${TESTS:-$(cd "$CLIENTS" && ls ./*_test.sh)}; do
		test=${test#./}
		test=${test%_test.sh}
		case $NAME:$test in
		clients-nopmu*:nopmu*) echo "${test}_test" ;;
		clients-nopmu*) ;;
		*:nopmu*) ;;
		*) echo "${test}_test" ;;
		esac
	done
}

boot() {
	local examples program test list=
	local -a args=()

	examples=$("$ROOT/scripts/setup/libpfm-examples.sh")
	for program in perf papi_avail papi_component_avail papi_native_avail papi_command_line \
		papi_cost strace; do
		args+=(--program "$program")
	done
	# for their libraries; they lie where the tests look for them
	for program in "$examples"/*; do
		args+=(--file "$program:/clients/libpfm/")
	done
	for program in "$CLIENTS"/*.sh "$LIBRARY"; do
		args+=(--file "$program:/clients/")
	done
	for test in $CHOSEN; do
		list+=" /clients/$test.sh"
	done
	case $NAME in
	# the kernel finds no PMU that it can drive, though CPUID shows one
	clients-nopmu*) args+=(--append clearcpuid=arch_perfmon) ;;
	esac
	"$ROOT/scripts/vm/run" --kernel "$IMAGE" --name "$NAME" --log "$OUT/$NAME.console" \
		--timeout 1500 "${VM[@]}" "${args[@]}" \
		--file "$BUILD/tests/spin:/tests/" --file "$BUILD/tests/clients:/tests/" \
		--file "$MODULE" --file "$ROOT/scripts/check/run-tests.sh" "$@" -- \
		"export SIDES='${SIDES:-kernel pmuring}'; /root/run-tests.sh /root/pmuring.ko$list"
}

"$ROOT/scripts/setup/packages.sh" clients
CHOSEN=$(chosen)
if [ ! -e "$LIBRARY" ] || [ ! -e "$BUILD/tests/clients/chain" ]; then
	fail "$NAME" "programs that did not build: run 'make tools'"
elif [ ! -e "$MODULE" ]; then
	fail "$NAME" "no module: scripts/check/module.sh $KERNEL comes first"
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
	# shellcheck disable=SC2086	# one word for each
	python3 "$ROOT/scripts/check/tap.py" tap "$NAME" "$LOG" "$RESULTS" $CHOSEN ||
		fail "$NAME" "its results cannot be read"
fi
finish
