#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Debian's PAPI utilities, unmodified: what there is, what it counts, that the
# measuring of costs runs through.

. "${0%/*}/lib.sh"

# value_of EVENT: as papi_command_line prints it
value_of() {
	awk -v event="$1" '$1 == event && $2 == ":" { print $3 }' "$out"
}

avail() {
	ok "papi_avail" client papi_avail
	ok "papi_avail: the processor" prints '^Vendor string and code +: GenuineIntel'
	ok "papi_avail: instructions" prints '^PAPI_TOT_INS +0x[0-9a-f]+ +Yes'
	ok "papi_avail: cycles" prints '^PAPI_TOT_CYC +0x[0-9a-f]+ +Yes'
	ok "papi_avail: as many as ever" same avail \
		"$(sed -n 's/.* \([0-9]*\) are available.*/\1/p' "$out")"
	ok "papi_avail: reads by rdpmc" prints '^Fast counter read \(rdpmc\): yes'
}

native_avail() {
	ok "papi_native_avail" client papi_native_avail --noqual -i INSTRUCTION_RETIRED
	ok "papi_native_avail: an event" prints 'ix86arch::INSTRUCTION_RETIRED'
	client papi_component_avail
	ok "papi_component_avail: counters" prints 'Native: [1-9][0-9]*, Preset: [1-9][0-9]*, Counters: [1-9]'
}

command_line() {
	ok "papi_command_line" client papi_command_line PAPI_TOT_INS PAPI_BR_INS
	ok "papi_command_line: instructions" same instructions "$(value_of PAPI_TOT_INS)" 1000
	ok "papi_command_line: branches" same branches "$(value_of PAPI_BR_INS)" 1000
	client papi_command_line ix86arch::INSTRUCTION_RETIRED:u
	ok "papi_command_line: a native event" same native "$(value_of ix86arch::INSTRUCTION_RETIRED:u)" 1000
}

cost() {
	ok "papi_cost" client papi_cost -t 100
	for call in start/stop read accum reset; do
		ok "papi_cost: $call" prints "^Total cost for PAPI_$call .*100 iter"
	done
}

both avail native_avail command_line cost
finish
