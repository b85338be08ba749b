#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Prints the kernel that `make module` builds for when nobody names one: the
# running kernel if its headers are here, else the newest installed headers.

set -eu
. "$(dirname "$0")/../setup/common.sh"

running=$(uname -r)
if [ -d "/lib/modules/$running/build/include" ]; then
	echo "$running"
	exit
fi
newest=$(find /lib/modules -mindepth 2 -maxdepth 2 -name build -printf '%h\n' 2>/dev/null |
	sed 's,.*/,,' | sort -V | tail -n 1)
[ -n "$newest" ] || die "no kernel headers are installed: run 'make deps', or name a kernel by KVER= or KDIR="
echo "$newest"
