#!/bin/bash
# stage-rt.sh: fetches the tree's newest PREEMPT_RT kernel and builds our modules for it. Guests
# that run that kernel lay them over the stage. Run it after stage.sh.
. "$(dirname "$0")/../lib.sh"
need_root
lock stage-rt
kver=$(tree_kver_rt)
kdir=/lib/modules/$kver/build
updates=$BUILD/stage-$kver/lib/modules/$kver/updates
strict='W=1 KCFLAGS=-Werror'

if [ ! -f "$TREE/lib/modules/$kver/vmlinuz" ]; then
	step "kernel $kver"
	quietly "$BUILD/log/tree-rt.log" \
		in_tree -w / apt-get install -y -q --no-install-recommends \
		"linux-binary-$kver" "linux-modules-$kver" "linux-headers-$kver"
	rm -f "$TREE"/var/cache/apt/archives/*.deb
fi
step "module ($kver)"
# shellcheck disable=SC2086 # words
quietly "$BUILD/log/module-rt.log" in_tree make modules KDIR="$kdir" O=/src/build/rt $strict
"$TOP/scripts/build/mirror" "$TOP/tests/kernel" "$BUILD/rt/ktest" .
# shellcheck disable=SC2086
quietly "$BUILD/log/tests-kernel-rt.log" \
	in_tree make -s -C "$kdir" M=/src/build/rt/ktest $strict modules
# Guests mount the stage over a root in which /lib is the same link.
mkdir -p "$BUILD/stage-$kver/usr/lib"
ln -sfn usr/lib "$BUILD/stage-$kver/lib"
install -D -m 644 -t "$updates" "$BUILD/rt/kwarp.ko" "$BUILD/rt/ktest/kwarp_ktest.ko"
"$TOP/scripts/build/index.sh" "stage-$kver" "$kver"
