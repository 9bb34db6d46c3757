#!/bin/bash
# debs.sh: runs "make deb" in a copy of the tree, with Debian's packaging tools, and leaves the
# packages in build/deb. build/deb-next has the same packages with a higher version, for tests of
# upgrades and downgrades. build/deb/lintian has lintian's output on the first.
. "$(dirname "$0")/../lib.sh"
need_root
lock debs
core=$("$TOP/scripts/build/source.sh" rdma-core)

step 'tools for packages'
copy deb
quietly "$BUILD/log/deb-tools.log" in_copy deb -w / sh -c 'apt-get update &&
	apt-get install -y -q --no-install-recommends debhelper dh-dkms lintian'

step 'packages'
# The packages do not use the checkout's build folder, because their compiler flags differ.
quietly "$BUILD/log/deb.log" in_copy deb make deb RDMA_CORE="/src${core#"$TOP"}"

step 'packages of the next version'
next=$BUILD/copies/next
rm -rf "$next" "$BUILD/copies/next-out"
mkdir -p "$next"
(cd "$TOP" && cp -R Makefile Kbuild dkms.conf README.md CHANGES.md LICENSES .ci Documentation \
	include kernel scripts tests userspace debian "$next/")
sed -i -E 's/^(#define KWARP_VERSION_PATCH[[:space:]]+).*/\199/' "$next/kernel/version.h"
sed -i -E "1s/\([0-9.]+-/($("$next/scripts/version")-/" "$next/debian/changelog"
quietly "$BUILD/log/deb-next.log" in_copy deb -w "/src${next#"$TOP"}" make deb \
	RDMA_CORE="/src${core#"$TOP"}" O=/src/build/copies/next-out
rm -rf "$BUILD/deb-next"
mv "$BUILD/copies/next-out/deb" "$BUILD/deb-next"

step 'lintian'
in_copy deb -w /src/build/deb sh -c 'lintian --color never --tag-display-limit 0 *.changes' \
	>"$BUILD/deb/lintian" 2>&1 || :
