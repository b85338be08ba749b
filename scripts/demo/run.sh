#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# make demo: profiles real programs on a stock Debian kernel in the PMU-modelling
# QEMU and prints where the time went.
#
#   run.sh
#
# Environment: LINES_SHOWN=<n> lines of each profile [15]; QEMU=, ACCEL=, CPU= as
# scripts/vm/run takes them. Leaves build/demo/{user,kernel}.data and kallsyms.
#
# The guest's half is guest.sh. What is slow is cached: the first run takes
# minutes (QEMU), later ones less than one.

set -eu
. "$(dirname "$0")/../setup/common.sh"

SERIES=6.12
OUT=$BUILD/demo
LINES_SHOWN=${LINES_SHOWN:-15}
# MiB of the kernel's source archive that the guest works on
INPUT_MB=24

step() {
	printf '\n== %s (%d s)\n' "$*" "$SECONDS" >&2
}

build() {
	step "packages"
	"$ROOT/scripts/setup/packages.sh" build vm demo
	KVER=$("$ROOT/scripts/kernel/versions.sh" "$SERIES")
	step "the tool and the module for $KVER"
	make -s -C "$ROOT" --no-print-directory tools
	make -s -C "$ROOT" --no-print-directory module KVER="$KVER"
	step "QEMU with a PMU (minutes when it is not in the cache)"
	[ -n "${QEMU:-}" ] || QEMU=$("$ROOT/scripts/qemu/build.sh" | tail -n 1)
	export QEMU
}

# the first part of the archive, as it comes: tar's complaint about its end is
# expected and guest.sh knows
make_input() {
	local archive=/usr/src/linux-source-$SERIES.tar.xz input=$OUT/source.tar

	[ -e "$archive" ] || die "no $archive: apt-get install linux-source-$SERIES"
	[ "$input" -nt "$archive" ] && return 0
	step "the input: $INPUT_MB MiB of ${archive##*/}"
	# head closes the pipe early, which ends xz
	{ xz -dc "$archive" 2>/dev/null || :; } | head -c "${INPUT_MB}M" > "$input.new"
	mv "$input.new" "$input"
}

boot() {
	local program
	local -a args=()

	for program in perl sort sha256sum head tar cp grep rm wc; do
		args+=(--program "$program")
	done
	step "booting Debian's $KVER and recording"
	mkdir -p "$OUT/share"
	"$ROOT/scripts/vm/run" --kernel "$SERIES" --name demo --timeout 300 --memory 1G \
		--program "$BUILD/tools/pmuring" "${args[@]}" \
		--file "$BUILD/tools/pmuring:$BUILD/tools/" \
		--file "$BUILD/$KVER/pmuring.ko" --file "$ROOT/scripts/demo/guest.sh" \
		--file "$OUT/source.tar" --share "$OUT/share" \
		-- "PMURING=$BUILD/tools/pmuring sh /root/guest.sh"
	mv "$OUT"/share/* "$OUT/"
	rmdir "$OUT/share"
}

# show NAME TITLE: the top of a profile, and always its totals
show() {
	local text

	text=$("$BUILD/tools/pmuring" report -i "$OUT/$1.data" --kallsyms "$OUT/kallsyms")
	printf '\n%s\n\n' "$2"
	printf '%s\n' "$text" | grep -v '^#$' | head -n $((LINES_SHOWN + 4))
	printf '%s\n' "$text" | tail -n 1
	printf 'All of it:\n  build/tools/pmuring report -i build/demo/%s.data --kallsyms build/demo/kallsyms\n' "$1"
	printf '  perf report --stdio -i build/demo/%s.data --kallsyms build/demo/kallsyms\n' "$1"
}

main() {
	rm -rf "$OUT/share"
	mkdir -p "$OUT"
	build
	make_input
	boot
	step "done"
	show user "Mostly user code: perl counts the words of the kernel's source, sort and sha256sum"
	show kernel "Mostly kernel code: unpack, copy, search and remove a source tree on tmpfs"
}

main "$@"
