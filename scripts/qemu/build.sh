#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds the QEMU whose guests have a PMU, and prints the path of its binary
# as the only line on stdout. Done once per content: what is cached is printed
# at once.
#
#   build.sh			the binary, built if need be (2 to 5 minutes)
#   build.sh --dsc FILE		with this Debian source package, nothing fetched
#   build.sh --where		where the binary is or would be; builds nothing
#
# JOBS=<n> compiler processes at a time [all cores]. See README.md.

set -eu
. "$(dirname "$0")/../setup/common.sh"

HERE=$ROOT/scripts/qemu
NAME=qemu-system-x86_64
PACKAGES="gcc libc6-dev make ninja-build meson python3 pkg-config dpkg-dev patch xz-utils
	libglib2.0-dev libpixman-1-dev libfdt-dev zlib1g-dev libattr1-dev libcap-ng-dev
	seabios qemu-system-data"
DSC=

# cache_key: over all that decides what comes out; the source version among it
# by source.sh and reviewed.sha256
cache_key() {
	local files

	mapfile -t files < <(cd "$HERE" &&
		find build.sh source.sh hooks.patch reviewed.sha256 model -type f | LC_ALL=C sort)
	(cd "$HERE" && sha256sum "${files[@]}") | sha256sum | cut -c1-16
}

### progress

# watch: what ninja is at, every ten seconds, until killed or left alone
watch() {
	local start=$SECONDS nap step

	trap 'kill "$nap" 2>/dev/null; exit 0' TERM
	while kill -0 $$ 2>/dev/null; do
		sleep 10 &
		nap=$!
		wait "$nap" || :
		step=$(tail -n 5 "$LOG" | sed -n 's/^\[\([0-9]*\)\/\([0-9]*\)\].*/\1 \2/p' | tail -n 1)
		if [ -n "$step" ]; then
			say "$((100 * ${step% *} / ${step#* })) %, step ${step% *} of ${step#* }," \
			    "$((SECONDS - start)) s"
		else
			say "still at it, $((SECONDS - start)) s"
		fi
	done
}

# logged WHAT COMMAND...: output to the log; on failure its end on stderr, and death
logged() {
	local what=$1 watcher rc=0

	shift
	say "$what"
	watch 9>&- &	# not the lock: that ends with us
	watcher=$!
	("$@") >> "$LOG" 2>&1 </dev/null || rc=$?
	kill "$watcher" 2>/dev/null || :
	wait "$watcher" 2>/dev/null || :
	[ "$rc" != 0 ] || return 0
	tail -n 30 "$LOG" >&2
	die "failed: $what; the full log is $LOG"
}

### steps

install_packages() {
	local p missing=()

	for p in $PACKAGES; do
		dpkg-query -W -f '${db:Status-Status}\n' "$p" 2>/dev/null | grep -qx installed ||
			missing+=("$p")
	done
	[ ${#missing[@]} != 0 ] || return 0
	command -v apt-get >/dev/null ||
		die "this needs Debian's apt-get; elsewhere install by hand: ${missing[*]}"
	logged "refreshing the package lists" as_root apt-get -qq update
	logged "installing: ${missing[*]}" as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get -qq -y --no-install-recommends install "${missing[@]}"
}

# unpack: Debian's tree in src, and the proof that it is the reviewed one
unpack() {
	local reviewed version differ

	[ -n "$DSC" ] || DSC=$("$HERE/source.sh" "$WORK")
	logged "unpacking ${DSC##*/}" dpkg-source -x "$DSC" "$WORK/src"
	version=$(sed -n 's/^Version: //p' "$DSC" | head -n 1)
	reviewed=$("$HERE/source.sh" --reviewed)
	differ=$(cd "$WORK/src" && sha256sum --check --quiet "$HERE/reviewed.sha256" 2>/dev/null |
		sed 's/:.*//') || :
	[ -z "$differ" ] || die "the hooks were reviewed against qemu $reviewed; in qemu $version" \
		"these files are different: ${differ//$'\n'/ }. Nothing was built." \
		"How to move the hooks: $HERE/README.md, \"A new Debian version\""
	[ "$version" = "$reviewed" ] ||
		say "qemu $version has all files that we touch as in the reviewed $reviewed: going on"
	echo "$version" > "$WORK/out/source-version"
}

put_model() {
	cp -r "$HERE/model/." "$WORK/src/" &&
	patch -d "$WORK/src" -p1 --fuzz=0 --batch --forward < "$HERE/hooks.patch"
}

configure() {
	mkdir "$WORK/build" && cd "$WORK/build" &&
	../src/configure --target-list=x86_64-softmmu --meson=/usr/bin/meson \
		--without-default-features --without-default-devices --with-devices-x86_64=pmu \
		--firmwarepath=/usr/share/qemu:/usr/share/seabios \
		--enable-tcg --enable-fdt --enable-virtfs --enable-attr --enable-cap-ng \
		--disable-docs --disable-tools --disable-debug-info
}

build() {
	rm -rf "$CACHE"/qemu-*.work	# left by runs that were killed
	trap 'rm -rf "$WORK"' EXIT
	mkdir -p "$WORK/out"
	: > "$LOG"
	install_packages
	unpack
	logged "placing the model and its hooks" put_model
	logged "configuring" configure
	logged "compiling with $JOBS jobs" ninja -C "$WORK/build" -j "$JOBS" "$NAME"
	strip -o "$WORK/out/$NAME" "$WORK/build/$NAME"
	"$WORK/out/$NAME" --version >> "$LOG"
	rm -rf "$RESULT"
	mv "$WORK/out" "$RESULT"
	rm -f "$LOG"
	say "built in $SECONDS s: $RESULT/$NAME"
}

# build_unless_done: another run may have built it while this one waited
build_unless_done() {
	[ -x "$RESULT/$NAME" ] || build
}

main() {
	RESULT=$CACHE/qemu-$(cache_key)
	WORK=$RESULT.work
	LOG=$RESULT.log
	case ${1:-} in
	'')	;;
	--where) echo "$RESULT/$NAME"; return ;;
	--dsc)	DSC=$(realpath "${2:?--dsc needs the path of a .dsc file}") ;;
	*)	die "no such option: '$1'; see the head of $0" ;;
	esac
	[ -x "$RESULT/$NAME" ] || locked qemu build_unless_done >&2
	echo "$RESULT/$NAME"
}

main "$@"
