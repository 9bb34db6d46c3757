#!/bin/sh
# provider.sh RDMA_CORE OUT: builds the provider as providers/kwarp in a copy of the rdma-core
# source RDMA_CORE, and leaves libkwarp-rdmavN.so and kwarp.driver in OUT. N is the source's
# IBVERBS_PABI_VERSION. CROSS_COMPILE is the prefix of another machine's compiler.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
core=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
pabi=$("$top/scripts/install/private-abi" "$core") || pabi= # reported below
[ -n "$pabi" ] || {
	echo "make provider: '$core' is not an rdma-core source; give RDMA_CORE=" >&2
	exit 1
}
core=$(cd "$core" && pwd)
work=$out/provider
copy=$work/rdma-core
library=libkwarp-rdmav$pabi.so

# Make the copy again if the source, the destination or this script has changed.
stamp="$core $copy ${CROSS_COMPILE:-} $(
	cd "$core"
	{
		cat "$top/scripts/build/provider.sh"
		find CMakeLists.txt libibverbs util kernel-headers buildlib -type f \
			-exec cksum {} + | LC_ALL=C sort
	} 2>/dev/null | cksum
)"
if [ "$(cat "$work/stamp" 2>/dev/null)" != "$stamp" ]; then
	rm -rf "$work"
	mkdir -p "$work"
	cp -R "$core" "$copy"
	sed -i 's|^add_subdirectory(providers/siw)|&\nadd_subdirectory(providers/kwarp)|' \
		"$copy/CMakeLists.txt"
	sed -i 's|^  rdma/siw-abi.h|  rdma/kwarp-abi.h\n  rdma/kwarp_user_ioctl_verbs.h\n&|' \
		"$copy/kernel-headers/CMakeLists.txt"
	echo "$stamp" >"$work/stamp"
fi
"$top/scripts/build/mirror" "$top/userspace/provider" "$copy/providers/kwarp" .
"$top/scripts/build/mirror" "$top/include/uapi" "$copy/kernel-headers" .

run() {
	if [ "${V:-0}" = 1 ]; then
		"$@"
	else
		"$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
	fi
}
# cross: cmake's arguments for another machine
cross() {
	[ -z "${CROSS_COMPILE:-}" ] || echo "-DCMAKE_SYSTEM_NAME=Linux" \
		"-DCMAKE_SYSTEM_PROCESSOR=${CROSS_COMPILE%%-*}" \
		"-DCMAKE_C_COMPILER=${CROSS_COMPILE}gcc"
}
# libnl is only needed for InfiniBand and RoCE neighbours, not for this provider.
# shellcheck disable=SC2046 # words
[ -f "$work/build/build.ninja" ] ||
	run cmake $(cross) -GNinja -S "$copy" -B "$work/build" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
		-DCMAKE_SKIP_RPATH=TRUE -DNO_MAN_PAGES=1 -DNO_PYVERBS=1 -DENABLE_RESOLVE_NEIGH=0
run ninja ${JOBS:+"-j$JOBS"} -C "$work/build" "lib/$library"
grep -q 'warning:' "$work/log" 2>/dev/null && cat "$work/log" >&2

# One for another version of libibverbs, from an earlier build, must not be installed.
for old in "$out"/libkwarp-rdmav*.so; do
	[ "$old" = "$out/$library" ] || rm -f "$old"
done
cmp -s "$work/build/lib/$library" "$out/$library" ||
	cp -L "$work/build/lib/$library" "$out/$library"
echo 'driver kwarp' >"$out/kwarp.driver"
