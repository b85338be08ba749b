#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A stage of `make check`: headers.sh, stock.sh and versions.sh with interrupted
# downloads and unpacks, and the packages that they request. A cache entry is whole or
# absent, whatever happened before. A fake apt, which serves small packages and fails on
# request, comes before the real one in PATH.

set -eu
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
. "$ROOT/scripts/check/results.sh"
begin

# /tmp may be mounted without execution
WORK=$(mktemp -d "$OUT/cache-XXXXXX")
trap 'rm -rf "$WORK"' EXIT
OLDROOT=$ROOT
ARCHIVE=$WORK/archive
VERSION=6.12.999-1~deb12u1
# this kernel does not exist, so its headers are not installed
KERNEL=6.12.999+deb12
LOG=$OUT/cache.log
export PATH=$WORK/bin:$PATH PMURING_CACHE=$WORK/cache FAKE_APT=$WORK

# stanza PACKAGE DEPENDS: as `apt-cache show` prints it
stanza() {
	printf 'Package: %s\nSource: linux-6.12\nVersion: %s\nArchitecture: amd64\nDepends: %s\nFilename: pool/x.deb\n\n' \
		"$1" "$VERSION" "$2" > "$ARCHIVE/$1.stanza"
}

# headers_of FLAVOUR COMMON: what Debian's metadata says of them
headers_of() {
	stanza "linux-headers-$KERNEL$1-amd64" \
		"linux-base (>= 4.12~), linux-headers-$KERNEL-$2 (= $VERSION), linux-image-$KERNEL$1-amd64 (= $VERSION) | linux-image-$KERNEL$1-amd64-unsigned (= $VERSION), linux-kbuild-$KERNEL, gcc-12"
}

# package NAME FILE...: a package with these files, each with its own name in it
package() {
	local name=$1 file root=$WORK/root

	shift
	rm -rf "$root"
	mkdir -p "$root/DEBIAN"
	printf 'Package: %s\nVersion: %s\nArchitecture: amd64\nMaintainer: none\nDescription: none\n' \
		"$name" "$VERSION" > "$root/DEBIAN/control"
	for file; do
		mkdir -p "$root/$(dirname "$file")"
		echo "include /usr/src/$file" > "$root/$file"
	done
	dpkg-deb -Znone --build "$root" "$ARCHIVE/$name.deb" > /dev/null
}

make_archive() {
	local flavour headers

	mkdir -p "$ARCHIVE"
	headers_of "" common
	headers_of -rt common-rt
	headers_of -cloud common
	for flavour in "" -rt -cloud; do
		headers=linux-headers-$KERNEL$flavour-amd64
		package "$headers" "usr/src/$headers/Makefile"
	done
	package "linux-headers-$KERNEL-common" "usr/src/linux-headers-$KERNEL-common/Makefile"
	package "linux-headers-$KERNEL-common-rt" "usr/src/linux-headers-$KERNEL-common-rt/Makefile"
	package "linux-kbuild-$KERNEL" "usr/lib/linux-kbuild-$KERNEL/scripts/basic/fixdep"
	package "linux-image-$KERNEL-amd64" "boot/vmlinuz-$KERNEL-amd64" \
		"boot/System.map-$KERNEL-amd64" "boot/config-$KERNEL-amd64" \
		"usr/lib/modules/$KERNEL-amd64/modules.order" \
		"usr/lib/modules/$KERNEL-amd64/modules.builtin"
}

# The fake programs in PATH. FAULT is the failure: `lists` apt knows nothing before an
# update, `download` the last package is missing, `unpack` the second package is
# truncated, `kill` everything is killed at that point.
make_programs() {
	mkdir -p "$WORK/bin"
	cat > "$WORK/bin/apt-cache" <<-'END'
		#!/bin/bash
		[ "${FAULT:-}" != lists ] || [ -e "$FAKE_APT/updated" ] || exit 0
		for last; do :; done
		case $1 in
		# a name that is none is a pattern
		show)	cat "$FAKE_APT/archive/$last.stanza" 2>/dev/null ||
				cat "$FAKE_APT/archive/$last"*.stanza 2>/dev/null || { echo "N: Unable to locate package" >&2; exit 100; } ;;
		pkgnames) (cd "$FAKE_APT/archive" && ls "$last"*.deb | sed 's/\.deb$//') ;;
		esac
	END
	cat > "$WORK/bin/apt-get" <<-'END'
		#!/bin/bash
		verb= packages=()
		while [ $# != 0 ]; do
			case $1 in
			-o)	shift ;;
			-*)	;;
			*)	if [ -z "$verb" ]; then verb=$1; else packages+=("$1"); fi ;;
			esac
			shift
		done
		case $verb in
		update)	touch "$FAKE_APT/updated" ;;
		download)
			printf '%s\n' "${packages[@]}" > "$FAKE_APT/asked"
			for package in "${packages[@]}"; do
				[ "${FAULT:-}:$package" != "download:${packages[-1]}" ] || exit 100
				cp "$FAKE_APT/archive/${package%=*}.deb" . || exit 100
			done ;;
		esac
	END
	cat > "$WORK/bin/dpkg-deb" <<-END
		#!/bin/bash
		n=\$(cat "\$FAKE_APT/unpacked" 2>/dev/null || echo 0)
		echo \$((n + 1)) > "\$FAKE_APT/unpacked"
		case \${FAULT:-}:\$n in
		unpack:1 | unpack-first:0) $(command -v dpkg-deb) "\$@"; exit 2 ;;
		kill:1 | kill-first:0) $(command -v dpkg-deb) "\$@"; kill -9 \$PPID; exit 1 ;;
		esac
		exec $(command -v dpkg-deb) "\$@"
	END
	chmod +x "$WORK"/bin/*
}

forget() {
	rm -rf "$PMURING_CACHE" "$WORK/updated" "$WORK/unpacked" "$WORK/asked"
}

# try FAULT SCRIPT ARGUMENT: its status; what it prints is in $got
try() {
	local rc=0

	rm -f "$WORK/unpacked"
	echo "# $*" >> "$LOG"
	got=$(FAULT=$1 "$ROOT/scripts/kernel/$2" "$3" 2>> "$LOG") || rc=$?
	echo "$got, status $rc" >> "$LOG"
	return "$rc"
}

# result WHAT COMMAND...: turns the command's status into a result
result() {
	local what=$1

	shift
	if "$@"; then pass "cache: $what"; else fail "cache: $what" "see ${LOG#"$ROOT"/}"; fi
}

asks_for() {
	try none headers.sh "$1" || return 1
	shift
	[ "$(paste -sd' ' "$WORK/asked")" = "$*" ]
}

# headers_are_whole KVER: and the links lead to the cache
headers_are_whole() {
	[ "$got" = "$PMURING_CACHE/headers-$1/usr/src/linux-headers-$1" ] &&
		grep -q "^include $PMURING_CACHE/headers-$1/usr/src/" "$got/Makefile" &&
		[ -e "$PMURING_CACHE/headers-$1/usr/lib/linux-kbuild-$KERNEL/scripts/basic/fixdep" ]
}

# headers_after FAULT: the first try leaves nothing, the second one succeeds
headers_after() {
	local kver=$KERNEL-amd64

	forget
	! try "$1" headers.sh "$kver" || return 1
	[ ! -e "$PMURING_CACHE/headers-$kver" ] || return 1
	try none headers.sh "$kver" && headers_are_whole "$kver"
}

stock_after() {
	local kver=$KERNEL-amd64

	forget
	! try "$1" stock.sh "$kver" || return 1
	[ ! -e "$PMURING_CACHE/stock-$kver" ] || return 1
	try none stock.sh "$kver" && [ "$got" = "$PMURING_CACHE/stock-$kver" ] &&
		[ -e "$got/vmlinuz" ] && [ -e "$got/lib/modules/$kver/modules.dep" ]
}

# a partial entry of an earlier version
half_unpacked() {
	forget
	mkdir -p "$PMURING_CACHE/headers-$KERNEL-amd64/usr"
	try none headers.sh "$KERNEL-amd64" && headers_are_whole "$KERNEL-amd64"
}

# half_is_no_version: a series does not resolve to a partial entry
half_is_no_version() {
	forget
	mkdir -p "$PMURING_CACHE/headers-6.12.1000+deb12-amd64/usr"
	try none versions.sh 6.12 && [ "$got" != 6.12.1000+deb12-amd64 ]
}

# rt_is_no_default: `make module` does not default to a cached real-time kernel
rt_is_no_default() {
	forget
	try none headers.sh "$KERNEL-rt-amd64" && try none headers.sh "$KERNEL-amd64" || return 1
	try none versions.sh default && [[ $got != *-rt-* ]]
}

whole_is_not_fetched_again() {
	forget
	try none headers.sh "$KERNEL-amd64" || return 1
	rm "$WORK/asked"
	try none headers.sh "$KERNEL-amd64" && [ ! -e "$WORK/asked" ] && headers_are_whole "$KERNEL-amd64"
}

no_lists() {
	forget
	try lists headers.sh "$KERNEL-rt-amd64" && headers_are_whole "$KERNEL-rt-amd64"
}

unknown() {
	forget
	! try none headers.sh 6.12.998+deb12-amd64 && [ ! -e "$PMURING_CACHE/headers-6.12.998+deb12-amd64" ]
}

# a name that only begins that of packages
part_of_a_name() {
	forget
	! try none headers.sh 6.12 && [ ! -e "$PMURING_CACHE/headers-6.12" ] &&
		[ ! -e "$WORK/asked" ]
}

# make's KVER=6.12 is the newest of the series
series() {
	forget
	[ "$(make -C "$OLDROOT" -s --no-print-directory KVER=6.12 kver)" = "$("$OLDROOT/scripts/kernel/versions.sh" 6.12)" ]
}

# refuses_path DIRECTORY: a tree or a cache there is refused with a message
refuses_path() {
	mkdir -p "$WORK/$1/scripts"
	cp -r "$ROOT/scripts/setup" "$ROOT/scripts/kernel" "$WORK/$1/scripts/"
	forget
	! "$WORK/$1/scripts/kernel/headers.sh" "$KERNEL-amd64" > /dev/null 2> "$WORK/said" &&
		grep -q "^headers.sh: error: cannot work in '" "$WORK/said" || return 1
	! PMURING_CACHE=$WORK/$1/cache try none headers.sh "$KERNEL-amd64" && [ ! -e "$WORK/$1/cache" ]
}

# works_in DIRECTORY: works with the tree and the cache there
works_in() {
	local PMURING_CACHE=$WORK/$1/cache ROOT=$WORK/$1

	mkdir -p "$ROOT"
	cp -r "$OLDROOT/scripts" "$ROOT/"
	try none headers.sh "$KERNEL-amd64" && headers_are_whole "$KERNEL-amd64"
}

# with another home directory and a relative cache path
elsewhere() {
	forget
	unset PMURING_CACHE
	HOME=$WORK/home try none headers.sh "$KERNEL-amd64" &&
		[[ $got == "$WORK/home/.cache/pmuring/"* ]] || return 1
	(cd "$WORK" && PMURING_CACHE=relative try none headers.sh "$KERNEL-amd64" &&
		[[ $got == "$WORK/relative/"* ]])
}

# no directory is left elsewhere
no_litter() {
	local tmp=$WORK/tmp

	mkdir -p "$tmp"
	forget
	! TMPDIR=$tmp try download headers.sh "$KERNEL-amd64" &&
		! TMPDIR=$tmp try unpack-first stock.sh "$KERNEL-amd64" && [ -z "$(ls "$tmp")" ]
}

: > "$LOG"
make_archive
make_programs
result "a kernel's packages are requested" asks_for "$KERNEL-amd64" "linux-headers-$KERNEL-amd64" \
	"linux-headers-$KERNEL-common=$VERSION" "linux-kbuild-$KERNEL"
result "a real-time kernel's packages are requested" asks_for "$KERNEL-rt-amd64" \
	"linux-headers-$KERNEL-rt-amd64" "linux-headers-$KERNEL-common-rt=$VERSION" "linux-kbuild-$KERNEL"
result "a cloud kernel's packages are requested" asks_for "$KERNEL-cloud-amd64" \
	"linux-headers-$KERNEL-cloud-amd64" "linux-headers-$KERNEL-common=$VERSION" "linux-kbuild-$KERNEL"
result "headers: missing package lists are updated" no_lists
result "headers: an unknown package is an error" unknown
result "headers: part of a name is not a kernel" part_of_a_name
result "make: a series is its newest kernel" series
result "headers: recovers from a failed download" headers_after download
result "headers: recovers from a failed unpack" headers_after unpack
result "headers: recovers from a kill during the unpack" headers_after kill
result "headers: a partial entry is not used" half_unpacked
result "headers: a partial entry is not a version" half_is_no_version
result "headers: a real-time kernel is not the default" rt_is_no_default
result "headers: a whole entry is not fetched again" whole_is_not_fetched_again
result "stock kernel: recovers from a failed download" stock_after download
result "stock kernel: recovers from a failed unpack" stock_after unpack-first
result "stock kernel: recovers from a kill during the unpack" stock_after kill-first
result "no temporary directory is left" no_litter
result "a path with a blank is refused" refuses_path "a b"
result "a path with a comma is refused" refuses_path "a,b"
result "a path with a dollar sign is refused" refuses_path "a\$b"
result "a long path with special characters works" works_in "$(printf 'a+b~c@d-e_f.%.0s' {1..15})/é"
result "another home and a relative cache work" elsewhere
finish
