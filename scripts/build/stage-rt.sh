#!/bin/bash
# stage-rt.sh: builds our modules for the tree's newest PREEMPT_RT kernel. Guests that run that
# kernel lay them over the stage. Run it after stage.sh.
. "$(dirname "$0")/../lib.sh"
need_root
lock stage-rt
kver=$(tree_kver_rt)
kdir=/lib/modules/$kver/build
updates=$BUILD/stage-$kver/lib/modules/$kver/updates
strict='W=1 KCFLAGS=-Werror'

"$TOP/scripts/tree/rt.sh"
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
