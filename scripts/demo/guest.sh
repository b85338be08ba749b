#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The guest's half of `make demo`: loads the module, records two workloads on
# all CPUs into /share. Run by scripts/vm/run as root, without arguments.

set -eu

# at the host's path, so that a report there finds its symbols
PMURING=${PMURING:?}
SOURCE=/root/source.tar
TREE=/tmp/tree
# bytes of source text for the word count
TEXT=4000000
# Debian's programs, not busybox applets
BIN=/usr/bin

words() {
	$BIN/head -c $TEXT $SOURCE |
		$BIN/perl -ne '$n{lc $_}++ for /(\w+)/g; END { print "$n{$_} $_\n" for keys %n }' |
		$BIN/sort -k1,1nr -k2 > /tmp/words
	$BIN/sha256sum /tmp/words > /dev/null
	head -n 3 /tmp/words
}

files() {
	mkdir $TREE
	# the archive is cut off on purpose
	$BIN/tar -C $TREE -xf $SOURCE 2>/dev/null || :
	$BIN/cp -r $TREE $TREE.copy
	$BIN/grep -rc EXPORT_SYMBOL $TREE.copy > /tmp/exports || :
	$BIN/rm -rf $TREE.copy $TREE
	$BIN/wc -l < /tmp/exports
}

# record runs this script again with the name of the workload
case ${1:-} in
words|files)
	"$1"
	exit
	;;
esac

# perl waits for the random pool right after boot, which is not part of the demo
head -c 1 /dev/random > /dev/null
insmod /root/pmuring.ko
"$PMURING" doctor
cp /proc/kallsyms /share/kallsyms
for phase in user:words kernel:files; do
	echo "recording: ${phase#*:}"
	"$PMURING" record -a -e cycles -c 500009 -o "/share/${phase%:*}.data" -- sh "$0" "${phase#*:}"
done
rmmod pmuring
