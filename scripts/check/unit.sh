#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A stage of `make check`: the tests of the user programs' parts, on this very
# machine, under ASan and UBSan. Needs the build of tools.sh; no module.
# TESTS="ring_test" picks among them.

set -eu
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
. "$ROOT/scripts/check/results.sh"
begin

LOG=$OUT/unit.log
UNITS=()

# the list comes from the sources, so a test that did not build is noticed
for source in "$ROOT"/tools/unit/*_test.c; do
	name=$(basename "$source" .c)
	[[ " ${TESTS:-$name} " != *" $name "* ]] || UNITS+=("$name")
done
[ ${#UNITS[@]} != 0 ] || fail unit "no test to run"

run_all() {
	local name rc

	for name; do
		echo "# RUN $name"
		rc=0
		# limit the CPU time, since other jobs may use both CPUs
		(ulimit -S -t 120; exec timeout 3600 "$BUILD/san/unit/$name") 2>&1 || rc=$?
		echo "# EXIT $name $rc"
	done
	echo "# DONE"
}

run_all "${UNITS[@]}" > "$LOG"
python3 "$ROOT/scripts/check/tap.py" tap unit "$LOG" "$RESULTS" "${UNITS[@]}" ||
	fail unit "its results cannot be read"
finish
