# SPDX-License-Identifier: GPL-2.0
#
# Linux's own perf counts programs of known length exactly, and samples them at
# exact distances. $1: what the kernel says of the PMU at boot; $2: intel or amd.
. /root/lib.sh

count() {	# EVENT PROGRAM WANTED
	tap "$1 of $2" "$(perf stat -x, -e "$1" "/root/$2" 2>&1 | cut -d, -f1)" "$3"
}

# Successive samples are PERIOD instructions apart, so their indices in the
# round of 1000 are, modulo 1000.
exact_samples() {	# PERIOD PROGRAM
	perf record -q -c "$1" -m 4096 -e instructions:u -o /tmp/data "/root/$2" 2>/dev/null
	perf script -i /tmp/data -F comm,ip 2>/dev/null > /tmp/ips
	tap "every sample exact, period $1" "$(awk -v period="$1" -v base="$(cat /root/rounds)" '
		function number(s,  i, v) {
			for (i = 1; i <= length(s); i++)
				v = v * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
			return v
		}
		BEGIN { first = number(base); last = -1 }
		$1 ~ /nops/ {
			at = number($2) - first
			if (at < 0 || at > 1002) { last = -1; next }
			if (at > 998) at = 999	# the last one is three bytes further
			if (last >= 0) {
				if ((at - last + 100000000) % 1000 == period % 1000) good++; else bad++
			}
			last = at
		}
		END { print (good > 1000 ? "many" : good + 0), bad + 0 }' /tmp/ips)" "many 0"
}

unthrottle
dmesg | grep -qi "$1"
tap "the kernel sees: $1" $? 0
tap "an invariant TSC" "$(grep -c 'constant_tsc.*nonstop_tsc' /proc/cpuinfo)" 2
[ "$2" = amd ] || tap "CPUID names the clocks" "$(dmesg | grep -c 'tsc: Detected 1000.000 MHz TSC')" 1
[ "$2" = amd ] || echo 2 > /sys/bus/event_source/devices/cpu/rdpmc
for i in 1 2 3; do
	count instructions:u loop 20000004
	count branches:u loop 10000001
done
count instructions:u rep 80005
count branches:u rep 30002
for period in 2 7; do exact_samples $period nops-short; done
for period in 1009 10007; do exact_samples $period nops; done
if [ "$2" = amd ]; then /root/user amd; else /root/user; fi
finish
