#!/bin/bash
# cross.sh: prepares a copy of the tree for builds for other machines: their compilers, headers of
# their kernels and libraries. Kept for other checkouts. If the mirror lacks something of the other
# machines, the file "missing" beside the copy says so, and the suite cross is skipped.
#
# Source it instead for the names of machines: cross_set ARCH sets karch (the kernel's name of the
# architecture), triplet, headers (the kernel's build folder) and emulator.
. "${BASH_SOURCE[0]%/*}/../lib.sh"
. "$TOP/scripts/build/kept.sh"

CROSS_ARCHES='arm64 s390x riscv64 ppc64el'
cross_root=$BUILD/copies/cross/changes

# shellcheck disable=SC2034 # for those who source this
cross_set() {
	flavour=$1
	case $1 in
	arm64) karch=arm64 triplet=aarch64-linux-gnu emulator=qemu-aarch64 ;;
	s390x) karch=s390 triplet=s390x-linux-gnu emulator=qemu-s390x ;;
	riscv64) karch=riscv triplet=riscv64-linux-gnu emulator=qemu-riscv64 ;;
	ppc64el) karch=powerpc triplet=powerpc64le-linux-gnu emulator=qemu-ppc64le \
		flavour=powerpc64le ;;
	*) fail "no machine '$1'; there are $CROSS_ARCHES" ;;
	esac
	headers=/usr/src/linux-headers-$(cat "$cross_root/opt/kernel" 2>/dev/null)-$flavour
}

# fetch ARCH PACKAGE...: unpacks packages of another machine in the copy. They are not installed:
# the tree has what they depend on in its own architecture, and mirrors of the rarer machines lag.
fetch() {
	local arch=$1
	shift
	in_copy cross -w /opt sh -ec '
		apt-get download -q "$@"
		for package in *.deb; do
			dpkg-deb -x "$package" /
			rm "$package"
		done' sh "${@/%/:$arch}"
}

# fetch_kernel VERSION: headers of this kernel for all machines
fetch_kernel() {
	local arch
	for arch in $CROSS_ARCHES; do
		cross_set "$arch"
		fetch "$arch" "linux-headers-$1-$flavour" || return
	done
	in_copy cross -w / apt-get install -y -q --no-install-recommends \
		"linux-headers-$1-common" "linux-kbuild-$1" || return
	in_copy cross -w / sh -c 'echo "$1" >/opt/kernel' sh "$1"
}

# The newest kernel of the tree's series that each machine has.
any_kernel() {
	local series version
	series=$(tree_kver)
	series=${series%.*}
	for version in $(in_copy cross -w / apt-cache pkgnames "linux-headers-$series." |
		sed -n 's/^linux-headers-\(.*\)-common$/\1/p' | sort -rV); do
		if fetch_kernel "$version"; then
			return
		fi
	done
	echo "no kernel $series has headers for each of $CROSS_ARCHES"
	return 1
}

# install_cross: runs in the copy
install_cross() {
	local arch compilers=(gcc-i686-linux-gnu libc6-dev-i386-cross)
	for arch in $CROSS_ARCHES; do
		cross_set "$arch"
		compilers+=("g++-${triplet//_/-}")
		in_copy cross -w / dpkg --add-architecture "$arch" || return
	done
	# Some mirrors lack indexes of some machines; what is missing fails below.
	in_copy cross -w / apt-get update
	in_copy cross -w / apt-get install -y -q --no-install-recommends \
		"${compilers[@]}" qemu-user || return
	for arch in arm64 s390x; do
		fetch "$arch" libgtest-dev libmnl-dev libmnl0 libibverbs-dev libibverbs1 \
			librdmacm-dev librdmacm1t64 \
			libnl-3-200 libnl-route-3-200 libnl-3-dev libnl-route-3-dev || return
	done
	any_kernel || return
	in_copy cross -w / apt-get clean
}

[ "${BASH_SOURCE[0]}" = "$0" ] || return 0
need_root
lock cross
key=$({ cat "$0" "$TREE/stamp"; tree_kver; } | checksum)
kept_copy cross "$key" install_cross || copy_lacks cross
