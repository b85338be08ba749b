#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A stage of `make check`: the documents agree with the tree. Needs no VM.
#
#   docs.sh		check
#   docs.sh --update	bring the generated table of docs/differences.md up to date
#
# docs.py makes the comparisons. The tool is that of `make tools`, the module that of
# module.sh or, when the stage runs alone, of `make module`.

set -eu
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
. "$ROOT/scripts/check/results.sh"
. "$ROOT/scripts/check/kernel.sh"

README_MAX=120
TOOL=$BUILD/tools/pmuring
DIFFERENCES=docs/differences.md

cd "$ROOT"

# with_table: the file with the table made anew between its two marks
with_table() {
	sed -n '1,/^<!-- parity.sh --table -->$/p' "$DIFFERENCES"
	echo
	echo '| pmuring | cases |'
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

readme_length() {
	local lines

	lines=$(wc -l < README.md)
	if [ "$lines" -le "$README_MAX" ]; then
		pass "docs: length of README.md"
	else
		fail "docs: length of README.md" "$lines lines, $README_MAX are enough: the rest belongs in docs/"
	fi
}

differences() {
	local log=$OUT/docs-differences.log

	if with_table | diff -u "$DIFFERENCES" - > "$log"; then
		pass "docs: table of differences"
	else
		fail "docs: table of differences" "run scripts/check/docs.sh --update; see ${log#"$ROOT"/}"
	fi
}

# lint: mandoc's complaints, without those about pages of other packages, which may not be installed;
# docs.py checks references to ours
lint() {
	local log=$OUT/docs-mandoc.log

	mandoc -T lint docs/man/* 2> /dev/null |
		grep -v 'STYLE: referenced manual not found' > "$log" || :
	if ! command -v mandoc > /dev/null; then
		fail "docs: mandoc -T lint" "no mandoc: run 'make deps'"
	elif [ -s "$log" ]; then
		fail "docs: mandoc -T lint" "$(head -n 1 "$log"); see ${log#"$ROOT"/}"
	else
		pass "docs: mandoc -T lint"
	fi
}

# options: each command that the tool has, and its page
options() {
	local command

	if [ ! -x "$TOOL" ]; then
		fail "docs: options" "no tool: run 'make tools'"
		return
	fi
	for command in $("$TOOL" --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
		"$TOOL" "$command" --help > "$OUT/docs-$command.help"
		agrees "options of pmuring $command" options "docs/man/pmuring-$command.1" \
			"$OUT/docs-$command.help"
	done
}

parameters() {
	local module

	choose_kernel 6.12
	for module in "$OUT/$KVER/pmuring.ko" "$BUILD"/*/pmuring.ko; do
		[ -e "$module" ] || continue
		PATH=$PATH:/usr/sbin:/sbin modinfo "$module" > "$OUT/docs.modinfo"
		agrees parameters parameters "$OUT/docs.modinfo" docs/man/pmuring.4 docs/install.md
		return
	done
	fail "docs: parameters" "no module: run 'make module'"
}

begin
"$ROOT/scripts/setup/packages.sh" check
# shellcheck disable=SC2046	# our names have no blanks
agrees links links "$ROOT" $(markdown)
readme_length
differences
lint
agrees "manual pages" manuals docs/man/*
options
parameters
agrees ABI abi uapi/pmuring.h docs/man/pmuring.4
finish
