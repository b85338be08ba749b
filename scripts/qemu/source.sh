#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Fetches Debian's QEMU source package and prints the path of its .dsc.
#
#   source.sh DIRECTORY		downloads into it; needs no deb-src entries
#   source.sh --reviewed	prints the version that hooks.patch was made for
#
# The machine's own entries stay as they are: apt tells which of them are
# Debian's, whatever their format, and the same archives are asked for sources
# through lists, caches and entries that live in DIRECTORY alone.
# Called by build.sh.

set -eu
. "$(dirname "$0")/../setup/common.sh"

REVIEWED=1:7.2+dfsg-7+deb12u18
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# private COMMAND...: apt with package lists of our own
private() {
	local cmd=$1

	shift
	# nobody's files but ours are touched: apt need not drop its privileges
	"$cmd" -qq -o APT::Sandbox::User=root \
		-o Dir::State::lists="$DIR/apt/lists" -o Dir::Cache="$DIR/apt/cache" "$@"
}

# with_entries COMMAND...: apt that knows the entries in entries.list only
with_entries() {
	local cmd=$1

	shift
	private "$cmd" -o Dir::Etc::sourcelist="$DIR/apt/entries.list" \
		-o Dir::Etc::sourceparts=/dev/null "$@"
}

# debian_archives [APT-OPTION...]: one deb-src line per archive whose signed
# Release file says that it is Debian's. Only downloaded lists can tell.
debian_archives() {
	apt-get "$@" indextargets 'Created-By: Packages' 'Origin: Debian' \
		--format "deb-src [signed-by=$KEYRING] \$(REPO_URI) \$(RELEASE) \$(COMPONENT)" |
		LC_ALL=C sort -u
}

write_entries() {
	debian_archives > "$DIR/apt/entries.list"
	if [ ! -s "$DIR/apt/entries.list" ]; then
		say "no package lists on this machine: fetching some for this build alone"
		private apt-get update >&2 || say "apt-get update complained; going on"
		debian_archives -o Dir::State::lists="$DIR/apt/lists" > "$DIR/apt/entries.list"
	fi
	[ -s "$DIR/apt/entries.list" ] ||
		die "none of this machine's apt entries leads to a Debian archive;" \
		    "add one, or give build.sh the source package: --dsc FILE"
}

# offered: the versions of the archives, newest first
offered() {
	with_entries apt-cache showsrc qemu 2>/dev/null | sed -n 's/^Version: //p' | sort -urV
}

# choose: the reviewed version if it is there, else the newest of its upstream
choose() {
	local all

	all=$(offered)
	[ -n "$all" ] || die "this machine's archives have no source of qemu; give it: --dsc FILE"
	grep -Fx "$REVIEWED" <<< "$all" && return
	grep -F "${REVIEWED%-*}-" <<< "$all" | head -n 1 | grep . && return
	die "the model was reviewed against Debian's qemu $REVIEWED; this machine's archives" \
	    "offer: ${all//$'\n'/, }. Use Debian 12's archives, or give the package: --dsc FILE"
}

fetch() {
	local version

	mkdir -p "$DIR/apt/lists/partial" "$DIR/apt/cache"
	write_entries
	with_entries apt-get update >&2 || say "apt-get update complained; going on"
	version=$(choose)
	say "fetching the source of qemu $version"
	(cd "$DIR" && with_entries apt-get source --download-only "qemu=$version" >&2) ||
		die "cannot fetch the source of qemu $version; see apt's messages above"
	rm -rf "$DIR/apt"
	ls "$DIR"/qemu_*.dsc
}

case ${1:-} in
--reviewed)	echo "$REVIEWED" ;;
''|-*)		die "usage: source.sh DIRECTORY | --reviewed" ;;
*)		DIR=$(cd "$1" && pwd)
		fetch ;;
esac
