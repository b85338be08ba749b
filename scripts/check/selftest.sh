#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A stage of `make check`: tests the checkers. Feeds tap.py, scripts/vm/splats and
# docs.py with input that has a known verdict, and runs all.sh with a stage that does
# nothing.

set -eu
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
. "$ROOT/scripts/check/results.sh"
begin

WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

# judged KIND WHAT EXPECTED NAME...: the log is stdin, EXPECTED the kinds of result in
# order, NAME the tests that had to run
judged() {
	local kind=$1 what=$2 expected=$3 got

	shift 3
	cat > "$WORK/log"
	: > "$WORK/results"
	python3 "$ROOT/scripts/check/tap.py" "$kind" self "$WORK/log" "$WORK/results" "$@"
	got=$(cut -f1 "$WORK/results" | paste -sd' ')
	if [ "$got" = "$expected" ]; then
		pass "judges: $what"
	else
		fail "judges: $what" "gave '$got', not '$expected'"
	fi
}

tap_cases() {
	judged tap "a good stream" "pass skip" a_test <<-'END'
		# RUN a_test
		1..2
		ok 1 - one
		ok 2 - two # SKIP no PMU
		# EXIT a_test 0
		# DONE
	END
	judged tap "a failed result" "pass fail" a_test <<-'END'
		# RUN a_test
		ok 1 - one
		not ok 2 - two
		1..2
		# EXIT a_test 1
		# DONE
	END
	judged tap "fewer results than planned" "pass fail" a_test <<-'END'
		# RUN a_test
		1..2
		ok 1 - one
		# EXIT a_test 0
		# DONE
	END
	judged tap "no plan" "pass fail" a_test <<-'END'
		# RUN a_test
		ok 1 - one
		# EXIT a_test 0
		# DONE
	END
	judged tap "a repeated number" "pass pass fail" a_test <<-'END'
		# RUN a_test
		1..2
		ok 1 - one
		ok 1 - one
		# EXIT a_test 0
		# DONE
	END
	judged tap "death after the last result" "pass fail" a_test <<-'END'
		# RUN a_test
		1..1
		ok 1 - one
		# EXIT a_test 139
		# DONE
	END
	judged tap "a whole test skipped, with its reason" "skip" a_test <<-'END'
		# RUN a_test
		1..0 # SKIP no msr module
		# EXIT a_test 0
		# DONE
	END
	judged tap "nothing tested and no reason" "fail" a_test <<-'END'
		# RUN a_test
		1..0
		# EXIT a_test 0
		# DONE
	END
	judged tap "a test that did not run" "pass fail" a_test b_test <<-'END'
		# RUN a_test
		1..1
		ok 1 - one
		# EXIT a_test 0
		# DONE
	END
	judged tap "a machine that died in a test" "pass fail fail fail" a_test <<-'END'
		# RUN a_test
		1..2
		ok 1 - one
	END
	judged tap "bail out" "fail" a_test <<-'END'
		# RUN a_test
		Bail out! no device
		# EXIT a_test 1
		# DONE
	END
	judged tap "TODO is no excuse" "fail" a_test <<-'END'
		# RUN a_test
		1..1
		ok 1 - one # TODO later
		# EXIT a_test 0
		# DONE
	END
}

ktap_cases() {
	judged ktap "a good suite with parameters" "pass pass" s <<-'END'
		[    0.1] 1..0
		[    0.2] Run /init as init process
		[    0.3] KTAP version 1
		[    0.3] 1..1
		[    0.3]     KTAP version 1
		[    0.3]     # Subtest: s
		[    0.3]     1..2
		[    0.3]     ok 1 one
		[    0.3]         KTAP version 1
		[    0.3]         # Subtest: two
		[    0.3]         ok 1 left
		[    0.3]         ok 2 right
		[    0.3]     ok 2 two
		[    0.3] ok 1 s
	END
	judged ktap "a failed case" "fail" s <<-'END'
		[    0.2] Run /init as init process
		[    0.3]     # Subtest: s
		[    0.3]     1..1
		[    0.3]     not ok 1 one
		[    0.3] not ok 1 s
	END
	judged ktap "a suite that did not end" "pass fail fail fail" s <<-'END'
		[    0.2] Run /init as init process
		[    0.3]     # Subtest: s
		[    0.3]     1..2
		[    0.3]     ok 1 one
	END
	judged ktap "a missing suite" "pass fail" s t <<-'END'
		[    0.2] Run /init as init process
		[    0.3]     # Subtest: s
		[    0.3]     1..1
		[    0.3]     ok 1 one
		[    0.3] ok 1 s
	END
	judged ktap "no user space" "fail" s <<-'END'
		[    0.3]     # Subtest: s
		[    0.3]     1..1
		[    0.3]     ok 1 one
		[    0.3] ok 1 s
	END
}

# splat good|bad LINE
splat() {
	local seen=good

	printf '[    1.0] pmuring: a line before\n[    1.1] %s\n' "$2" > "$WORK/log"
	"$ROOT/scripts/vm/splats" "$WORK/log" > /dev/null || seen=bad
	if [ "$seen" = "$1" ]; then
		pass "judges: $1 console line: $2"
	else
		fail "judges: $1 console line: $2" "taken for $seen"
	fi
}

# expected good|bad WHAT LINE...: the first line is allowed, with its call trace
expected() {
	local want=$1 what=$2 seen=good

	shift 2
	printf '[    1.0] %s\n' "$@" > "$WORK/log"
	"$ROOT/scripts/vm/splats" --expect 'vmalloc error: size|expected' "$WORK/log" > /dev/null || seen=bad
	if [ "$seen" = "$want" ]; then
		pass "judges: $want: $what"
	else
		fail "judges: $want: $what" "taken for $seen"
	fi
}

expected_cases() {
	expected good "a line that is expected" "WARNING: expected"
	expected good "a line that is expected, and its call trace" \
		"vmalloc error: size 45072" "CPU: 0 UID: 0" "Call Trace:" "<TASK>"
	expected bad "a second call trace" "vmalloc error: size 45072" "Call Trace:" "Call Trace:"
	expected bad "a call trace of something else" "a line" "Call Trace:"
	expected bad "a complaint behind one that is expected" \
		"vmalloc error: size 45072" "BUG: KASAN: slab-out-of-bounds" "Call Trace:"
}

splat_cases() {
	splat bad "BUG: kernel NULL pointer dereference, address: 0000000000000008"
	splat bad "WARNING: CPU: 0 PID: 1 at kernel/events/core.c:1 x+0x1/0x2"
	splat bad "WARNING: possible circular locking dependency detected"
	splat bad "Uhhuh. NMI received for unknown reason 2c on CPU 1."
	splat bad "Dazed and confused, but trying to continue"
	splat bad "watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [a:1]"
	splat bad "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:"
	splat bad "INFO: task a:1 blocked for more than 120 seconds."
	splat bad "refcount_t: addition on 0; use-after-free."
	splat bad "UBSAN: shift-out-of-bounds in a.c:1:2"
	splat bad "unreferenced object 0xffff888003a1b2c0 (size 64):"
	splat bad "general protection fault, probably for non-canonical address"
	splat bad "unchecked MSR access error: WRMSR to 0x38f"
	splat bad "BUG: KCSAN: data-race in pmr_event_read [pmuring] / pmr_event_update [pmuring]"
	splat bad "BUG: KASAN: slab-use-after-free in a+0x1/0x2 [pmuring]"
	splat bad "BUG: sleeping function called from invalid context at kernel/locking/mutex.c:1"
	splat bad "BUG: scheduling while atomic: a/1/0x00000002"
	splat bad "BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0 stuck for 31s!"
	splat bad "BUG: Invalid wait context ]"
	splat bad "WARNING: possible recursive locking detected"
	splat bad "WARNING: suspicious RCU usage"
	splat bad "WARNING: inconsistent lock state"
	splat bad "WARNING: lock held when returning to user space!"
	splat bad "INFO: trying to register non-static key."
	splat bad "INFO: lockdep is turned off."
	splat bad "turning off the locking correctness validator."
	splat bad "DEBUG_LOCKS_WARN_ON(lock->magic != lock)"
	splat bad "ODEBUG: free active (active state 0) object: 00 object type: timer_list hint: a+0x0/0x1"
	splat bad "list_del corruption. prev->next should be 1, but was 2."
	splat bad "kmemleak: 2 new suspected memory leaks (see /sys/kernel/debug/kmemleak)"
	splat bad "kmemleak: Kernel memory leak detector disabled"
	splat bad "rcu: rcu_preempt kthread starved for 21000 jiffies! g1 f0x0 RCU_GP_WAIT_FQS(5) ->state=0x0 ->cpu=0"
	splat bad "Out of memory: Killed process 1 (a)"
	splat good "RETBleed: WARNING: Spectre v2 mitigation leaves CPU vulnerable to RETBleed attacks, data leaks possible!"
	splat good "Speculative Return Stack Overflow: WARNING: See https://kernel.org/doc for mitigation options."
	splat good "pmuring: Intel PMU version 4"
	splat good "clocksource: Switched to clocksource tsc-early"
}

# a missing log does not count as clean
no_log() {
	if "$ROOT/scripts/vm/splats" "$WORK/nothing" > /dev/null 2>&1; then
		fail "judges: no console log" "taken for good"
	else
		pass "judges: no console log"
	fi
}

# documents WHAT EXPECTED ARGUMENT...: docs.py's verdict in $WORK/docs, EXPECTED the
# end of its one complaint, or nothing
documents() {
	local what=$1 expected=$2 got rc=0

	shift 2
	got=$(cd "$WORK/docs" && "$ROOT/scripts/check/docs.py" "$@" 2>&1) || rc=$?
	if { [ -z "$expected" ] && [ "$rc:$got" = 0: ]; } ||
		{ [ -n "$expected" ] && [ "$rc" = 1 ] && [[ $got != *$'\n'* && $got == *"$expected" ]]; }; then
		pass "judges: $what"
	else
		fail "judges: $what" "status $rc, said '${got//$'\n'/ }', not '$expected'"
	fi
}

# link EXPECTED LINE: of a file that holds this line, next to b.md with two sections
link() {
	printf '%s\n' "# A title" "$2" > "$WORK/docs/a.md"
	documents "document with $2" "$1" links . a.md
}

# page EXPECTED LINE...: options of a manual page against those of a --help
page() {
	local expected=$1

	shift
	printf '%s\n' "$@" > "$WORK/docs/x.1"
	documents "manual page with $*" "$expected" options x.1 help
}

documents_cases() {
	mkdir -p "$WORK/docs/kmod"
	echo "int pmr_do_it(void);" > "$WORK/docs/kmod/a.c"
	printf '%s\n' "## What's \`this\`, then?" "## Twice" "## Twice" > "$WORK/docs/b.md"
	link "" "[b](b.md), [s](b.md#whats-this-then), [t](b.md#twice-1), [own](#a-title)"
	link "" "[web](https://example.org/x), \`kmod/a.c\`, \`a.c\`, \`kmod/\`, \`build/x.c\`"
	link ": no such file" "[c](c.md)"
	link ": no such section" "[b](b.md#whats-that)"
	link ": no such section" "[own](#b-title)"
	link ": no such file" "\`kmod/b.c\`"
	link ": no such file" "\`b.c\`"
	link "" "\`pmr_do_it()\`, \`_it()\`"
	link ": no such function" "\`pmr_do()\`"

	printf '%s\n' "  -c, --count=PERIOD         Count" "      --call-graph[=none]    Chains" \
		"  -q                         Quiet" "                             -z is no option" \
		> "$WORK/docs/help"
	local -a good=(".It Fl c Ar period , Fl -count Ns = Ns Ar period"
		".It Fl -call-graph Ns Op = Ns Cm none" ".It Fl q")
	page "" "${good[@]}"
	page "no such option" "${good[@]}" ".It Fl z"
	page "-q: not there" "${good[@]:0:2}"
	page "its argument is period, not n" ".It Fl c Ar n" ".It Fl -count Ns = Ns Ar period" "${good[@]:1}"

	printf '%s\n' ".Xr perf 1 ," ".Xr x 1 ," > "$WORK/docs/x.1"
	documents "manual page that refers to itself and to perf's" "" manuals x.1
	printf '%s\n' ".Xr x-y 1" > "$WORK/docs/x.1"
	documents "manual page that refers to none of ours" "no such page" manuals x.1

	printf 'parm:           %s\n' "a:what (default 2) (int)" "b:what (default 5) (uint)" \
		> "$WORK/docs/modinfo"
	printf '%s\n' ".It Va a Pq 2" ".It Va b Pq 5" > "$WORK/docs/x.4"
	printf "| \`%s\` | %d | text |\n" a 2 b 6 > "$WORK/docs/a.md"
	documents "parameters as modinfo has them" "" parameters modinfo x.4
	documents "a wrong default in a table" "default 6, the module says 5" parameters modinfo x.4 a.md
	printf '%s\n' ".It Va a Pq 2" > "$WORK/docs/x.4"
	documents "a parameter that is not told" "not there, the module says 5" parameters modinfo x.4
	printf 'parm:           %s\n' "a:what (int)" > "$WORK/docs/modinfo"
	printf '' > "$WORK/docs/x.4"
	documents "a parameter without a default" "tells no default" parameters modinfo x.4

	printf '%s\n' "struct pmuring_info {" "	__u32 size;" "	__u64 nmis;" "};" \
		"#define PMURING_IOC_MAGIC 1" "#define PMURING_IOC_OPEN 2" > "$WORK/docs/x.h"
	printf '%s\n' ".It Va size" ".It Va nmis" ".It Dv PMURING_IOC_OPEN" > "$WORK/docs/x.4"
	documents "a page with all of the ABI" "" abi x.h x.4
	sed -i /nmis/d "$WORK/docs/x.4"
	documents "a field of INFO that is not told" "nmis: not there" abi x.h x.4
	printf '%s\n' ".It Va nmis" ".It Dv PMURING_IOC_CLOSE" >> "$WORK/docs/x.4"
	documents "a request that is not there" "PMURING_IOC_CLOSE: no such request" abi x.h x.4
}

# a stage that builds upon no other, alone
lone_stage() {
	local tree=$WORK/tree got

	mkdir -p "$tree/scripts"
	cp -r "$ROOT/scripts/check" "$ROOT/scripts/setup" "$tree/scripts/"
	printf '#!/bin/sh\n' > "$tree/scripts/setup/packages.sh"
	printf '#!/bin/sh\nprintf "pass\\tx\\t\\n" >> "$RESULTS"\n' > "$tree/scripts/check/checkpatch.sh"
	got=$(ONLY=checkpatch TESTS='' timeout 60 "$tree/scripts/check/all.sh" 9>&- 2> /dev/null | tail -n 1) || :
	if [ "$got" = "1 passed, 0 failed, 0 skipped" ]; then
		pass "stages: one that builds upon no other runs alone"
	else
		fail "stages: one that builds upon no other runs alone" "the last line was '$got'"
	fi
}

tap_cases
ktap_cases
no_log
splat_cases
documents_cases
expected_cases
lone_stage
finish
