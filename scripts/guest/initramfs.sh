#!/bin/bash
# initramfs.sh KVER [ROOT]: makes the VM's initramfs for a kernel of the tree, or of the ROOT of
# another machine, and prints its path. Its first program is initramfs-init.
. "$(dirname "$0")/../lib.sh"
. "$TOP/scripts/guest/boot.sh"
lock initramfs

kver=$1
root=${2:-$TREE}
busybox=${2:+$2/usr/bin/busybox}
out=$BUILD/initramfs-$kver.cpio.gz
newer() { [ "$out" -nt "$TOP/scripts/guest/$1" ]; }
newer boot.sh && newer initramfs-init && [ "$out" -nt "$TREE/stamp" ] && { echo "$out"; exit 0; }

step 'initramfs'
make_initramfs "$root" "$kver" "${busybox:-$(command -v busybox)}" "$out"
echo "$out"
