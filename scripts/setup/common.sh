# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What every script shares: where the tree and the cache are, and how to speak
# to the user. Sourced, never run:   . "$(dirname "$0")/../setup/common.sh"
#
# Progress goes to stderr, so that a script's stdout carries its result alone.

# a failure inside $(...) ends the script like any other
shopt -s inherit_errexit

# messages of compilers are searched for English words, and lists are sorted
export LC_ALL=C.UTF-8

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# without HOME, ~ is what the user database says
CACHE=${PMURING_CACHE:-${HOME:-~}/.cache/pmuring}
case $CACHE in /*) ;; *) CACHE=$PWD/$CACHE ;; esac
# shellcheck disable=SC2034	# for the scripts that source this file
BUILD=$ROOT/build
JOBS=${JOBS:-$(nproc)}

say() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

die() {
	printf '%s: error: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# The kernel's build takes no blank or colon in a path, QEMU's options no comma, and
# make and sed have characters of their own.
usable_path() {
	case $1 in *[[:space:]:,\;\$%\#\&=\|\*\?\"\'\`\\\(\)\<\>\[\]]*) return 1 ;; esac
}
usable_path "$ROOT" || die "cannot work in '$ROOT': blanks and any of : , ; \$ % # & = | * ? \" ' \` \\ ( ) < > [ ] break make or QEMU; move the tree"
usable_path "$CACHE" || die "cannot keep files in '$CACHE': its name has a blank or a special character; set PMURING_CACHE"

# as_root COMMAND...: runs it as root, by sudo when we are not
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "'$1' needs root: run as root or install sudo"
	fi
}

# apt_update: fresh package lists; the lists that are here have to do if that fails
apt_update() {
	say "refreshing the package lists"
	(as_root apt-get -qq -o DPkg::Lock::Timeout=600 update >&2 </dev/null) ||
		say "apt-get update failed; going on with the lists that are here"
}

# apt_download PACKAGE...: into the current directory. As root, apt would fetch
# as its own user, which may not write here.
apt_download() {
	command -v apt-get >/dev/null || die "this needs Debian's apt-get, for: $*"
	apt-get -qq -o APT::Sandbox::User=root download "$@" >&2 </dev/null && return 0
	apt_update
	apt-get -qq -o APT::Sandbox::User=root download "$@" >&2 </dev/null ||
		die "apt cannot download $*: no longer in the archive, or no network"
}

# hash_of FILE...: one short hash over the contents, in the order given
hash_of() {
	cat -- "$@" | sha256sum | cut -c1-16
}

# locked NAME COMMAND...: one at a time on this machine, so that two runs do
# not build the same cache entry
locked() {
	local lock=$CACHE/$1.lock

	shift
	mkdir -p "$CACHE"
	(
		exec 9>"$lock"
		flock -n 9 || { say "waiting for another run to finish ${lock##*/}"; flock 9; }
		"$@"
	)
}

# is_complete DIR: an entry of the cache is there, whole
is_complete() {
	[ -e "$1/.complete" ]
}

# cached DIR COMMAND...: an entry of the cache. COMMAND fills the directory named by its
# last argument, which is renamed to DIR only when COMMAND succeeds, so that an
# interrupted run leaves no entry. Do not use after `if` or before `||`, where bash would
# let COMMAND go on after a failure.
cached() {
	is_complete "$1" || locked "${1##*/}" make_entry "$@"
}

make_entry() {
	local dir=$1

	shift
	# another run may have made it while this one waited
	! is_complete "$dir" || return 0
	rm -rf "$dir.new"
	mkdir -p "$dir.new"
	"$@" "$dir.new"
	touch "$dir.new/.complete"
	rm -rf "$dir"
	mv -T "$dir.new" "$dir"
}

# tick SECONDS LOG: says how many lines LOG has, every SECONDS, until killed.
# A long build stays visibly alive without its hundreds of lines on the screen.
tick() {
	local start=$SECONDS

	# a sleep that outlives us must not hold our output or a lock
	while sleep "$1" > /dev/null 2>&1; do
		say "... $((SECONDS - start)) s, $(wc -l < "$2") lines in $2"
	done
}

# quietly LOG COMMAND...: output to LOG, progress by tick, the tail on failure
quietly() {
	local log=$1 ticker rc=0

	shift
	: > "$log"
	tick 20 "$log" 9>&- &
	ticker=$!
	"$@" >>"$log" 2>&1 </dev/null || rc=$?
	kill "$ticker" 2>/dev/null || :
	wait "$ticker" 2>/dev/null || :
	if [ "$rc" != 0 ]; then
		tail -n 30 "$log" >&2
		say "failed with status $rc: $*; full log: $log"
	fi
	return "$rc"
}
