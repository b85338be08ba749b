#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Debian's `perf record`, `report`, `script` and `top`, unmodified: how many samples
# there are of programs of known length, and where.

. "${0%/*}/lib.sh"

# record OPTION...: to $data
record() {
	rm -f "$data"
	client perf record -o "$data" "$@"
}

# The file is read on neither side.
report() {
	perf report --stdio -i "$data" "$@" > "$out" 2>&1
}

script() {
	perf script -i "$data" "$@" > "$out" 2>&1
}

# samples_in FUNCTION [EVENT]
samples_in() {
	script -F event,ip,sym
	grep -cE "${2:+$2: .*} $1( |\$)" "$out"
}

# exactly: the period's samples, all of them where the time goes by
exactly() {
	ok "$1: $SAMPLES samples" between "$(samples_in spin_here)" $SAMPLES $SAMPLES
	report
	ok "$1: report counts them" prints "^# Samples: $SAMPLES  of event 'instructions:u'"
	ok "$1: report finds the function" prints '100\.00% +spin +spin +\[\.\] spin_here'
	ok "$1: nothing is lost" lacks 'Lost Samples: [1-9]'
}

# mostly WHAT LOW HIGH: about that many samples, nearly all in the function
mostly() {
	ok "$1: number of samples" between "$(samples_in spin_here)" "$2" "$3"
	report
	ok "$1: the function" prints '^ +(9[5-9]\.[0-9]+|100\.00)% .*spin_here'
}

default_record() {
	ok "no option" record $SPIN
	mostly "no option" 60 110
	ok "-F 10000" record -F 10000 $SPIN
	mostly "-F 10000" 150 260
}

periods() {
	ok "-c" record -e instructions:u -c $PERIOD $SPIN
	exactly "-c"
	ok "--per-thread" record --per-thread -e instructions:u -c $PERIOD $SPIN
	exactly "--per-thread"
	ok "--overwrite" record --overwrite -e instructions:u -c $PERIOD $SPIN
	exactly "--overwrite"
	ok "-i" record -i -e instructions:u -c $PERIOD $SPIN
	exactly "-i"
	ok "-e r00c0:u" record -e r00c0:u -c $PERIOD $SPIN
	ok "-e r00c0:u: $SAMPLES samples" between "$(samples_in spin_here)" $SAMPLES $SAMPLES
}

system_wide() {
	ok "-a" record -a -e instructions:u -c $PERIOD $SPIN
	# the instructions before the program shift its samples
	ok "-a: samples of the program" between "$(samples_in spin_here)" $((SAMPLES - 1)) $((SAMPLES + 1))
	ok "-C 1" record -C 1 -e instructions:u -c $PERIOD taskset -c 1 $SPIN
	ok "-C 1: samples of a program there" between "$(samples_in spin_here)" $((SAMPLES - 1)) $((SAMPLES + 1))
	ok "-C 0" record -C 0 -e instructions:u -c $PERIOD taskset -c 1 $SPIN
	ok "-C 0: none of another CPU's" between "$(samples_in spin_here)" 0 0
}

attached() {
	busy
	ok "-p" record -p $BUSY -e instructions:u -c 1000003 -- sleep 0.1
	script -F pid,event
	ok "-p: samples" between "$(grep -c "^ *$BUSY " "$out")" 20 110
	ok "-t" record -t $BUSY -e instructions:u -c 1000003 -- sleep 0.1
	script -F pid,event
	ok "-t: samples" between "$(grep -c "^ *$BUSY " "$out")" 20 110
	idle
}

inherited() {
	ok "children" record -e instructions:u -c $PERIOD sh -c "$SPIN & $SPIN & wait"
	ok "children: samples of both" between "$(samples_in spin_here)" $((2 * SAMPLES - 2)) $((2 * SAMPLES + 2))
	script --show-task-events
	ok "children: FORK records" prints PERF_RECORD_FORK
	ok "children: EXIT records" prints PERF_RECORD_EXIT
	ok "children: COMM records" prints 'PERF_RECORD_COMM exec: spin'
	script --show-mmap-events
	ok "children: MMAP records" prints 'PERF_RECORD_MMAP2 .*/tests/spin'
}

groups() {
	ok "{cycles,instructions}:S" record -e '{cycles,instructions}:S' $SPIN
	leader=$(samples_in spin_here cycles)
	ok "{cycles,instructions}:S: the leader samples" between "$leader" 60 120
	ok "{cycles,instructions}:S: with values of the other" between \
		"$(samples_in spin_here instructions)" "$leader" "$leader"
}

switches() {
	ok "--switch-events" record --switch-events -e instructions:u -c $PERIOD \
		sh -c "sleep 0.01; $SPIN"
	script --show-switch-events
	ok "--switch-events: records out" prints 'PERF_RECORD_SWITCH OUT'
	ok "--switch-events: records in" prints 'PERF_RECORD_SWITCH IN'
	ok "-a --switch-events" record -a --switch-events -e instructions:u -c $PERIOD $SPIN
	script --show-switch-events
	ok "-a --switch-events: records" prints 'PERF_RECORD_SWITCH_CPU_WIDE'
}

call_chains() {
	ok "-g" record -g -e instructions:u -c $PERIOD $CHAIN
	script -F ip,sym
	ok "-g: the callers, innermost first" awk -v RS= '
		/inner_here.*\n.*middle_here.*\n.*outer_here.*\n.*_start/ { n++ }
		END { exit !(n >= 195) }' "$out"
	report -g caller
	ok "-g: report adds up the callers" prints '^ +(99|100)\.[0-9]+% +0\.00% +chain +chain +\[\.\] outer_here'
	ok "-g of kernel code" record -g -e instructions:k -c 1009 $SPIN
	script -F ip,sym
	ok "-g of kernel code: whence it was entered" awk -v RS= '
		/(asm_exc_page_fault|entry_SYSCALL_64)/ { n++ } END { exit !(n >= 5) }' "$out"
}

top() {
	sh -c "while :; do $SPIN; done" &
	BUSY=$!
	LIMIT=5 client perf top --stdio -e instructions:u -c $PERIOD -d 1
	ok "top: what is running" prints '[0-9]+\.[0-9]+% +spin +\[\.\] spin_here'
	idle
}

# Reading 200,000 kernel symbols takes most of the time of `perf record`.
hide_kernel_symbols() {
	: > "$dir/none"
	mount --bind "$dir/none" /proc/kallsyms
}

hide_kernel_symbols
both default_record periods system_wide attached inherited groups switches top
umount /proc/kallsyms
both call_chains
finish
