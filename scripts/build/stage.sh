#!/bin/bash
# stage.sh: builds everything inside the tree and installs it under build/stage, in the layout of
# the VM's root: the files of "make install", siw.ko, and a module index for both. Also builds the
# test programs and the test module, unless NO_TESTS=1: then nothing is done if no source has
# changed, so that the files of running guests stay.
. "$(dirname "$0")/../lib.sh"
need_root
kver=$(tree_kver)
kdir=/lib/modules/$kver/build
stage=$BUILD/stage
modules=$stage/lib/modules/$kver
siw=$("$TOP/scripts/build/siw.sh")
lock stage

# sources: prints a checksum of the sources of the stage
sources() {
	{
		cat "$TREE/stamp"
		cd "$TOP"
		find Kbuild Makefile include kernel userspace scripts/build scripts/install "$siw" \
			-type f -printf '%p %s %T@\n' | LC_ALL=C sort
	} | sha256sum
}

[ -z "${NO_TESTS:-}" ] || [ ! -e "$modules/updates/kwarp.ko" ] ||
	[ "$(cat "$stage.made" 2>/dev/null)" != "$(sources)" ] || exit 0
made=$(sources)
# Guests mount the stage over a root in which /lib is the same link.
[ -L "$stage/lib" ] || {
	rm -rf "$stage" "$stage.index" && mkdir -p "$stage/usr/lib" && ln -s usr/lib "$stage/lib"
}
# The same flags as in tests/run.d/build, so that nothing is compiled twice.
strict='W=1 KCFLAGS=-Werror'

core=$("$TOP/scripts/build/source.sh" rdma-core)
step 'module (6.12)'
# shellcheck disable=SC2086 # words
quietly "$BUILD/log/module.log" in_tree make modules KDIR="$kdir" $strict
step 'provider'
quietly "$BUILD/log/provider.log" in_tree make provider RDMA_CORE="/src${core#"$TOP"}"
step 'tools'
quietly "$BUILD/log/tools.log" in_tree make tools
# shellcheck disable=SC2086
quietly "$BUILD/log/stage.log" in_tree make install KDIR="$kdir" $strict \
	RDMA_CORE="/src${core#"$TOP"}" DESTDIR=/src/build/stage

# The suites' programs stay where they are built: build/peer, build/verbs, ...
programs='peer verbs'
[ -z "${NO_TESTS:-}" ] || programs=
for name in $programs; do
	step "tests/$name"
	quietly "$BUILD/log/tests-$name.log" \
		in_tree -w "/src/tests/$name" make -s -j"$(nproc)" all O="/src/build/$name" \
			PEER=/src/build/peer
done

if [ -z "${NO_TESTS:-}" ]; then
	step 'tests/kernel'
	"$TOP/scripts/build/mirror" "$TOP/tests/kernel" "$BUILD/ktest" .
	# shellcheck disable=SC2086
	quietly "$BUILD/log/tests-kernel.log" \
		in_tree make -s -C "$kdir" M=/src/build/ktest $strict modules
	install -D -m 644 "$BUILD/ktest/kwarp_ktest.ko" "$modules/updates/kwarp_ktest.ko"
fi

install -D -m 644 "$siw" "$modules/updates/siw.ko"
"$TOP/scripts/build/index.sh" stage "$kver"
echo "$made" >"$stage.made"
