# SPDX-License-Identifier: GPL-2.0
#
# For the scripts that run in the guest: TAP lines without numbers, which
# selftest/run adds. Each script ends with `finish`; one that does not has died.

tap() {	# NAME GOT WANTED
	if [ "$2" = "$3" ]; then
		echo "ok - $1"
	else
		echo "not ok - $1 # got '$2', want '$3'"
	fi
}

finish() {
	tap "no complaint about NMIs" "$(dmesg | grep -ciE 'dazed|unknown nmi|uhhuh')" 0
	echo finished
}

# an NMI of 2,000 ns is no reason to sample less
unthrottle() {
	echo 5000000 > /proc/sys/kernel/perf_event_max_sample_rate
	echo 0 > /proc/sys/kernel/perf_cpu_time_max_percent
}

writable_msrs() {
	echo on > /sys/module/msr/parameters/allow_writes
}
