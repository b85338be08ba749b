#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The kernel's own style checker over our C files. Called by `make checkpatch`
# and as a stage of `make check`. The script comes from Debian's linux-source
# package and is kept in the cache.

set -eu
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
. "$ROOT/scripts/check/results.sh"
begin

SOURCE=linux-source-6.12

# These are files, not patches, outside a kernel tree. Only compat.h tests versions.
IGNORED=FILE_PATH_CHANGES,EMAIL_SUBJECT
IGNORED_COMPAT=$IGNORED,LINUX_VERSION_CODE,CONSTANT_COMPARISON
# user space has no kernel types, helpers, macros or headers, has the C library's
# and elfutils' names, and messages to people, which are not broken
IGNORED_USER=$IGNORED,PREFER_KERNEL_TYPES,ARRAY_SIZE,PREFER_FALLTHROUGH,STRCPY,STRLCPY,STRNCPY
IGNORED_USER+=,SSCANF_TO_KSTRTO,NAKED_SSCANF,CONST_STRUCT,VOLATILE,BIT_MACRO,CAMELCASE
IGNORED_USER+=,PREFER_DEFINED_ATTRIBUTE_MACRO,MACRO_ARG_REUSE,EMBEDDED_FUNCTION_NAME,LONG_LINE,LONG_LINE_STRING

unpack() {
	local dir=$1

	[ ! -e "$dir/checkpatch.pl" ] || return 0
	say "unpacking checkpatch from $SOURCE"
	# where it looks for names in CamelCase that the kernel has
	mkdir -p "$dir.new/include"
	tar -C "$dir.new" --strip-components=2 -xf "/usr/src/$SOURCE.tar.xz" \
		"$SOURCE/scripts/checkpatch.pl" "$SOURCE/scripts/spelling.txt" \
		"$SOURCE/scripts/const_structs.checkpatch"
	rm -rf "$dir"
	mv "$dir.new" "$dir"
}

# judge NAME IGNORED FILE...: one result for all
judge() {
	local name=$1 ignored=$2 log=$OUT/checkpatch-$1.log

	shift 2
	# in the output folder: it leaves a file where it runs, and reads settings there
	# and at home
	(cd "$OUT" && HOME=$OUT perl "$DIR/checkpatch.pl" --no-tree --root="$DIR" --strict --terse --no-summary \
		--show-types --max-line-length=100 --ignore "$ignored" -f "${@/#/$ROOT/}") 2>&1 |
		sed "s,^$ROOT/,," > "$log" || :
	if [ -s "$log" ]; then
		fail "checkpatch: $name" "$(grep -c . "$log") complaints, see ${log#"$ROOT"/}"
		head -n 20 "$log" >&2
	else
		pass "checkpatch: $name, $# files"
	fi
}

c_files() {
	(cd "$ROOT" && find "$@" -name '*.[ch]' | sort)
}

"$ROOT/scripts/setup/packages.sh" check
DIR=$CACHE/checkpatch-$(dpkg-query -W -f '${Version}' "$SOURCE" | tr -c 'a-zA-Z0-9.\n' _)
locked checkpatch unpack "$DIR"
# shellcheck disable=SC2046	# our paths have no blanks
judge kernel "$IGNORED" $(c_files kmod kunit uapi | grep -vx -e kmod/compat.h -e kmod/pmu/x86/msr.h)
# it takes the % of an operand in a macro's argument for an operator
judge msr "$IGNORED,SPACING" kmod/pmu/x86/msr.h
judge compat "$IGNORED_COMPAT" kmod/compat.h
# shellcheck disable=SC2046
judge user "$IGNORED_USER" $(c_files tools)
finish
