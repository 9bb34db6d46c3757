#!/bin/bash
# siw.sh [KVER]: build Linux's own software iWARP driver, which Debian leaves out, from the kernel's
# source, and print the path of siw.ko. It is the interoperability peer at test time and no part of us.
. "$(dirname "$0")/../lib.sh"
kver=${1:-$(tree_kver)}
out=$BUILD/siw-$kver
ko=$out/siw.ko
lock siw
if [ ! -f "$ko" ]; then
	source=$("$TOP/scripts/build/source.sh" linux-6.12)
	step "siw for $kver"
	rm -rf "$out"
	cp -R "$source/drivers/infiniband/sw/siw" "$out"
	# CRC32c of 6.12 is asked for through the crypto interface; nothing of siw is changed
	quietly "$BUILD/log/siw.log" in_tree make -C "/lib/modules/$kver/build" M="/src${out#"$TOP"}" CONFIG_RDMA_SIW=m modules
fi
echo "$ko"
