#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Brings a stock Debian kernel into the cache, without installing it.
#
#   stock.sh 6.1|6.12|KVER
#
# Prints the directory that holds vmlinuz and lib/modules/KVER. KVER is the
# version whose headers the module is built against (versions.sh), so what
# boots is what was built for. /boot is neither read nor written.

set -eu
. "$(dirname "$0")/../setup/common.sh"

kver_of() {
	case $1 in
	*-amd64) echo "$1" ;;
	*) "$ROOT/scripts/kernel/versions.sh" "$1" ;;
	esac
}

fetch() {
	local dir=$1 work

	[ ! -e "$dir/vmlinuz" ] || return 0
	say "fetching the stock kernel $KVER"
	rm -rf "$dir"
	mkdir -p "$dir.new"
	work=$(mktemp -d)
	(cd "$work" && apt_download "linux-image-$KVER" && dpkg-deb -x ./*.deb .)
	# 6.1 keeps modules in /lib, later packages in /usr/lib
	mkdir -p "$dir.new/lib"
	mv "$(find "$work" -type d -path '*lib/modules')" "$dir.new/lib/"
	cp "$work/boot/System.map-$KVER" "$work/boot/config-$KVER" "$dir.new/"
	cp "$work/boot/vmlinuz-$KVER" "$dir.new/vmlinuz"
	rm -rf "$work"
	/sbin/depmod -b "$dir.new" "$KVER"
	mv "$dir.new" "$dir"
}

KVER=$(kver_of "${1:?usage: stock.sh 6.1|6.12|KVER}")
DIR=$CACHE/stock-$KVER
locked "stock-$KVER" fetch "$DIR"
echo "$DIR"
