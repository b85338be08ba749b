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

# The package's own files are in three packages; its other dependencies are the
# compiler, which packages.sh installs, and the image.
needed() {
	echo "linux-headers-$KVER"
	apt-cache show "linux-headers-$KVER" | sed -n '/^Depends:/{s/^Depends://;s/([^)]*)//g;s/[,|]/\n/g;p;q}' |
		grep -oE '^ *linux-(headers-.*-common|kbuild-[^ ]*)'
}

unpack() {
	local work deb

	[ ! -e "$DIR/usr" ] || return 0
	say "fetching the headers of $KVER"
	work=$(mktemp -d)
	# shellcheck disable=SC2046	# package names have no blanks
	(cd "$work" && apt_download $(needed))
	rm -rf "$DIR" "$DIR.new"
	mkdir -p "$DIR.new"
	for deb in "$work"/*.deb; do
		dpkg-deb -x "$deb" "$DIR.new"
	done
	rm -rf "$work"
	# the one absolute path in them
	sed -i "s,/usr/src/,$DIR/usr/src/," "$DIR.new/usr/src/linux-headers-$KVER/Makefile"
	# newer packages keep the build programs in /usr/lib, where the links lead
	[ -d "$DIR.new/usr/lib" ] || mv "$DIR.new/lib" "$DIR.new/usr/lib"
	mv "$DIR.new" "$DIR"
}

if [ -f "$INSTALLED/Makefile" ]; then
	echo "$INSTALLED"
	exit
fi
locked "headers-$KVER" unpack
echo "$DIR/usr/src/linux-headers-$KVER"
