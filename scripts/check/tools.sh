#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A stage of `make check`: builds the user programs, as they ship and under ASan
# and UBSan. Warnings are errors in both.

set -eu
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
. "$ROOT/scripts/check/results.sh"
begin

verdict "tools: build" "$OUT/tools.log" make -C "$ROOT" -j"$JOBS" tools || :
verdict "tools: build with sanitizers" "$OUT/tools-san.log" make -C "$ROOT" -j"$JOBS" tools SAN=1 || :
[ -x "$BUILD/tools/pmuring" ] || fail "tools: build" "no build/tools/pmuring came out"
finish
