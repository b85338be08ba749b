#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# `make check-debug`: the unit tests and the end-to-end tests once more in the
# debug kernel, with KASAN, lockdep, atomic-sleep checks and, after the module is
# unloaded, kmemleak. Not part of `make check`: the kernel takes ten minutes to
# build, and under KASAN everything runs several times slower.

set -eu
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
. "$ROOT/scripts/check/results.sh"

mkdir -p "$OUT"
"$ROOT/scripts/setup/packages.sh"
make -C "$ROOT" -j"$JOBS" tools >&2
RESULTS=$OUT/kunit-debug.results "$ROOT/scripts/check/kunit.sh" debug || :
RESULTS=$OUT/e2e-debug.results "$ROOT/scripts/check/e2e.sh" debug debug --timeout 3600 || :
summarize "$OUT/kunit-debug.results" "$OUT/e2e-debug.results"
