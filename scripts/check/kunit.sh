#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A stage of `make check`: the KUnit suites of pmuring.ko in the test kernel,
# under the PMU-modelling QEMU.
#
#   kunit.sh [base|debug|kcsan]
#
# Every suite that a file in kunit/ defines has to run: the list is taken from
# the sources. TESTS="pmuring_freq pmuring_ring" picks among them.

set -eu
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
. "$ROOT/scripts/check/results.sh"
begin

FLAVOUR=${1:-base}
NAME=kunit-$FLAVOUR
# the suites are single-threaded and some compute a lot: disable watchpoints
APPEND=kcsan.early_enable=0
CONSOLE=$OUT/$NAME.console

suites() {
	python3 - "$ROOT"/kunit/*_test.c <<'PY'
import re, sys
for path in sys.argv[1:]:
    names = re.findall(r'struct kunit_suite\s+\w+\s*=\s*\{[^;]*?\.name\s*=\s*"([^"]+)"', open(path).read())
    if not names:
        sys.exit(f'{path}: defines no suite')
    print(*names, sep='\n')
PY
}

# chosen SUITE...: those of TESTS, or all
chosen() {
	local suite

	for suite; do
		[[ " ${TESTS:-$suite} " != *" $suite "* ]] || echo "$suite"
	done
}

# The kernel filters by one pattern: each suite that was picked gets a load of its own. A
# newline would be part of the pattern.
in_guest() {
	echo "set -e"
	if [ -z "${TESTS:-}" ]; then
		echo "insmod /root/pmuring.ko && rmmod pmuring"
	else
		# shellcheck disable=SC2086	# one word for each suite
		printf 'echo -n %s > /sys/module/kunit/parameters/filter_glob; insmod /root/pmuring.ko; rmmod pmuring\n' \
			$SUITES
	fi
}

boot() {
	"$ROOT/scripts/vm/run" --kernel "$KDIR/arch/x86/boot/bzImage" --name "$NAME" --log "$CONSOLE" \
		--memory 2G --timeout 600 --append "$APPEND" --file "$STAGE/pmuring.ko" -- \
		"$(in_guest)"
}

KDIR=$("$ROOT/scripts/kernel/test-kernel.sh" "$FLAVOUR")
KVER=$(cat "$KDIR/include/config/kernel.release")
export STAGE=$OUT/$KVER
SUITES=$(suites) || fail "$NAME" "cannot tell the suites: $SUITES"
# shellcheck disable=SC2086	# one word for each suite
SUITES=$(chosen $SUITES)
[ -n "$SUITES" ] || fail "$NAME" "no suite to run"
if verdict "$NAME: module builds" "$OUT/$NAME-build.log" \
	"$ROOT/scripts/kernel/build-module.sh" "$KVER" "$KDIR" W=1; then
	verdict "$NAME: loads, unloads, no splat" "$OUT/$NAME.log" boot || :
	# shellcheck disable=SC2086	# one word for each suite
	python3 "$ROOT/scripts/check/tap.py" ktap "$NAME" "$CONSOLE" "$RESULTS" $SUITES ||
		fail "$NAME" "its results cannot be read"
fi
finish
