#!/bin/bash
# foreign.sh: prepares guests of other machines, arm64 and s390x: a copy of the tree with their
# emulators, and for each a root with Debian's kernel and programs. The packages are unpacked, not
# installed: no program of another machine runs outside of its guest. Kept for other checkouts. If
# the mirror lacks a package, the file "missing" beside the copy says so, and the suites are
# skipped.
#
# Source it instead for foreign_root ARCH, the root's path, foreign_kver ARCH, and FOREIGN_ARCHES.
. "${BASH_SOURCE[0]%/*}/../build/cross.sh"

FOREIGN_ARCHES='arm64 s390x'
foreign_copy=$BUILD/copies/foreign

foreign_root() {
	echo "$foreign_copy/changes/opt/guests/$1"
}

foreign_kver() {
	echo "$(cat "$cross_root/opt/kernel")-$1"
}

# unpack ARCH KERNEL: makes the root /opt/guests/ARCH in the copy. apt names all packages that those
# of packages.foreign need. Some mirrors lag with the rarer machines: what trixie lacks there is
# taken from the next release, with the C library that it was built for.
unpack() {
	# shellcheck disable=SC2046 # names of packages
	in_copy foreign -w /opt sh -ec '
		arch=$1 root=/opt/guests/$1
		shift
		mkdir -p "$root" debs
		cd debs
		: >/tmp/nothing-installed
		apt-get install --print-uris -q -y --no-install-recommends \
			-o APT::Architecture="$arch" -o APT::Architectures::="$arch" \
			-o Dir::State::status=/tmp/nothing-installed "$@" >/tmp/plan
		packages=$(sed -nE "s/^.http[^ ]* ([^_]*)_[^ ]*_(all|$arch)\.deb .*/\1:\2/p" \
			/tmp/plan | sed "s/:all$//")
		apt-get download -q $packages || :
		for package in $packages; do
			set -- "${package%:*}"_*.deb
			[ ! -e "$1" ] || continue
			apt-get download -q "$package/forky"
			rm -f libc6_*.deb
			apt-get download -q "libc6:$arch/forky"
		done
		# first the links of /bin, /lib and /sbin
		for package in base-files_*.deb *.deb; do
			dpkg-deb -x "$package" "$root"
		done
		cd ..
		rm -r debs
		# what the programs of packages would do when they are installed
		cp /etc/passwd /etc/group /etc/protocols /etc/services "$root/etc/"
		ln -sf mawk "$root/usr/bin/awk"
		ln -sf bash "$root/usr/bin/sh"
		mkdir -p "$root/src" "$root/results"' sh "$1" \
		$(list "$TOP/scripts/tree/packages.foreign") "linux-image-$(foreign_kver "$1")"
}

# install_foreign: makes the copy
install_foreign() {
	local arch
	for arch in $FOREIGN_ARCHES; do
		in_copy foreign -w / dpkg --add-architecture "$arch" || return
	done
	in_copy foreign -w / sh -ec '
		sed -n "s/ trixie main\$/ forky main/p" /etc/apt/sources.list | grep "^deb " \
			>/etc/apt/sources.list.d/forky.list
		printf "%s\n" "Package: *" "Pin: release n=forky" "Pin-Priority: 1" \
			>/etc/apt/preferences.d/forky
		apt-get update || :
		apt-get install -y -q --no-install-recommends qemu-system-arm qemu-system-s390x' ||
		return
	for arch in $FOREIGN_ARCHES; do
		unpack "$arch" || return
	done
	in_copy foreign -w / apt-get clean
}

[ "${BASH_SOURCE[0]}" = "$0" ] || return 0
need_root
"$TOP/scripts/build/cross.sh"
lock foreign
if [ -e "$BUILD/copies/cross/missing" ]; then
	mkdir -p "$foreign_copy"
	cp "$BUILD/copies/cross/missing" "$foreign_copy/missing"
	exit 0
fi
key=$({ cat "$0" "$TOP/scripts/tree/packages.foreign" "$TREE/stamp" "$cross_root/opt/kernel"; } |
	checksum)
kept_copy foreign "$key" install_foreign || copy_lacks foreign
