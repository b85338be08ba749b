#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs test programs against a pmuring.ko, one after the other. In the guest
# (busybox sh) for `make check`, on the machine itself for `make check-host`.
#
#   run-tests.sh PMURING_KO TEST...
#
# tap.py reads the marks. A test gets the module's path in PMURING_KO, finds it
# loaded, and leaves it loaded. PMURING_TIME_LIMIT=N sets cpu_time_max_percent for each.

ko=$1
shift
export PMURING_KO="$ko"
limit=${TEST_TIMEOUT:-600}

loaded() {
	grep -q '^pmuring ' /proc/modules
}

for test; do
	name=${test##*/}
	name=${name%.sh}
	echo "# RUN $name"
	loaded || insmod "$ko" || echo "Bail out! cannot load $ko"
	[ -z "${PMURING_TIME_LIMIT:-}" ] ||
		echo "$PMURING_TIME_LIMIT" > /sys/module/pmuring/parameters/cpu_time_max_percent
	timeout "$limit" "$test" 2>&1
	echo "# EXIT $name $?"
done

! loaded || rmmod pmuring || echo "# the module does not unload: $(grep '^pmuring ' /proc/modules)"
if loaded; then
	exit 1
fi
echo "# DONE"
