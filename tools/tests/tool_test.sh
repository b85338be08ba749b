#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The tool end to end: output of `pmuring stat`, `record` and `report` for programs of
# known length, and Debian's perf on the same files. Run by
# scripts/check/run-tests.sh; a POSIX shell, since the guest has no other. By its
# other name, nopmu_tool_test.sh, it tests what the tool does without a PMU.

# user instructions of spin.S, including exit's system call; nothing else adds to it
LENGTH=20000004
PERIOD=100003
SAMPLES=$((LENGTH / PERIOD))
# family.S's tasks
CHILD=10000006
THREAD=5000006

tests=${0%/*}
spin=$tests/spin
family=$tests/family
chain=$tests/clients/chain
pmuring=${PMURING:-pmuring}
data=$(mktemp)
out=$(mktemp)
n=0

# ok WHAT COMMAND...: one result, by the command's status; its output on failure
ok() {
	what=$1
	shift
	n=$((n + 1))
	if "$@" > "$out.now" 2>&1; then
		echo "ok $n - $what"
	else
		tail -qn 8 "$out.now" "$out" | sed 's/^/# /'
		echo "not ok $n - $what"
	fi
}

# A kernel that checks itself adds instructions and time of its own.
plain() {
	if [ -e /sys/kernel/debug/kmemleak ] || [ -e /sys/kernel/debug/kcsan ]; then
		n=$((n + 1))
		echo "ok $n # SKIP $1: the checks of the kernel are in it"
	else
		ok "$@"
	fi
}

# run COMMAND...: output to $out, status kept
run() {
	"$@" > "$out" 2>&1 < /dev/null
}

prints() {
	grep -qE -e "$1" "$out"
}

lacks() {
	! prints "$1"
}

# between VALUE LOW HIGH
between() {
	echo "$1, wanted $2 to $3"
	[ "$1" -ge "$2" ] && [ "$1" -le "$3" ]
}

# record OPTION... COMMAND: into $data
record() {
	run "$pmuring" record -o "$data" "$@"
}

report() {
	run "$pmuring" report -i "$data" "$@"
}

# samples_of WHAT: lines of `perf script` that say so
samples_of() {
	run perf script -i "$data"
	grep -c -e "$1" "$out"
}

# number_of REGEX: of the report's line that matches
number_of() {
	sed -nE "s/$1/\1/p" "$out"
}

doctor() {
	ok "doctor finds no problem" run "$pmuring" doctor
	ok "doctor names the PMU" prints 'ok    PMU'
	ok "doctor runs a trial event" prints 'ok    trial +cycles:u'
	# root of a user namespace has capabilities only there
	ok "doctor by root of a user namespace" run unshare -U -r "$pmuring" doctor
	ok "doctor: that root lacks CAP_PERFMON" prints '^note  permission +no CAP_PERFMON'
}

counts() {
	ok "stat runs a command" run "$pmuring" stat -e instructions:u "$spin"
	ok "stat has the exact count" prints '^ *20,000,004 +instructions:u'
	ok "stat -e {a,b}" run "$pmuring" stat -e '{instructions,branches}:u' "$spin"
	ok "stat -e {a,b}: the leader" prints '^ *20,000,004 +instructions:u'
	ok "stat -e {a,b}: the sibling" prints '^ *10,000,002 +branches:u'
	ok "stat" run "$pmuring" stat "$spin"
	ok "stat prints task-clock" prints '^ +[0-9.]+ msec task-clock +# +[0-9.]+ CPUs utilized'
	ok "stat prints page faults" prints '^ +[1-9][0-9]* +page-faults +# +[0-9.]+ K?/sec'
	plain "stat: hardware events" prints '^ +20,[0-9]{3},[0-9]{3} +instructions +# +[0-9.]+  insn per cycle'
	ok "stat prints the user time" prints '^ +0\.[0-9]+ seconds user'
	ok "stat -a" run "$pmuring" stat -a -e instructions:u,cpu-clock "$spin"
	ok "stat -a counts more than the command" prints '^ *2[0-9],[0-9]{3},[0-9]{3} +instructions:u'
	plain "stat -a: all CPUs" prints "msec cpu-clock +# +$(grep -c ^processor /proc/cpuinfo)\.[0-9]+ CPUs"
}

repeated() {
	ok "stat -r 3" run "$pmuring" stat -r 3 -e instructions:u "$spin"
	ok "stat -r prints the mean and no spread" prints '^ *20,000,004 +instructions:u +\( \+- +0\.00% \)'
	ok "stat -r prints the number of runs" prints '\(3 runs\)'
	ok "stat -I" run "$pmuring" stat -I 10 -x, -e instructions:u "$spin"
	ok "stat -I prints several intervals" [ "$(grep -c instructions "$out")" -gt 1 ]
	ok "stat -I: the intervals add up to the exact count" [ "$(awk -F, '{ sum += $2 } END { print sum }' "$out")" = $LENGTH ]
	# more events than counters
	events=r00c4:u,r00c4:u,r00c4:u,r00c4:u,r00c4:u,r00c4:u
	ok "stat of many events" run "$pmuring" stat -x, -e $events,$events,$events "$spin"
	ok "stat of many events: each event ran" lacks 'not counted'
	ok "stat of many events: no event ran all the time" prints 'r00c4:u,[0-9]+,[1-9][0-9]\.[0-9]+,'
}

inherited() {
	ok "stat follows children and threads" run "$pmuring" stat -x, -e instructions:u "$family"
	ok "stat: the count of all tasks is exact" prints "^$((18 + CHILD + THREAD)),,instructions:u,"
	ok "stat -i" run "$pmuring" stat -i -x, -e instructions:u "$family"
	ok "stat -i counts only the first task" prints '^18,,instructions:u,'
	ok "record follows children and threads" record -e instructions:u -c $PERIOD "$family"
	# each CPU that a task was on may keep the rest of a period
	ok "record samples the child" between "$(samples_of ' child_here')" $((CHILD / PERIOD - 1)) $((CHILD / PERIOD))
	ok "record samples the thread" between "$(samples_of ' thread_here')" $((THREAD / PERIOD - 1)) $((THREAD / PERIOD))
	ok "record -i" record -i -e instructions:u -c $PERIOD "$family"
	ok "record -i samples only the first task" prints ': 0 samples, 0 lost'
}

# processes that live for a fraction of a millisecond
named() {
	# shellcheck disable=SC2016	# for that shell
	ok "record of short-lived processes" record -e instructions:u -c 5003 \
		sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done'
	ok "record: every sample has a task name" lacks 'no record names'
	report -s comm -n
	ok "report names the short-lived processes" [ "$(number_of '^ .*  +([0-9]+)  true$')" -gt 10 ]
	ok "report: every process has a name" lacks ' :[0-9]'
	ok "record -a" record -a -e instructions:u -c $PERIOD sh -c "$spin; $spin"
	ok "record -a: every sample has a task name" lacks 'no record names'
	ok "record -a samples the programs" between "$(samples_of ' spin_here')" $((2 * SAMPLES - 2)) $((2 * SAMPLES + 2))
}

profile() {
	ok "record runs a command" record -e instructions:u -c $PERIOD "$spin"
	ok "report reads the file" report
	ok "report: each period has one sample" prints "^# Samples: $SAMPLES of event 'instructions:u'"
	ok "report prints the function, command and object" prints '100\.00% .*spin .*spin .*spin_here'
	ok "report prints the totals" prints "^# Totals: $SAMPLES samples, 0 lost, 0 throttled"
	ok "perf report reads the file" run perf report --stdio -i "$data"
	ok "perf report prints the function" prints '100\.00% .*spin .*spin .*spin_here'
	ok "perf script reads the file" [ "$(samples_of spin_here)" = $SAMPLES ]
}

# samples per second of the second half, after the rate has settled
rate() {
	run perf script -F time -i "$data"
	awk '{ time[NR] = $1 + 0 }
	     END { half = int(NR / 2); print int((NR - half) / (time[NR] - time[half])) }' "$out"
}

frequency() {
	ok "record without options" record "$spin"
	ok "record takes 4000 samples per second" between "$(rate)" 3500 4500
	report
	ok "record samples cycles by default" prints "of event 'cycles'"
	ok "record -F 10000" record -F 10000 -e cycles:u "$spin"
	plain "record -F: as many" between "$(rate)" 8500 11500
}

call_chains() {
	ok "record -g" record -g -e instructions:u -c $PERIOD "$chain"
	report
	ok "report prints the innermost function" prints '100\.00% .*inner_here'
	ok "report prints the callers" [ "$(sed -n '/---inner_here/,/_start/s/^ *\(---\)\{0,1\}//p' "$out" | tr '\n' ' ')" = "inner_here middle_here outer_here _start " ]
	ok "report -gnone" report -gnone
	ok "report -gnone prints no callers" lacks middle_here
	ok "perf report reads the chains" run perf report --stdio --no-children -i "$data"
	ok "perf report prints the same callers" [ "$(sed -n '/---inner_here/,/_start/s/^ *\(---\)\{0,1\}//p' "$out" | tr '\n' ' ')" = "inner_here middle_here outer_here _start " ]
}

groups() {
	ok "record -e {a,b}:S" record -e '{instructions,branches}:uS' -c $PERIOD "$spin"
	report
	ok "report has the leader's samples" prints "^# Samples: $SAMPLES of event 'instructions:u'"
	ok "report has as many samples of the sibling" prints "^# Samples: $SAMPLES of event 'branches:u'"
	# all but the last, unfinished period
	ok "report has the sibling's count" between "$(number_of '^# Event count \(approx.\): ((9|10)[0-9]{6})$')" $((10000002 - PERIOD)) 10000002
	ok "perf report reads the group" run perf report --stdio --group -i "$data"
	ok "perf report prints both events" prints '100\.00% +100\.00% .*spin_here'
	ok "record of two -e" record -e instructions:u -e branches:u -c $PERIOD "$spin"
	ok "record of two -e samples the first event" [ "$(samples_of instructions:u)" = $SAMPLES ]
	ok "record of two -e samples the second event" [ "$(samples_of branches:u)" = $((10000002 / PERIOD)) ]
}

attached() {
	sh -c "while :; do $spin; done" &
	busy=$!
	ok "record -p" record -p $busy -e instructions:u -c 1000003 sleep 0.3
	kill $busy
	wait $busy 2>/dev/null
	ok "record -p samples tasks that the process starts" between "$(samples_of ' spin_here')" 20 1000
	ok "record -p names the tasks" lacks '^ *:[0-9]'
}

busy_pmu() {
	pipe=$(mktemp -d)
	mkfifo "$pipe/begun" "$pipe/end"
	# perf opens its events before it starts the command
	perf stat -a -e cycles sh -c "echo > $pipe/begun; read end < $pipe/end" 2>/dev/null &
	read -r begun < "$pipe/begun"
	ok "record while perf holds the PMU" record "$spin"
	ok "record warns about the clock fallback" prints "warning: .*cpu-clock.*"
	ok "record names the PMU's holder and the remedy" prints 'perf or the NMI watchdog holds the PMU: sysctl'
	ok "stat while perf holds the PMU" run "$pmuring" stat "$spin"
	ok "stat marks unsupported events" prints '<not supported> +cycles'
	ok "stat counts supported events" prints 'msec task-clock'
	ok "stat gives the reason" prints 'warning: .*holds the PMU'
	echo > "$pipe/end"
	wait
	rm -rf "$pipe"
}

# as_nobody COMMAND: in a directory of its own, with 64 KiB to lock; status kept
as_nobody() {
	run su nobody -s /bin/sh -c "cd $mine && ulimit -l 64 && $1"
}

# User call chains need no privilege. Rings may use 516 KiB per CPU plus 64 KiB: 274
# pages of 4 KiB on two CPUs. Two rings of 128 pages fit, with their first
# pages, and two of 256 do not.
unprivileged() {
	mine=$(mktemp -d)
	chown nobody "$mine"
	chmod 666 /dev/pmuring
	ok "record -g by nobody" as_nobody "$pmuring record -o a -g -e instructions:u -c $PERIOD $chain"
	ok "record -g by nobody has samples" prints ': [1-9][0-9]* samples'
	ok "record -g by nobody, without :u" as_nobody "$pmuring record -o a -g -e instructions -c $PERIOD $chain"
	ok "record -g by nobody warns about :u" prints "warning: no permission .*'instructions' becomes 'instructions:u'"
	ok "record -m beyond the memory limit of user nobody fails" lacks_room 256
	ok "record -m names the parameter" prints 'error: .*516 KiB for each online CPU \(parameter mlock_kb'
	ok "record -m names the limit" prints '64 KiB more .*RLIMIT_MEMLOCK'
	ok "record -m names the largest size that fits" prints ': -m 128 fits;'
	ok "record -m with that size works" as_nobody "$pmuring record -o a -m 128 -e instructions:u $spin"
	# the outer recording holds 65 pages per CPU while the inner one starts
	ok "record -m beside another recording fails" lacks_room "64 $pmuring record -o b -m 128"
	ok "record -m names the remaining size" prints ': -m 64 fits;'
	ok "record -m 64 beside 64" as_nobody "$pmuring record -o a -m 64 -e instructions:u $pmuring record -o b -m 64 -e instructions:u $spin"
	echo 0 > /sys/module/pmuring/parameters/mlock_kb
	ok "record without a memory budget fails" lacks_room 16
	ok "record names the largest size that fits" prints ': -m 4 fits;'
	ok "record with that size works" as_nobody "$pmuring record -o a -m 4 -e instructions:u $spin"
	echo 516 > /sys/module/pmuring/parameters/mlock_kb
	chmod 600 /dev/pmuring
	rm -rf "$mine"
}

# lacks_room PAGES [...]: a recording by user nobody fails
lacks_room() {
	! as_nobody "$pmuring record -o a -e instructions:u -m $1 -e instructions:u $spin"
}

errors() {
	record -e nonsense "$spin"
	ok "an unknown event is named in the error" prints "error: .*'nonsense'"
	record -p 999999
	ok "a dead process is named in the error" prints 'error: .*999999'
	record /nonexistent
	ok "a missing command is named in the error" prints 'error: .*/nonexistent'
	record nonexistent
	ok "a command missing from the PATH is named in the error" prints "error: .*'nonexistent'"
	report
	ok "the previous profile is kept after an error" prints 'Samples: [1-9]'
	ok "a missing file is named in the error" sh -c "! $pmuring report -i /nonexistent > $out 2>&1 && grep -q 'error: .*/nonexistent' $out"
}

without_pmu() {
	ok "doctor finds no problem" run "$pmuring" doctor
	ok "doctor reports the missing PMU" prints '^note  PMU'
	ok "doctor reports clock sampling" prints 'sampling works here, by the clock'
	ok "record falls back on the clock" record -F 1000 sh -c "$spin; $spin"
	ok "record warns about the fallback" prints "warning: cannot sample 'cycles' .*cpu-clock"
	ok "record gives the reason for the fallback" prints 'shows no PMU'
	ok "perf report reads it" run perf report --stdio -i "$data"
	ok "perf report prints the event" prints "of event 'cpu-clock'"
	report
	ok "report prints the function" prints '[0-9]% .*spin_here'
	ok "stat" run "$pmuring" stat "$spin"
	ok "stat marks unsupported events" prints '<not supported> +cycles'
	ok "stat counts supported events" prints 'msec task-clock +# +[0-9.]+ CPUs utilized'
	ok "stat of only cycles:u" run "$pmuring" stat -e cycles:u "$spin"
	ok "stat of only cycles:u marks it unsupported" prints '<not supported> +cycles:u'
	ok "stat of only cycles:u gives the reason" prints 'shows no PMU'
	record -e cycles "$spin"
	ok "-e cycles does not fall back" prints "error: cannot open event 'cycles'"
}

case $0 in
*nopmu*)
	echo 1..16
	without_pmu
	;;
*)
	echo 1..103
	doctor
	counts
	repeated
	inherited
	named
	profile
	frequency
	call_chains
	groups
	attached
	busy_pmu
	unprivileged
	errors
	;;
esac
rm -f "$data" "$data.old" "$out" "$out.now"
