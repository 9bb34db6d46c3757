#!/bin/bash
# stage-foreign.sh: for guests of other machines (scripts/guest/foreign.sh), builds the files of
# "make install", the test module and the suites' programs, and lays them out under
# build/cross/ARCH/stage. Nothing is done if the mirror lacks packages of other machines.
. "$(dirname "$0")/../guest/foreign.sh"
"$TOP/scripts/guest/foreign.sh"
[ ! -e "$foreign_copy/missing" ] || exit 0
lock stage-foreign
core=$("$TOP/scripts/build/source.sh" rdma-core)
strict='W=1 KCFLAGS=-Werror'
# A guest has its own programs in these places.
mkdir -p "$BUILD/examples" "$BUILD/peer" "$BUILD/verbs"

# made [-w DIR] COMMAND...: runs COMMAND with the compilers of $arch
made() {
	local where=()
	[ "$1" != -w ] || { where=(-w "$2"); shift 2; }
	in_copy cross "${where[@]}" env ARCH="$karch" CROSS_COMPILE="$triplet-" \
		PKG_CONFIG_LIBDIR="/usr/lib/$triplet/pkgconfig" "$@"
}

for arch in $FOREIGN_ARCHES; do
	cross_set "$arch"
	out=build/cross/$arch
	kver=$(foreign_kver "$arch")
	modules=$TOP/$out/stage/lib/modules/$kver
	# The guest's root has the same link.
	[ -L "$TOP/$out/stage/lib" ] || {
		rm -rf "${TOP:?}/$out/stage" "$TOP/$out/stage.index"
		mkdir -p "$TOP/$out/stage/usr/lib"
		ln -s usr/lib "$TOP/$out/stage/lib"
	}
	step "$arch: module, provider and tools"
	# shellcheck disable=SC2086 # words
	quietly "$BUILD/log/stage-$arch.log" made make install O="/src/$out" KDIR="$headers" \
		RDMA_CORE="/src${core#"$TOP"}" DESTDIR="/src/$out/stage" $strict
	for name in peer verbs; do
		step "$arch: tests/$name"
		quietly "$BUILD/log/tests-$name-$arch.log" made -w "/src/tests/$name" make -s \
			-j"$(nproc)" all O="/src/$out/$name" PEER="/src/$out/peer" \
			CXX="$triplet-g++"
	done
	step "$arch: tests/kernel"
	"$TOP/scripts/build/mirror" "$TOP/tests/kernel" "$TOP/$out/ktest" .
	# shellcheck disable=SC2086
	quietly "$BUILD/log/tests-kernel-$arch.log" \
		made make -s -C "$headers" M="/src/$out/ktest" $strict modules
	install -D -m 644 "$TOP/$out/ktest/kwarp_ktest.ko" "$modules/updates/kwarp_ktest.ko"
	"$TOP/scripts/build/index.sh" "cross/$arch/stage" "$kver" "$(foreign_root "$arch")" \
		"$triplet-strip"
done
