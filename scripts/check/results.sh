# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# How a stage of `make check` reports its results. Sourced by each stage.
#
# A result is one line: pass|fail|skip TAB name TAB reason. It goes to the file
# that RESULTS names (all.sh sets it); a stage that runs alone has its own and
# prints the summary itself.

# shellcheck source=../setup/common.sh
. "$ROOT/scripts/setup/common.sh"

OUT=$BUILD/check
ALONE=

# begin: the first command of each stage
begin() {
	mkdir -p "$OUT"
	if [ -z "${RESULTS:-}" ]; then
		ALONE=yes
		RESULTS=$(mktemp "$OUT/alone-XXXXXX.results")
	fi
	export RESULTS
	: > "$RESULTS"
}

pass() { printf 'pass\t%s\t\n' "$1" >> "$RESULTS"; }
skip() { printf 'skip\t%s\t%s\n' "$1" "$2" >> "$RESULTS"; }
fail() { printf 'fail\t%s\t%s\n' "$1" "$2" >> "$RESULTS"; }

# verdict NAME LOG COMMAND...: turns the command's status into a result
verdict() {
	local name=$1 log=$2

	shift 2
	if "$@" > "$log" 2>&1 </dev/null; then
		pass "$name"
	else
		fail "$name" "see ${log#"$ROOT"/}"
		tail -n 20 "$log" >&2
		return 1
	fi
}

# clean NAME LOG: passes when the log has no compiler or checker complaint
clean() {
	if grep -E '(warning|error|CHECK):|^WARNING' "$2" > "$2.found"; then
		fail "$1" "$(wc -l < "$2.found") complaints, see ${2#"$ROOT"/}"
		head -n 20 "$2.found" >&2
	else
		pass "$1"
	fi
}

# summarize FILE...: failures, then skips, each with its reason, then the one
# line; status 0 only if something ran and nothing failed
summarize() {
	cat -- "$@" | awk -F'\t' '
		{ n[$1]++ }
		$1 == "fail" { failed[n[$1]] = $2 ($3 == "" ? "" : ": " $3) }
		$1 == "skip" { skipped[n[$1]] = $2 ": " ($3 == "" ? "no reason given" : $3) }
		END {
			for (i = 1; i <= n["fail"]; i++) print "FAILED  " failed[i]
			for (i = 1; i <= n["skip"]; i++) print "skipped " skipped[i]
			printf "%d passed, %d failed, %d skipped\n", n["pass"], n["fail"], n["skip"]
			exit !(n["pass"] > 0 && n["fail"] == 0)
		}'
}

# finish: the last command of each stage
finish() {
	local rc=0

	if [ -n "$ALONE" ]; then
		summarize "$RESULTS" || rc=$?
		rm -f "$RESULTS"
		return "$rc"
	fi
	! grep -q '^fail' "$RESULTS"
}
