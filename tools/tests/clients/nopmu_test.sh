#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Unmodified clients where the kernel's perf has found no PMU and pmuring drives
# one: what they look for in sysfs is there, and goes with the module.

. "${0%/*}/lib.sh"

CPU=/sys/bus/event_source/devices/cpu
BY=pmuring

# shows FILE TEXT
shows() {
	echo "$1: $(cat "$CPU/$1")"
	[ "$(cat "$CPU/$1")" = "$2" ]
}

# has_all EVENT...: `perf list` knows them and the kernel's PMU shows them
has_all() {
	for event; do
		[ -e "$CPU/events/$event" ] || return 1
	done
}

counts() {
	client perf stat -x, -e "$1" $SPIN
	ok "perf stat -e $1" prints "^$2,,"
}

files() {
	ok "the number of raw events" shows type 4
	ok "format: event" shows format/event config:0-7
	ok "format: umask" shows format/umask config:8-15
	ok "format: edge" shows format/edge config:18
	ok "format: inv" shows format/inv config:23
	ok "format: cmask" shows format/cmask config:24-31
	ok "events: all of them" has_all cpu-cycles instructions cache-references cache-misses \
		branch-instructions branch-misses bus-cycles ref-cycles
	ok "events: cycles" shows events/cpu-cycles event=0x3c,umask=0x00
	ok "events: cache misses" shows events/cache-misses event=0x2e,umask=0x41
	ok "caps: nothing is precise" shows caps/max_precise 0
}

perf_resolves() {
	for event in instructions:u r00c0:u cpu/event=0xc0/u cpu/instructions/u \
		cpu/event=0xc0,umask=0/u cpu/config=0xc0/u; do
		counts "$event" $LENGTH
	done
	counts branches:u $BRANCHES
	counts cpu/branch-instructions/u $BRANCHES
	client perf list hw
	ok "perf list: hardware events" prints 'instructions +\[Hardware event\]'
	client perf list pmu
	ok "perf list: those of sysfs" prints 'cpu/instructions/'
	ok "perf stat" client perf stat $SPIN
	ok "perf stat: nothing is missing" lacks '<not '
	ok "perf record" client perf record -o "$data" -e cpu/instructions/u -c $PERIOD $SPIN
	perf report --stdio -i "$data" > "$out" 2>&1
	ok "perf record: samples" prints "^# Samples: $SAMPLES "
}

papi_resolves() {
	client papi_avail
	ok "papi_avail" prints '^PAPI_TOT_INS +0x[0-9a-f]+ +Yes'
	client papi_command_line PAPI_TOT_INS
	ok "papi_command_line" prints '^PAPI_TOT_INS :[[:space:]]+20[0-9]{7} '
}

# the kernel's perf has no more events than before
kernel_unmoved() {
	BY=kernel
	client perf stat -x, -e instructions:u,r00c0:u,page-faults $SPIN
	ok "hardware events" between "$(grep -c '^<not supported>' "$out")" 2 2
	ok "software events" prints '^[1-9][0-9]*,,page-faults'
}

unloaded() {
	BY=pmuring
	ok "the module unloads" rmmod pmuring
	ok "nothing stays" [ ! -e $CPU ]
	kernel_unmoved
	BY=pmuring
	ok "the module loads again" insmod "$PMURING_KO"
	ok "everything is back" shows type 4
}

BY=kernel
ok "no PMU, says the kernel" sh -c 'dmesg | grep -q "no PMU driver, software events only"'
BY=pmuring
files
perf_resolves
papi_resolves
kernel_unmoved
unloaded
finish
