#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A stage of `make check`: builds the module from nothing with W=1 and looks at
# it with sparse; and that it does not build for PREEMPT_RT, where it does not run.
#
#   module.sh 6.1|6.12
#
# The module stays in build/check/KVER, apart from `make module`'s, so that a
# warning of an earlier build cannot hide in objects that are up to date. With QUICK=1
# what is out of date is built, and that is all.

set -eu
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
. "$ROOT/scripts/check/results.sh"
begin

SERIES=$1
KVER=$("$ROOT/scripts/kernel/versions.sh" "$SERIES")
export STAGE=$OUT/$KVER

build() {
	"$ROOT/scripts/kernel/build-module.sh" "$KVER" "" "$@"
}

# refuses_rt LOG: one line says why, and nothing is compiled
refuses_rt() {
	! build CONFIG_PREEMPT_RT=y > "$1" 2>&1 &&
		[ "$(grep -c 'pmuring does not run on PREEMPT_RT' "$1")" = 1 ] && ! grep -q ' CC ' "$1"
}

if [ -n "${QUICK:-}" ]; then
	verdict "module $SERIES: builds" "$OUT/module-$SERIES.log" build W=1 || :
	finish
	exit
fi
rm -rf "$STAGE"
if verdict "module $SERIES: builds" "$OUT/module-$SERIES.log" build W=1; then
	clean "module $SERIES: no warning with W=1" "$OUT/module-$SERIES.log"
	verdict "module $SERIES: sparse runs" "$OUT/sparse-$SERIES.log" build W=1 C=2 &&
		clean "module $SERIES: sparse finds nothing" "$OUT/sparse-$SERIES.log"
fi
LOG=$OUT/module-$SERIES-rt.log
if refuses_rt "$LOG"; then
	pass "module $SERIES: refuses to build for PREEMPT_RT"
else
	fail "module $SERIES: refuses to build for PREEMPT_RT" "see ${LOG#"$ROOT"/}"
fi
finish
