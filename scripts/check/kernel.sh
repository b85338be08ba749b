# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034	# what it sets is for the stages
#
# The kernel that a stage boots, and its expected messages. Sourced by stages, after results.sh.

# messages of a kernel with injected allocation failures; for --expect-splat
LOST_ALLOCATION='page allocation failure|vmalloc error: size|Huh VM_FAULT_OOM leaked out'

# choose_kernel 6.1|6.12|base|debug|kcsan: IMAGE, what scripts/vm/run boots; KDIR, empty
# for a stock kernel; KVER; SERIES, 6.1 or 6.12; VM, what the machine needs for it
choose_kernel() {
	KDIR=
	VM=()
	case $1 in
	base|debug|kcsan)
		KDIR=$("$ROOT/scripts/kernel/test-kernel.sh" "$1")
		IMAGE=$KDIR/arch/x86/boot/bzImage
		KVER=$(cat "$KDIR/include/config/kernel.release")
		SERIES=6.12
		# the unit tests have a stage of their own
		VM=(--append kunit.enable=0 --memory 2G)
		# each watched access adds a delay: enough to find races, and the tests still end
		[ "$1" != kcsan ] || VM+=(--append kcsan.skip_watch=4000)
		;;
	*)
		IMAGE=$1
		KVER=$("$ROOT/scripts/kernel/versions.sh" "$1")
		SERIES=$1
		;;
	esac
}
