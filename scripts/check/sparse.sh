#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs sparse over the module; called by `make sparse`.
#
#   sparse.sh KVER

set -eu
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
. "$ROOT/scripts/check/results.sh"
begin

KVER=$1
LOG=$OUT/sparse-$KVER.log
"$ROOT/scripts/setup/packages.sh" check
verdict "sparse runs on $KVER" "$LOG" \
	"$ROOT/scripts/kernel/build-module.sh" "$KVER" "" C=2 &&
	clean "sparse finds nothing on $KVER" "$LOG"
finish
