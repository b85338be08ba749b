#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Installs the Debian packages that are missing, and nothing that is there.
#
#   packages.sh [GROUP...]	without a group: all of them
#
# Groups: build (module and tools), headers (of 6.1 and 6.12), vm (booting),
# kernel (the test kernel), demo (programs to profile), clients (unmodified users of
# perf events), check (static checkers).
# Called by `make deps` and by each script that needs one.

set -eu -o pipefail
. "$(dirname "$0")/common.sh"

updated=

require_apt() {
	command -v apt-get >/dev/null ||
		die "this needs Debian's apt-get; elsewhere install by hand: $*"
}

update_once() {
	[ -n "$updated" ] || apt_update
	updated=yes
}

installed() {
	dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

known() {
	apt-cache show "$1" >/dev/null 2>&1
}

packages_of() {
	case $1 in
	build)	echo "gcc gcc-12 libc6-dev make kmod pahole xz-utils libelf-dev libdw-dev libpfm4-dev libiberty-dev" ;;
	vm)	echo "busybox-static cpio zstd xz-utils kmod seabios qemu-system-data" \
		     "libglib2.0-0 libpixman-1-0 libfdt1 libcap-ng0" ;;
	kernel)	echo "linux-source-6.12 gcc make bc bison flex libelf-dev libssl-dev xz-utils" ;;
	demo)	echo "linux-perf xz-utils coreutils tar grep perl libc6-dbg linux-source-6.12" ;;
	clients) echo "linux-perf papi-tools libpfm4-dev dpkg-dev strace" ;;
	check)	echo "sparse perl python3 mandoc kmod linux-source-6.12 linux-perf" ;;
	*)	die "no such group of packages: '$1'" ;;
	esac
}

apt_install() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=600 \
		-o Dpkg::Use-Pty=0 --no-install-recommends install "$@" >&2 </dev/null
}

install_missing() {
	local p missing=()

	for p; do
		installed "$p" || missing+=("$p")
	done
	[ ${#missing[@]} != 0 ] || return 0
	require_apt "${missing[@]}"
	for p in "${missing[@]}"; do
		known "$p" || { update_once; break; }
	done
	say "installing: ${missing[*]}"
	apt_install "${missing[@]}" && return 0
	# lists older than the mirror name files that are gone
	update_once
	apt_install "${missing[@]}" ||
		die "cannot install: ${missing[*]}; see apt's messages above"
}

# Security updates rename the headers' packages, so the names are looked up.
bring_headers() {
	local series

	for series in 6.1 6.12; do
		"$ROOT/scripts/kernel/headers.sh" "$("$ROOT/scripts/kernel/versions.sh" "$series")" >/dev/null
	done
}

main() {
	local group list=()

	[ $# != 0 ] || set -- build headers vm kernel demo clients check
	for group; do
		[ "$group" != headers ] || { bring_headers; continue; }
		# shellcheck disable=SC2207	# package names have no blanks
		list+=($(packages_of "$group"))
	done
	install_missing "${list[@]}"
}

main "$@"
