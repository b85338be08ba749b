#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds pmuring.ko for one kernel. Called by `make module`.
#
#   build-module.sh KVER KDIR [MAKE-ARGUMENT...]
#
# KDIR is the kernel's build directory; empty: the headers of KVER (headers.sh).
# The result is build/KVER/pmuring.ko (STAGE= puts it elsewhere), and the module of the
# end-to-end tests, build/tests/neighbour-KVER.ko. The sources appear in build/KVER as
# symlinks, so that one tree serves several kernels side by side.

set -eu
. "$(dirname "$0")/../setup/common.sh"

KVER=$1
KDIR=${2:-$("$ROOT/scripts/kernel/headers.sh" "$1")}
shift 2
STAGE=${STAGE:-$BUILD/$KVER}

sources() {
	cd "$ROOT"
	[ -e Kbuild ] || die "no Kbuild in $ROOT: nothing to build"
	find Kbuild kmod kunit uapi tools/tests/module -type f \( -name Kbuild -o -name '*.[chS]' \)
}

# Links to files that are gone would still be compiled: drop them first.
stage() {
	local file

	mkdir -p "$STAGE"
	find "$STAGE" -xtype l -delete
	while read -r file; do
		[ -L "$STAGE/$file" ] || {
			mkdir -p "$(dirname "$STAGE/$file")"
			ln -sf "$ROOT/$file" "$STAGE/$file"
		}
	done < <(sources)
}

[ -f "$KDIR/Makefile" ] ||
	die "no kernel headers for $KVER in $KDIR: see scripts/kernel/headers.sh"
# Two builds in one directory would tear each other's files.
mkdir -p "$STAGE"
exec 9> "$STAGE/.lock"
flock 9
stage
make -C "$KDIR" M="$STAGE" PMURING_TESTS=m --no-print-directory -j"$JOBS" "$@" modules
# where the end-to-end tests find it
mkdir -p "$BUILD/tests"
cp "$STAGE/tools/tests/module/neighbour.ko" "$BUILD/tests/neighbour-$KVER.ko"
