# SPDX-License-Identifier: GPL-2.0
#
# Everything printed here is the same whenever it runs: selftest/run compares.
. /root/lib.sh

perf stat -x, -e instructions:u,instructions:k,cycles,branches,cache-misses /root/loop 2>&1
perf record -q -a -e cycles -c 100003 -o /tmp/data sh -c '
	taskset 1 /root/loop & taskset 2 /root/rep; wait' 2>/dev/null
perf script -i /tmp/data -F cpu,time,ip 2>/dev/null | tail -n 5
/root/qpmu 0 show
/root/qpmu 1 show
grep -E 'NMI|LOC|RES|CAL|TLB' /proc/interrupts
cat /proc/uptime
finish
