#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# `make check-host`: the end-to-end tests against pmuring.ko on this machine, for
# people with a PMU. Without tool_test.sh, which wants counters exact to the
# instruction. Needs root and the running kernel's headers; loads and
# unloads the module many times.

set -eu
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
. "$ROOT/scripts/check/results.sh"
begin

KVER=$(uname -r)
LOG=$OUT/host.log

require() {
	[ "$(id -u)" = 0 ] || die "check-host loads a module: run it as root"
	[ -d "/lib/modules/$KVER/build" ] ||
		die "no headers of the running kernel: apt-get install linux-headers-$KVER"
	! grep -q '^pmuring ' /proc/modules ||
		die "pmuring is loaded: 'rmmod pmuring' first"
}

# kernel_log_since MARK: what the kernel said from a line on
kernel_log_since() {
	dmesg | sed -n "/$1/,\$p"
}

require
"$ROOT/scripts/setup/packages.sh" build check
make -C "$ROOT" -j"$JOBS" module KVER="$KVER" tools >&2
MARK="pmuring check-host $$"
echo "$MARK" > /dev/kmsg
TESTS=$(find "$BUILD/tests" -name '*_test' ! -name 'nopmu*' ! -name 'kexec*' | sort)
[ -n "$TESTS" ] || die "no tests in build/tests"
# shellcheck disable=SC2086	# one word for each test
sh "$ROOT/scripts/check/run-tests.sh" "$BUILD/$KVER/pmuring.ko" $TESTS | tee "$LOG"
# shellcheck disable=SC2046,SC2086
python3 "$ROOT/scripts/check/tap.py" tap host "$LOG" "$RESULTS" $(basename -a $TESTS)
kernel_log_since "$MARK" > "$OUT/host.console"
verdict "host: no splat" "$OUT/host.splats" "$ROOT/scripts/vm/splats" "$OUT/host.console" || :
finish
