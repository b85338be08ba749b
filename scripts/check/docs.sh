#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A stage of `make check`: the documents agree with the tree. Needs no VM.
#
#   docs.sh		check
#   docs.sh --update	bring the generated table of docs/differences.md up to date
#
# docs.py makes the comparisons. The tool is that of tools.sh, the module that of
# module.sh.

set -eu
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
. "$ROOT/scripts/check/results.sh"

DIFFERENCES=docs/differences.md

cd "$ROOT"

# with_table: the file with the table made anew between its two marks
with_table() {
	sed -n '1,/^<!-- parity.sh --table -->$/p' "$DIFFERENCES"
	echo
	echo '| what pmuring does otherwise | cases |'
	echo '| --- | --- |'
	scripts/check/parity.sh --table
	echo
	sed -n '/^<!-- end of the table -->$/,$p' "$DIFFERENCES"
}

if [ "${1:-}" = --update ]; then
	table=$(with_table)
	printf '%s\n' "$table" > "$DIFFERENCES"
	exit
fi

# agrees NAME CHECK ARGUMENT...: a check of docs.py; its first complaint is the reason
agrees() {
	local name=docs:\ $1 log=$OUT/docs-${1// /-}.log

	shift
	if scripts/check/docs.py "$@" > "$log" 2>&1; then
		pass "$name"
	else
		fail "$name" "$(head -n 1 "$log" | tr '\t' ' ') ($(wc -l < "$log") lines in ${log#"$ROOT"/})"
	fi
}

markdown() {
	find . \( -name .git -o -name build \) -prune -o -name '*.md' -printf '%P\n' | sort
}

differences() {
	local log=$OUT/docs-differences.log

	if with_table | diff -u "$DIFFERENCES" - > "$log"; then
		pass "docs: table of differences"
	else
		fail "docs: table of differences" "run scripts/check/docs.sh --update; see ${log#"$ROOT"/}"
	fi
}

begin
# shellcheck disable=SC2046	# our names have no blanks
agrees links links "$ROOT" $(markdown)
differences
finish
