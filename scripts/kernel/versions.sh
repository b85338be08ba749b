#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Prints the full version of the kernel that a series stands for.
#
#   versions.sh 6.1|6.12		e.g. 6.1.0-57-amd64
#   versions.sh default		what `make module` builds for by default
#
# Headers that are here win, the newest of the series (installed, or brought by
# headers.sh); without any, the newest that apt knows. So headers, module and
# booted kernel agree. The default is the running kernel if its headers are
# installed, else the newest headers that are here.

set -eu
. "$(dirname "$0")/../setup/common.sh"

SERIES=${1:?usage: versions.sh SERIES}

# 6.1 must not take 6.12 with it, and -cloud-, -rt- and -dbg are other kernels
of_series() {
	grep -E "^${SERIES//./\\.}\.[^-]*(-[0-9]+)?-amd64$" | newest
}

newest() {
	sort -V | tail -n 1
}

here() {
	find /lib/modules -mindepth 2 -maxdepth 2 -name build -printf '%h\n' 2>/dev/null | sed 's,.*/,,'
	# those that are whole
	find "$CACHE" -mindepth 2 -maxdepth 2 -path '*/headers-*/.complete' -printf '%h\n' 2>/dev/null |
		sed 's,.*/headers-,,' | grep -v '\.new$' || :
}

available() {
	apt-cache pkgnames "linux-headers-$SERIES." | sed 's/^linux-headers-//' | of_series
}

default() {
	if [ -f "/lib/modules/$(uname -r)/build/Makefile" ]; then
		uname -r
	else
		# headers of other flavours may be here because of a KVER=
		here | grep -vE -e '-(rt|cloud)-' | newest
	fi
}

if [ "$SERIES" = default ]; then
	version=$(default)
	[ -n "$version" ] ||
		die "no kernel headers are here: run 'make deps', or name a kernel by KVER= or KDIR="
else
	version=$(here | of_series)
	if [ -z "$version" ]; then
		apt_update
		version=$(available)
	fi
	[ -n "$version" ] || die "no linux-headers-$SERIES.*-amd64: neither here nor known to apt"
fi
echo "$version"
