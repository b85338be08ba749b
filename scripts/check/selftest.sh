#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A stage of `make check`: do the judges see what is wrong? Feeds tap.py and
# scripts/vm/splats with output whose verdict is known.

set -eu
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
. "$ROOT/scripts/check/results.sh"
begin

WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

# judged KIND WHAT EXPECTED NAME...: the log is stdin, EXPECTED the kinds of
# result in order, NAME what had to run
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

# a log that is not there is no clean one
no_log() {
	if "$ROOT/scripts/vm/splats" "$WORK/nothing" > /dev/null 2>&1; then
		fail "judges: no console log" "taken for good"
	else
		pass "judges: no console log"
	fi
}

tap_cases
ktap_cases
no_log
splat_cases
finish
