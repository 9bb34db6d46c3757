#!/bin/bash
# stage.sh: build everything inside the tree and lay it out under build/stage as it goes onto the VM's
# root: what "make install" puts there, siw.ko, and a module index that knows both. The tests' own
# programs and their kernel module are built, too, unless NO_TESTS=1.
# With DRIVER=siw our own module and provider are left out.
. "$(dirname "$0")/../lib.sh"
need_root
kver=$(tree_kver)
kdir=/lib/modules/$kver/build
stage=$BUILD/stage
modules=$stage/lib/modules/$kver
siw=$("$TOP/scripts/build/siw.sh")
lock stage
# guests lay the stage over a root where /lib is such a link, too
[ -L "$stage/lib" ] || { rm -rf "$stage" "$stage.index" && mkdir -p "$stage/usr/lib" && ln -s usr/lib "$stage/lib"; }
# as tests/run.d/build wants it, so that nothing is compiled twice
strict='W=1 KCFLAGS=-Werror'

if [ "${DRIVER:-kwarp}" = kwarp ]; then
	core=$("$TOP/scripts/build/source.sh" rdma-core)
	step 'module (6.12)'
	# shellcheck disable=SC2086 # words
	quietly "$BUILD/log/module.log" in_tree make modules KDIR="$kdir" $strict
	step 'provider'
	quietly "$BUILD/log/provider.log" in_tree make provider RDMA_CORE="/src${core#"$TOP"}"
	step 'tools'
	quietly "$BUILD/log/tools.log" in_tree make tools
	# shellcheck disable=SC2086
	quietly "$BUILD/log/stage.log" in_tree make install KDIR="$kdir" $strict RDMA_CORE="/src${core#"$TOP"}" DESTDIR=/src/build/stage
fi

# the suites' own programs, left where they are built: build/peer, build/verbs, ...
programs='peer verbs'
[ -z "${NO_TESTS:-}" ] || programs=
for name in $programs; do
	step "tests/$name"
	quietly "$BUILD/log/tests-$name.log" in_tree -w "/src/tests/$name" make -s -j"$(nproc)" all O="/src/build/$name"
done

if [ -z "${NO_TESTS:-}" ]; then
	step 'tests/kernel'
	"$TOP/scripts/build/mirror" "$TOP/tests/kernel" "$BUILD/ktest" .
	# shellcheck disable=SC2086
	quietly "$BUILD/log/tests-kernel.log" in_tree make -s -C "$kdir" M=/src/build/ktest $strict modules
	install -D -m 644 "$BUILD/ktest/kwarp_ktest.ko" "$modules/updates/kwarp_ktest.ko"
fi

# The index takes the guest most of a minute, so it is made here, only for a new set of modules, and
# without the kernel's drivers for hardware that a VM does not have.
indexed='arch block crypto fs lib mm net
	drivers/block drivers/crypto drivers/infiniband drivers/net/*.ko* drivers/net/bonding drivers/net/vxlan
	drivers/nvme drivers/scsi/*.ko* drivers/target drivers/virtio'
install -D -m 644 "$siw" "$modules/updates/siw.ko"
# 34 MB of debug information, which an emulated guest would read with each modprobe
in_tree sh -c "strip --strip-debug /src/build/stage/lib/modules/$kver/updates/*.ko"
index=$(cat "$modules"/updates/*.ko "$TREE/stamp" - <<<"$indexed" | sha256sum)
if [ "$(cat "$stage.index" 2>/dev/null)" != "$index" ]; then
	step 'module index'
	cp "$TREE/lib/modules/$kver"/modules.{order,builtin,builtin.modinfo} "$modules/"
	# shellcheck disable=SC2086 # patterns
	(cd "$TREE/lib/modules/$kver/kernel" && mkdir -p "$modules/kernel" && cp -al --parents $indexed "$modules/kernel/")
	quietly "$BUILD/log/depmod.log" in_tree depmod -b /src/build/stage "$kver"
	rm -rf "$modules/kernel"
	echo "$index" >"$stage.index"
fi
