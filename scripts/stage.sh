#!/bin/bash
# stage.sh: build everything inside the tree and lay it out under build/stage as it goes onto the VM's
# root: what "make install" puts there, siw.ko, and a module index that knows both. The tests' own
# programs are built, too, unless NO_TESTS=1.
# With DRIVER=siw our own module and provider are left out.
. "$(dirname "$0")/lib.sh"
need_root
kver=$(tree_kver)
kdir=/lib/modules/$kver/build
stage=$BUILD/stage
modules=$stage/lib/modules/$kver
siw=$("$TOP/scripts/siw.sh")
lock stage

if [ "${DRIVER:-kwarp}" = kwarp ]; then
	core=$("$TOP/scripts/source.sh" rdma-core)
	step 'module (6.12)'
	quietly "$BUILD/log/module.log" in_tree make modules KDIR="$kdir"
	step 'provider'
	quietly "$BUILD/log/provider.log" in_tree make provider RDMA_CORE="/src${core#"$TOP"}"
	step 'tools'
	quietly "$BUILD/log/tools.log" in_tree make tools
	quietly "$BUILD/log/stage.log" in_tree make install KDIR="$kdir" RDMA_CORE="/src${core#"$TOP"}" DESTDIR=/src/build/stage
fi

# the suites' own programs, left where they are built: build/peer, build/verbs, ...
programs='peer verbs'
[ -z "${NO_TESTS:-}" ] || programs=
for name in $programs; do
	step "tests/$name"
	quietly "$BUILD/log/tests-$name.log" in_tree -w "/src/tests/$name" make -s -j"$(nproc)" all O="/src/build/$name"
done

# the index takes the guest most of a minute, so it is made here, and only for a new set of modules
install -D -m 644 "$siw" "$modules/updates/siw.ko"
index=$(cat "$modules"/updates/*.ko "$TREE/stamp" | sha256sum)
if [ "$(cat "$stage.index" 2>/dev/null)" != "$index" ]; then
	step 'module index'
	cp "$TREE/lib/modules/$kver"/modules.{order,builtin,builtin.modinfo} "$modules/"
	# shellcheck disable=SC2016 # expanded inside
	quietly "$BUILD/log/depmod.log" in_tree sh -ec '
		mkdir -p "$2/lib/modules/$1/kernel"
		mount --bind "/lib/modules/$1/kernel" "$2/lib/modules/$1/kernel"
		depmod -b "$2" "$1"' sh "$kver" /src/build/stage
	rmdir "$modules/kernel"
	echo "$index" >"$stage.index"
fi
