#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds the example programs of Debian's libpfm4 in the cache and prints the
# directory that they are in.
#
# Their source package is fetched by the machine's own Debian entries, through lists
# that are used for this alone, since most machines have no deb-src. The
# examples come as they are, but for one number: two of them take a sample every 2.4 billion
# cycles and end after 20 or 1024 of them; here it is every 240,000.

set -eu
. "$(dirname "$0")/common.sh"

KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
EXAMPLES="self self_basic self_count self_pipe self_smpl_multi task task_cpu task_smpl
	task_attach_timeout syst syst_count syst_smpl notify_self notify_group branch_smpl"
LIBPFM=/usr/lib/x86_64-linux-gnu/libpfm.a

# private COMMAND...: apt with entries and lists of our own, below DIR
private() {
	local cmd=$1

	shift
	"$cmd" -qq -o APT::Sandbox::User=root -o Dir::State::lists="$DIR/apt/lists" \
		-o Dir::Cache="$DIR/apt/cache" -o Dir::Etc::sourcelist="$DIR/apt/entries.list" \
		-o Dir::Etc::sourceparts=/dev/null "$@"
}

fetch() {
	mkdir -p "$DIR/apt/lists/partial" "$DIR/apt/cache"
	apt-get indextargets 'Created-By: Packages' 'Origin: Debian' \
		--format "deb-src [signed-by=$KEYRING] \$(REPO_URI) \$(RELEASE) \$(COMPONENT)" |
		LC_ALL=C sort -u > "$DIR/apt/entries.list"
	[ -s "$DIR/apt/entries.list" ] ||
		die "none of this machine's apt entries leads to a Debian archive"
	private apt-get update >&2
	# apt has checked it against the archive's signature
	(cd "$DIR" && private apt-get source --download-only "libpfm4=$VERSION" >&2) ||
		die "cannot fetch the source of libpfm4 $VERSION"
}

build() {
	local name

	DIR=$(mktemp -d)
	# shellcheck disable=SC2064	# this directory
	trap "rm -rf '$DIR'" EXIT
	fetch
	dpkg-source --no-check -x "$DIR"/libpfm4_*.dsc "$DIR/source" > "$DIR/unpack.log" 2>&1
	sed -i 's/^\(#define SMPL_PERIOD[[:space:]]*\)2400000000ULL/\1240000ULL/' \
		"$DIR"/source/perf_examples/notify_*.c
	# shellcheck disable=SC2086	# one word for each
	quietly "$DIR/build.log" make -C "$DIR/source/perf_examples" -j"$JOBS" PFMLIB="$LIBPFM" \
		CFLAGS="-O2 -g -I. -I$DIR/source/include -D_GNU_SOURCE -pthread" $EXAMPLES
	rm -rf "$OUT.new"
	mkdir -p "$OUT.new"
	for name in $EXAMPLES; do
		mv "$DIR/source/perf_examples/$name" "$OUT.new/"
	done
	rm -rf "$OUT"
	mv "$OUT.new" "$OUT"
}

find_or_build() {
	[ -d "$OUT" ] || build
}

"$ROOT/scripts/setup/packages.sh" build clients
VERSION=$(dpkg-query -W -f '${Version}' libpfm4-dev)
OUT=$CACHE/libpfm-examples-$VERSION-$(hash_of "$0")
locked libpfm-examples find_or_build
echo "$OUT"
