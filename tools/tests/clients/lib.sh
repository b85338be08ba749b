# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# Shared by the tests of unmodified clients. Sourced by each of them in the guest
# of scripts/check/clients.sh; a POSIX shell, since the guest has no other.
#
# Each check runs on the kernel's perf first and then, in the same boot, on pmuring
# through the preload library (BY=kernel, then BY=pmuring): a check that fails on the
# kernel is a wrong test, not a fault of the module.

PRELOAD=${PRELOAD:-/clients/libpmuring-preload.so}
SPIN=/tests/spin
CHAIN=/tests/clients/chain
# user instructions of spin.S, including exit's system call
LENGTH=20000004
BRANCHES=10000002
PERIOD=100003
SAMPLES=$((LENGTH / PERIOD))

dir=$(mktemp -d)
out=$dir/out
data=$dir/data
n=0
BY=kernel

# ok WHAT COMMAND...: one result, by the command's status; what there was on failure
ok() {
	what="$BY: $1"
	shift
	n=$((n + 1))
	if "$@" > "$dir/now" 2>&1; then
		echo "ok $n - $what"
	else
		# a program that was ended may leave a line without its end
		{ echo "$*"; tail -n 4 "$dir/now"; tail -n 24 "$out"; echo; } | sed 's/^/# /'
		echo "not ok $n - $what"
	fi
}

# client COMMAND...: an unmodified program on the side of BY, output to $out
client() {
	case $BY in
	kernel) timeout "${LIMIT:-60}" "$@" ;;
	pmuring) LD_PRELOAD=$PRELOAD timeout "${LIMIT:-60}" "$@" ;;
	esac > "$out" 2>&1 < /dev/null
}

# prints REGEX: $out has such a line
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

# same NAME VALUE: what the kernel gave under this name, give or take $3
same() {
	if [ "$BY" = kernel ]; then
		echo "$2" > "$dir/kernel.$1"
		[ -n "$2" ]
	else
		was=$(cat "$dir/kernel.$1")
		between "$2" $((was - ${3:-0})) $((was + ${3:-0}))
	fi
}

# busy: a process that spins in user space until idle ends it
busy() {
	sh -c 'while :; do :; done' &
	BUSY=$!
}

idle() {
	kill "$BUSY"
	wait "$BUSY" 2>/dev/null
}

# both FUNCTION...: each for the kernel's perf, then each for pmuring
both() {
	for BY in ${SIDES:-kernel pmuring}; do
		for case; do
			"$case"
		done
	done
}

# prepare: under -icount each NMI seems to last for microseconds, for which the kernel
# throttles; PAPI wants a sysctl that Debian sets higher
prepare() {
	echo 0 > /proc/sys/kernel/perf_cpu_time_max_percent
	echo 2 > /proc/sys/kernel/perf_event_paranoid
	limit=/sys/module/pmuring/parameters/cpu_time_max_percent
	[ ! -e $limit ] || echo 0 > $limit
}

# finish: the plan comes last, so that a script that ends early has none
finish() {
	rm -rf "$dir"
	echo "1..$n"
}

prepare
