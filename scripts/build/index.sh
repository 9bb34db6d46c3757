#!/bin/bash
# index.sh STAGE KVER [ROOT STRIP]: makes the module index of a guest's kernel in build/STAGE. The
# index has the modules in build/STAGE's updates folder and those of the tree, or of ROOT for
# another machine; STRIP is then the strip program in the copy "cross". The guest would need most of
# a minute to make the index, so it is made here, only when the set of modules has changed, and
# without the kernel's drivers for hardware that a VM does not have.
. "$(dirname "$0")/../lib.sh"
stage=$BUILD/$1
kver=$2
root=${3:-$TREE}
modules=$stage/lib/modules/$kver
indexed='arch block crypto fs lib mm net
	drivers/block drivers/crypto drivers/infiniband drivers/md/dm-*.ko*
	drivers/net/*.ko* drivers/net/bonding drivers/net/vxlan drivers/net/wireguard
	drivers/nvme drivers/scsi/*.ko* drivers/scsi/device_handler drivers/target drivers/virtio'
# Remove 34 MB of debug information, which an emulated guest would read with each modprobe.
strip="${4:-strip} --strip-debug /src/build/$1/lib/modules/$kver/updates/*.ko"
if [ -n "${4:-}" ]; then
	in_copy cross sh -c "$strip"
else
	in_tree sh -c "$strip"
fi
index=$(cat "$modules"/updates/*.ko "$TREE/stamp" - <<<"$indexed" | sha256sum)
[ "$(cat "$stage.index" 2>/dev/null)" != "$index" ] || exit 0
step "module index ($kver)"
cp "$root/lib/modules/$kver"/modules.{order,builtin,builtin.modinfo} "$modules/"
# Kernels of other machines lack some of these modules.
# shellcheck disable=SC2046,SC2086 # patterns
(cd "$root/lib/modules/$kver/kernel" && mkdir -p "$modules/kernel" &&
	cp -al --parents $(ls -d $indexed 2>/dev/null) "$modules/kernel/")
quietly "$BUILD/log/depmod-$kver.log" in_tree depmod -b "/src/build/$1" "$kver"
rm -rf "$modules/kernel"
echo "$index" >"$stage.index"
