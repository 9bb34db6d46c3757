#!/bin/bash
# siw.sh [KVER]: builds Linux's software iWARP driver, which Debian leaves out, from the kernel's
# source and prints the path of siw.ko. It is the interoperability peer in tests and not part of
# kwarp.
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
	# 6.12 selects CRC32c through the crypto interface; siw itself is not changed.
	quietly "$BUILD/log/siw.log" in_tree make -C "/lib/modules/$kver/build" \
		M="/src${out#"$TOP"}" CONFIG_RDMA_SIW=m modules
fi
echo "$ko"
