#!/bin/bash
# loop.sh: builds Linux's loop device for the debug kernel, which is configured without it, in
# build/loop-debug. After "uml.sh kernel".
. "$(dirname "$0")/../lib.sh"
need_root
lock loop-debug
out=$BUILD/loop-debug
kver=$(cat "$BUILD/uml-debug/kver")
[ "$(cat "$out/kver" 2>/dev/null)" != "$kver" ] || exit 0

source=$("$TOP/scripts/build/source.sh" loop-7.2)
step "loop device for $kver"
rm -rf "$out"
mkdir -p "$out"
cp "$source/drivers/block/loop.c" "$out"
echo 'obj-m := loop.o' >"$out/Kbuild"
quietly "$BUILD/log/loop-debug.log" in_tree make -s -C "/src/build/uml-debug" ARCH=um \
	M=/src/build/loop-debug modules \
	KCFLAGS='-DCONFIG_BLK_DEV_LOOP_MIN_COUNT=8 -DCONFIG_BLK_DEV_LOOP_MODULE=1'
echo "$kver" >"$out/kver"
