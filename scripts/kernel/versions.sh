#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Prints the full version of the kernel that a series stands for.
#
#   versions.sh 6.1|6.12		e.g. 6.1.0-57-amd64
#
# Installed headers win (the newest of the series), so that headers, module and
# booted kernel agree; without any, the newest that apt knows.

set -eu
. "$(dirname "$0")/../setup/common.sh"

SERIES=${1:?usage: versions.sh SERIES}

# 6.1 must not take 6.12 with it, and -cloud-, -rt- and -dbg are other kernels
of_series() {
	grep -E "^${SERIES//./\\.}\.[^-]*(-[0-9]+)?-amd64$" | sort -V | tail -n 1
}

installed() {
	find /lib/modules -mindepth 2 -maxdepth 2 -name build -printf '%h\n' 2>/dev/null |
		sed 's,.*/,,' | of_series
}

available() {
	apt-cache pkgnames "linux-headers-$SERIES." | sed 's/^linux-headers-//' | of_series
}

version=$(installed)
[ -n "$version" ] || version=$(available)
if [ -z "$version" ]; then
	as_root apt-get -qq update >&2 </dev/null || :
	version=$(available)
fi
[ -n "$version" ] || die "no linux-headers-$SERIES.*-amd64: neither installed nor known to apt"
echo "$version"
