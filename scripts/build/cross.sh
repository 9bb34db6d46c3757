#!/bin/bash
# cross.sh: prepares a copy of the tree for builds for other machines: their compilers, headers of
# their kernels and libraries. Kept for other checkouts.
#
# Source it instead for the names of machines: cross_set ARCH sets karch (the kernel's name of the
# architecture), triplet, headers (the kernel's build folder) and emulator.
. "${BASH_SOURCE[0]%/*}/../lib.sh"
. "$TOP/scripts/build/kept.sh"

CROSS_ARCHES='arm64 s390x riscv64 ppc64el'

# shellcheck disable=SC2034 # for those who source this
cross_set() {
	local flavour=$1
	case $1 in
	arm64) karch=arm64 triplet=aarch64-linux-gnu emulator=qemu-aarch64 ;;
	s390x) karch=s390 triplet=s390x-linux-gnu emulator=qemu-s390x ;;
	riscv64) karch=riscv triplet=riscv64-linux-gnu emulator=qemu-riscv64 ;;
	ppc64el) karch=powerpc triplet=powerpc64le-linux-gnu emulator=qemu-ppc64le \
		flavour=powerpc64le ;;
	*) fail "no machine '$1'; there are $CROSS_ARCHES" ;;
	esac
	kernel=$(tree_kver)
	kernel=${kernel%-amd64}-$flavour
	headers=/usr/src/linux-headers-$kernel
}

# packages: compilers, and libraries of each machine
packages() {
	local arch library
	for arch in $CROSS_ARCHES; do
		cross_set "$arch"
		echo "g++-${triplet//_/-}"
	done
	for arch in arm64 s390x; do
		for library in libgtest-dev libibverbs-dev libmnl-dev; do
			echo "$library:$arch"
		done
	done
	echo qemu-user
}

# install: runs in the copy
install() {
	local arch
	for arch in $CROSS_ARCHES; do
		in_copy cross -w / dpkg --add-architecture "$arch"
	done
	in_copy cross -w / apt-get update
	# shellcheck disable=SC2046 # names of packages
	in_copy cross -w / apt-get install -y -q --no-install-recommends $(packages)
	for arch in $CROSS_ARCHES; do
		cross_set "$arch"
		# Their dependencies are the same scripts for another machine; the tree has ours.
		in_copy cross -w /opt sh -ec '
			apt-get download -q "linux-headers-$1:$2"
			dpkg-deb -x linux-headers-"$1"_*.deb /
			rm linux-headers-"$1"_*.deb' sh "$kernel" "$arch"
	done
	in_copy cross -w / apt-get clean
}

[ "${BASH_SOURCE[0]}" = "$0" ] || return 0
need_root
lock cross
key=$({ cat "$0" "$TREE/stamp"; tree_kver; } | checksum)
[ "$(cat "$BUILD/copies/cross/key" 2>/dev/null)" != "$key" ] || exit 0
copy cross
if kept "cross-$key" "$BUILD/copies/cross/changes"; then
	step 'compilers for other machines, as they were kept'
else
	step 'compilers for other machines (minutes)'
	quietly "$BUILD/log/cross.log" install
	keep "cross-$key" -C "$BUILD/copies/cross/changes" .
fi
echo "$key" >"$BUILD/copies/cross/key"
