#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Brings a stock Debian kernel into the cache, without installing it.
#
#   stock.sh 6.1|6.12|KVER
#
# Prints the directory that holds vmlinuz and lib/modules/KVER. The module is built
# against the headers of KVER (versions.sh), so it matches the booted kernel. /boot is neither read nor written.

set -eu
. "$(dirname "$0")/../setup/common.sh"

kver_of() {
	case $1 in
	*-amd64) echo "$1" ;;
	*) "$ROOT/scripts/kernel/versions.sh" "$1" ;;
	esac
}

# fetch NEW: unpacked into a directory that will become DIR
fetch() {
	local new=$1 work=$1/unpacked

	say "fetching the stock kernel $KVER"
	mkdir "$work" "$new/lib"
	(cd "$work" && apt_download "linux-image-$KVER" && dpkg-deb -x ./*.deb .)
	# 6.1 keeps modules in /lib, later packages in /usr/lib
	mv "$(find "$work" -type d -path '*lib/modules')" "$new/lib/"
	cp "$work/boot/System.map-$KVER" "$work/boot/config-$KVER" "$new/"
	cp "$work/boot/vmlinuz-$KVER" "$new/vmlinuz"
	rm -rf "$work"
	/sbin/depmod -b "$new" "$KVER"
}

KVER=$(kver_of "${1:?usage: stock.sh 6.1|6.12|KVER}")
DIR=$CACHE/stock-$KVER
cached "$DIR" fetch
echo "$DIR"
