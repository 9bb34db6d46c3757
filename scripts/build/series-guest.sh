#!/bin/bash
# series-guest.sh: builds the files for the suite vm-series from the patches of "make series", in
# build/series-guest: the driver for the debug kernel, and rdma-core with pyverbs. Run it after
# scripts/build/series.sh (the tools) and "uml.sh kernel".
. "$(dirname "$0")/../lib.sh"
need_root
lock series-guest

work=$BUILD/series-guest
inside=/src${work#"$TOP"}
log=$BUILD/log/series-guest.log
linux=$("$TOP/scripts/build/source.sh" linux-7.2 all)
core=$("$TOP/scripts/build/source.sh" rdma-core)

# patched FOLDER PATCHES [ARG...]: applies patches in a new git repository
patched() {
	local folder=$1 patch
	git init -q "$folder"
	for patch in "$work/series/$2"/*.patch; do
		[[ $patch != */0000-* ]] || continue
		(cd "$folder" && git apply "${@:3}" "$patch") || return
	done
}

# module: builds the driver for a kernel whose configuration and headers do not include it
module() {
	local folder=drivers/infiniband/sw/kwarp header=include/uapi/rdma/ib_user_ioctl_verbs.h
	mkdir -p "$work/driver/${header%/*}"
	cp "$linux/$header" "$work/driver/$header"
	patched "$work/driver" kernel --include="$folder/*" --include='include/uapi/*' || return
	in_tree make -s -j"$(nproc)" -C "/src${linux#"$TOP"}" O=/src/build/uml-debug ARCH=um \
		M="$inside/driver/$folder" KCFLAGS='-O1 -DCONFIG_RDMA_KWARP_SCTP=1' \
		NOSTDINC_FLAGS="-nostdinc -I$inside/driver/include/uapi -I$inside/driver/include" \
		CONFIG_RDMA_KWARP=m CONFIG_RDMA_KWARP_SCTP=y modules || return
	cp "$work/driver/$folder/kwarp.ko" "$work"
}

# pyverbs: builds rdma-core completely; its tests stay in the source folder
pyverbs() {
	cp -R "$core" "$work/rdma-core"
	patched "$work/rdma-core" rdma-core || return
	in_copy series -w "$inside" cmake -GNinja -S rdma-core -B core -DNO_MAN_PAGES=1 &&
		in_copy series -w "$inside/core" ninja
}

step 'driver and rdma-core with the patches of "make series"'
rm -rf "$work"
mkdir -p "$work"
export GIT_AUTHOR_NAME='The kwarp developers' GIT_AUTHOR_EMAIL=kwarp@example.org
quietly "$log" make -s -C "$TOP" series KERNEL="$linux" RDMA_CORE="$core" O="$work"
(quietly "$log" module)
(quietly "$log" pyverbs)
