#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The examples of Debian's libpfm4, as they come with its source. They count for
# ten seconds or until they are told to stop, so most are told earlier.

. "${0%/*}/lib.sh"

PFM=/clients/libpfm
INS=INSTRUCTION_RETIRED
BR=BRANCH_INSTRUCTIONS_RETIRED

# value_of EVENT: first number of its last line
value_of() {
	grep " $1" "$out" | tail -n 1 | awk '{ print $1 }'
}

counts() {
	ok "$1: to the instruction" between "$(value_of $INS:u)" $LENGTH $LENGTH
}

self() {
	# or the loader looks for functions meanwhile, in one library more
	ok "self_basic" client env LD_BIND_NOW=1 $PFM/self_basic
	ok "self_basic: the instructions" same self_basic "$(sed -n 's/^count=//p' "$out")"
	client timeout -s ALRM 0.3 $PFM/self
	ok "self: two events of one loop" prints '^FINAL: +[1-9][0-9]{7,} instructions:u \(0\.00%'
	client timeout -s ALRM 0.3 $PFM/self_count
	ok "self_count: reads without a system call" prints '^ +18[0-9]{7} cycles:u'
	client $PFM/self_pipe -d 1
	ok "self_pipe" between "$(value_of instructions:u)" 100000 100000000
}

task() {
	client $PFM/task -e $INS:u $SPIN
	counts task
	client $PFM/task -e $INS:u,$BR:u $SPIN
	counts "task, two events"
	ok "task, two events: to the branch" between "$(value_of $BR:u)" $BRANCHES $BRANCHES
	client $PFM/task -f -e $INS:u,$BR:u $SPIN
	counts "task -f"
	client $PFM/task -P -e $INS:u $SPIN
	counts "task -P"
	client $PFM/task -i -e $INS:u sh -c "$SPIN; $SPIN"
	ok "task -i" between "$(value_of $INS:u)" $((2 * LENGTH)) 42000000
	client $PFM/task_cpu -e $INS:u $SPIN
	ok "task_cpu: one CPU has it all" prints " $LENGTH $INS:u"
	ok "task_cpu: the other has none" prints " 0 $INS:u .*run=0\)"
}

attached() {
	busy
	client timeout -s INT 0.3 $PFM/task -t $BUSY -e $INS:u
	ok "task -t" between "$(value_of $INS:u)" 10000000 1100000000
	client $PFM/task_attach_timeout -d 1 $BUSY
	ok "task_attach_timeout" between "$(value_of instructions:u)" 100000000 1100000000
	idle
}

sampling() {
	client $PFM/task_smpl -e $INS:u:period=$PERIOD $SPIN
	# from the first one on, with what comes before the exec
	ok "task_smpl: samples" prints "^($SAMPLES|$((SAMPLES + 1))) samples collected .* 0 lost samples"
	client $PFM/task_smpl $SPIN
	ok "task_smpl: by frequency" prints '^[1-9][0-9]* samples collected .* 0 lost samples'
	# It runs for a second of the machine's time. If the other CPU had most of that, it
	# may have ended before its first signal.
	for _ in 1 2 3; do
		client $PFM/self_smpl_multi -t 1
		status=$?
		prints 'total = +0, ' || break
	done
	ok "self_smpl_multi" test $status = 0
	ok "self_smpl_multi: its signals" prints 'total = +[1-9][0-9]*, mismatch = 0, bad_msg = 0, bad_restart = 0'
	ok "self_smpl_multi: three threads" client $PFM/self_smpl_multi -t 1 -n 3 -f
	ok "self_smpl_multi: three threads' signals" prints 'total = +[1-9][0-9]*, mismatch = 0, bad_msg = 0, bad_restart = 0'
	# Elsewhere, or it samples its own printing. Its alarm may come in the middle of a
	# sample: then it has lost its place in the ring, and prints nonsense for ever.
	for _ in 1 2 3; do
		LIMIT=5 client taskset -c 1 $PFM/syst_smpl -d 1 -c 0 -e instructions:period=10007
		prints 'unknown sample type' || break
	done
	ok "syst_smpl" prints '^[1-9][0-9]* samples collected .* 0 lost samples'
}

system_wide() {
	client $PFM/syst -d 1
	ok "syst: each CPU" prints '^CPU1 val=[1-9][0-9]* .* ratio=1\.00 instructions'
	client $PFM/syst_count -d 1
	ok "syst_count: each CPU" prints '^CPU1 .* [1-9][0-9]* instructions \(scaling 0\.00%'
}

# this PMU has no record of branches
refused() {
	client $PFM/branch_smpl $SPIN
	ok "branch_smpl is refused" prints 'cannot attach event .*: Operation not supported'
}

notified() {
	ok "notify_self" client $PFM/notify_self
	ok "notify_self: twenty times" prints '^Notification:19 '
	ok "notify_group" client $PFM/notify_group
	ok "notify_group: often" prints '^Notification 1024:'
}

both self task attached sampling system_wide refused notified
finish
