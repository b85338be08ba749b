#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds a test kernel from Debian's linux-source-6.12.
#
#   test-kernel.sh [base|debug|kcsan]
#
# Prints the build directory: `make -C DIR M=...` builds modules for it,
# DIR/arch/x86/boot/bzImage boots. It is kept in the cache under a hash of the
# source package's version, the config fragments, and the functions below that
# decide what is built. Progress goes to stderr; it takes minutes, at low priority.

set -eu
. "$(dirname "$0")/../setup/common.sh"

SERIES=6.12
FLAVOUR=${1:-base}
HERE=$ROOT/scripts/kernel
TARBALL=/usr/src/linux-source-$SERIES.tar.xz

# flavours: name, config fragments, arguments of the kernel's make
flavours() {
	cat <<-'END'
	base	base
	debug	base tests debug
	kcsan	base tests kcsan	KCSAN_SANITIZE=n
	END
}

# flavour COLUMN: of the one that is asked for
flavour() {
	flavours | awk -F'\t+' -v name="$FLAVOUR" -v column="$1" '$1 == name { print $column }'
}

fragments() {
	local name

	for name in $(flavour 2); do
		echo "$HERE/config/$name.config"
	done
}

# asked_for FILE: each symbol's last setting, as sorted NAME=VALUE
asked_for() {
	sed -n 's/^CONFIG_\([A-Z0-9a-z_]*\)=/\1 /p' "$1" |
		awk '{ name = $1; sub(/^[^ ]* /, ""); v[name] = $0 }
		     END { for (n in v) print n "=" v[n] }' | sort
}

# Kconfig drops what it cannot have without a word; a test kernel without its
# checker would then pass everything.
check_config() {
	local tree=$1 name value refused=0

	while IFS='=' read -r name value; do
		if [ "$value" = n ]; then
			grep -q "^CONFIG_$name=" "$tree/.config" || continue
		else
			grep -qxF "CONFIG_$name=$value" "$tree/.config" && continue
		fi
		say "Kconfig refused CONFIG_$name=$value"
		refused=1
	done < <(asked_for "$tree/fragments.config")
	[ "$refused" = 0 ] || die "mend the fragments in scripts/kernel/config/"
}

configure() {
	local tree=$1

	fragments | xargs cat > "$tree/fragments.config"
	quietly "$tree/config.log" \
		make -C "$tree" KCONFIG_ALLCONFIG=fragments.config allnoconfig
	check_config "$tree"
}

# Module builds need the headers, the build scripts and objtool, not the
# sources and objects: 220 MB less for each kernel.
slim() {
	local tree=$1

	find "$tree" -mindepth 1 -maxdepth 1 -type d \
		! -name arch ! -name include ! -name scripts ! -name tools \
		-exec rm -rf {} +
	find "$tree/arch" -mindepth 1 -maxdepth 1 -type d ! -name x86 -exec rm -rf {} +
	find "$tree/tools" -mindepth 1 -maxdepth 1 -type d \
		! -name objtool ! -name include ! -name build -exec rm -rf {} +
	find "$tree/arch" \( -name '*.[ocS]' -o -name '*.a' -o -name '.*.cmd' \) -delete
	rm -f "$tree/vmlinux.o" "$tree/vmlinux.a" "$tree/.vmlinux"* "$tree/.tmp_vmlinux"*
}

build() {
	local tree=$1

	[ ! -e "$tree/.complete" ] || return 0
	say "building the $FLAVOUR test kernel in $tree (once; minutes)"
	rm -rf "$tree"
	mkdir -p "$tree"
	quietly "$tree.log" tar -C "$tree" --strip-components=1 -xf "$TARBALL"
	configure "$tree"
	# fixed identity: the same inputs give the same kernel
	# shellcheck disable=SC2046	# one word for each argument
	quietly "$tree/build.log" nice -n 15 make -C "$tree" -j"$JOBS" \
		KBUILD_BUILD_TIMESTAMP='2024-01-01' KBUILD_BUILD_USER=pmuring \
		KBUILD_BUILD_HOST=pmuring $(flavour 3) bzImage modules
	slim "$tree"
	rm -f "$tree.log"
	touch "$tree/.complete"
}

main() {
	local version hash files

	[ -n "$(flavour 1)" ] || die "no such test kernel: '$FLAVOUR'; there are:" \
		"$(flavours | cut -f1 | paste -sd' ')"
	"$ROOT/scripts/setup/packages.sh" build kernel
	files=$(fragments)
	version=$(dpkg-query -W -f '${Version}' "linux-source-$SERIES")
	# shellcheck disable=SC2086	# one word per file; the tree has no blanks
	hash=$( { echo "$version $(flavour 3)"; cat $files; declare -f configure build slim; } |
		sha256sum | cut -c1-16)
	locked "test-kernel-$FLAVOUR" build "$CACHE/test-kernel-$FLAVOUR-$hash"
	echo "$CACHE/test-kernel-$FLAVOUR-$hash"
}

main
