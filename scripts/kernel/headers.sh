#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Prints the directory that modules for a kernel are built against.
#
#   headers.sh KVER
#
# Installed headers win. Others are unpacked into the cache and not installed:
# Debian's 6.12 headers depend on their kernel image, which would become the
# machine's next kernel. An own kernel has its build directory instead (KDIR=).

set -eu
. "$(dirname "$0")/../setup/common.sh"

KVER=${1:?usage: headers.sh KVER}
INSTALLED=/lib/modules/$KVER/build
DIR=$CACHE/headers-$KVER

# known: apt has the package in its lists. For a name that is none, apt shows those
# packages that match it as a pattern.
known() {
	apt-cache show --no-all-versions "linux-headers-$KVER" 2>/dev/null |
		grep -xF "Package: linux-headers-$KVER" > /dev/null
}

# The package's own files are in three packages; its other dependencies are the
# compiler, which packages.sh installs, and the image. Each name comes with its
# version where the package asks for just one.
needed() {
	echo "linux-headers-$KVER"
	apt-cache show --no-all-versions "linux-headers-$KVER" | sed -n '/^Depends:/{s/^Depends://;s/[,|]/\n/g;p}' |
		awk '$1 ~ /^linux-(headers-.*-common(-.*)?|kbuild-.*)$/ {
			sub(/\)$/, "", $3)
			print $1 ($2 == "(=" ? "=" $3 : "")
		}'
}

# chosen: what is needed, if apt can tell
chosen() {
	local names

	known || apt_update
	known || die "apt knows no linux-headers-$KVER: is the version right, and are its archives in apt's sources?"
	names=$(needed)
	[[ $names == *-common* && $names == *linux-kbuild-* ]] ||
		die "linux-headers-$KVER names no common headers or no kbuild as its dependencies: ${names//$'\n'/ }"
	echo "$names"
}

# fetch NEW: unpacked into a directory that will become DIR
fetch() {
	local new=$1 names deb

	say "fetching the headers of $KVER"
	names=$(chosen)
	mkdir "$new/debs"
	# shellcheck disable=SC2086	# package names have no blanks
	(cd "$new/debs" && apt_download $names)
	for deb in "$new"/debs/*.deb; do
		dpkg-deb -x "$deb" "$new"
	done
	rm -rf "$new/debs"
	# the one absolute path in them
	sed -i "s,/usr/src/,$DIR/usr/src/," "$new/usr/src/linux-headers-$KVER/Makefile"
	# newer packages keep the build programs in /usr/lib, where the links lead
	[ -d "$new/usr/lib" ] || mv "$new/lib" "$new/usr/lib"
}

if [ -f "$INSTALLED/Makefile" ]; then
	echo "$INSTALLED"
	exit
fi
cached "$DIR" fetch
echo "$DIR/usr/src/linux-headers-$KVER"
