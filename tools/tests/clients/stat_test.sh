#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Debian's `perf stat`, unmodified: its counts of programs of known length.

. "${0%/*}/lib.sh"

# stat OPTION...: machine-readable; the lines of perf's own go to $out too
stat() {
	client perf stat -x, "$@"
}

# total EVENT: the sum over all lines of it
total() {
	awk -F, -v event="$1" '{ for (i = 3; i <= NF; i++) if ($i == event) sum += $(i - 2) }
		END { printf "%d", sum }' "$out"
}

lines_of() {
	grep -c -F ",$1," "$out"
}

# counts EVENT VALUE
counts() {
	between "$(total "$1")" "$2" "$2"
}

default_events() {
	ok "default events" client perf stat $SPIN
	ok "default events: none is missing" lacks '<not '
	for event in task-clock context-switches cpu-migrations page-faults cycles instructions \
		branches branch-misses; do
		ok "default events: $event" prints "^ +[0-9.,]+ .*$event"
	done
	stat $SPIN
	ok "default events: instructions" between "$(total instructions)" $LENGTH 22000000
	# in ns, and not much more than the program
	ok "default events: task-clock" between "$(total task-clock)" 20 100
}

exact() {
	ok "-e instructions:u,branches:u" stat -e instructions:u,branches:u $SPIN
	ok "the instruction count is exact" counts instructions:u $LENGTH
	ok "the branch count is exact" counts branches:u $BRANCHES
	ok "a group" stat -e '{instructions:u,branches:u,cycles:u}' $SPIN
	ok "a group: the instruction count is exact" counts instructions:u $LENGTH
	ok "a group: the branch count is exact" counts branches:u $BRANCHES
	stat -e '{instructions:u,branches:u,instructions:u}:D' $SPIN
	ok "a pinned group" counts instructions:u $((2 * LENGTH))
	for event in r00c0:u cpu/event=0xc0/u cpu/instructions/u instructions:uD; do
		stat -e "$event" $SPIN
		ok "$event" counts "$event" $LENGTH
	done
	stat -e instructions:u,instructions:k $SPIN
	ok ":u beside :k" counts instructions:u $LENGTH
	ok ":k" between "$(total instructions:k)" 10000 1000000
}

repeated() {
	client perf stat -r 3 -e instructions:u $SPIN
	ok "-r 3: the mean" prints "^ +$LENGTH +instructions:u"
	ok "-r 3: three runs" prints '\(3 runs\)'
	ok "-I" stat -I 5 -e instructions:u $SPIN
	# perf may drop the part after the last interval
	ok "-I: the intervals add up" between "$(total instructions:u)" 19900000 $LENGTH
	ok "-I: there are several intervals" between "$(lines_of instructions:u)" 3 20
}

system_wide() {
	ok "-a" stat -a -e instructions:u $SPIN
	ok "-a: the program and perf" between "$(total instructions:u)" $LENGTH 23000000
	ok "-a --per-core" stat -a --per-core -e instructions:u $SPIN
	ok "-a --per-core: two cores" between "$(lines_of instructions:u)" 2 2
	ok "-a --per-core: their sum" between "$(total instructions:u)" $LENGTH 23000000
	stat -a -A -e instructions:u taskset -c 1 $SPIN
	ok "-A: the CPU that runs the program" between \
		"$(sed -n 's/^CPU1,\([0-9]*\),.*/\1/p' "$out")" $LENGTH 23000000
	stat -C 0 -e instructions:u taskset -c 1 $SPIN
	ok "-C 0: a program on another CPU is not counted" between "$(total instructions:u)" 1 3000000
}

inherited() {
	stat -e instructions:u sh -c "$SPIN; $SPIN"
	ok "children, one after the other" between "$(total instructions:u)" $((2 * LENGTH)) 42000000
	stat -e instructions:u sh -c "$SPIN & $SPIN & $SPIN & wait"
	ok "children, all at once" between "$(total instructions:u)" $((3 * LENGTH)) 62000000
	stat -e '{instructions:u,branches:u}' sh -c "$SPIN & $SPIN & wait"
	ok "children of a group" between "$(total branches:u)" $((2 * BRANCHES)) 21000000
	stat -i -e instructions:u sh -c "$SPIN; $SPIN"
	# the shell becomes the second of them
	ok "-i: children are not counted" between "$(total instructions:u)" $LENGTH 21000000
}

attached() {
	busy
	stat -e instructions:u -p $BUSY -- sleep 0.1
	ok "-p" between "$(total instructions:u)" 20000000 110000000
	stat -e instructions:u -t $BUSY -- sleep 0.1
	ok "-t" between "$(total instructions:u)" 20000000 110000000
	stat -e instructions:u -p $BUSY --timeout 100
	ok "-p --timeout" between "$(total instructions:u)" 20000000 110000000
	idle
}

# more events than counters: each value is an estimate and marked as such
multiplexed() {
	ten=branches:u
	for _ in 1 2 3 4 5 6 7 8 9; do
		ten=$ten,branches:u
	done
	stat -e $ten sh -c "for i in 1 2 3 4 5 6 7 8 9 10; do $SPIN; done"
	ok "ten events on four counters: all ran" between "$(lines_of branches:u)" 10 10
	ok "ten events on four counters: not all the time" awk -F, \
		'$3 == "branches:u" && $5 < 95 { n++ } END { exit n < 5 }' "$out"
	ok "ten events on four counters: within 10 %" awk -F, -v want=$((10 * BRANCHES)) \
		'$3 == "branches:u" && $1 > want * 0.9 && $1 < want * 1.1 { n++ } END { exit n != 10 }' "$out"
}

software() {
	stat -e page-faults:u,page-faults,minor-faults,cpu-clock,task-clock,dummy $SPIN
	# one code page; the number of stack pages depends on the stack's address
	ok "software events: page-faults:u" counts page-faults:u 1
	ok "software events: page-faults" between "$(total page-faults)" 1 4
	ok "software events: all are minor" counts minor-faults "$(total page-faults)"
	ok "software events: cpu-clock" between "$(total cpu-clock)" 20 100
	stat -e context-switches:u,context-switches sh -c 'sleep 0.01; sleep 0.01'
	ok "software events: context-switches" between "$(total context-switches)" 3 20
	stat -e cpu-migrations taskset -c 1 taskset -c 0 taskset -c 1 $SPIN
	ok "software events: cpu-migrations" between "$(total cpu-migrations)" 2 3
}

# with the library no event reaches the kernel's perf
no_way_around() {
	BY=pmuring
	PMURING_DEVICE=/nonexistent stat -e instructions:u,page-faults $SPIN
	ok "no event opens without the node" between "$(grep -c 'not supported' "$out")" 2 2
}

# access to the node is enough to count the user's own tasks
unprivileged() {
	BY=pmuring
	echo 3 > /proc/sys/kernel/perf_event_paranoid
	node=$(stat_mode /dev/pmuring)
	chmod 666 /dev/pmuring
	su nobody -s /bin/sh -c "LD_PRELOAD=$PRELOAD perf stat -x, -e instructions:u $SPIN" > "$out" 2>&1
	ok "user nobody with access to the node can count" counts instructions:u $LENGTH
	su nobody -s /bin/sh -c "LD_PRELOAD=$PRELOAD perf stat -x, -e instructions:k $SPIN" > "$out" 2>&1
	ok "user nobody cannot count the kernel" lacks '^[0-9]+,,instructions'
	chmod "$node" /dev/pmuring
	su nobody -s /bin/sh -c "LD_PRELOAD=$PRELOAD perf stat -x, -e instructions:u $SPIN" > "$out" 2>&1
	ok "user nobody without access to the node cannot count" lacks '^[0-9]+,,instructions'
	prepare
}

stat_mode() {
	command stat -c %a "$1"
}

both default_events exact repeated system_wide inherited attached multiplexed software
no_way_around
unprivileged
finish
