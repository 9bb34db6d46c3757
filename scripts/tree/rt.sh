#!/bin/bash
# rt.sh: adds the newest PREEMPT_RT kernel to the tree
. "$(dirname "$0")/../lib.sh"
need_root
lock tree
kver=$(tree_kver_rt)
[ ! -f "$TREE/lib/modules/$kver/vmlinuz" ] || exit 0
step "kernel $kver"
quietly "$BUILD/log/tree-rt.log" \
	in_tree -w / apt-get install -y -q --no-install-recommends \
	"linux-binary-$kver" "linux-modules-$kver" "linux-headers-$kver"
rm -f "$TREE"/var/cache/apt/archives/*.deb
