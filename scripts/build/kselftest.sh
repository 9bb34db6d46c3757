#!/bin/bash
# kselftest.sh: installs tests/kselftest with the kernel's own runner in build/kselftest, as "make
# -C tools/testing/selftests TARGETS=drivers/infiniband/kwarp install" does in a kernel's source.
. "$(dirname "$0")/../lib.sh"
need_root
lock kselftest
source=$("$TOP/scripts/build/source.sh" selftests-7.2)
target=drivers/infiniband/kwarp
folder=$source/tools/testing/selftests/$target

rm -rf "$BUILD/kselftest" "$folder"
mkdir -p "${folder%/*}"
cp -R "$TOP/tests/kselftest" "$folder"
quietly "$BUILD/log/kselftest.log" in_tree -w "/src${source#"$TOP"}/tools/testing/selftests" \
	make -s install TARGETS=$target FORCE_TARGETS=1 KSFT_INSTALL_PATH=/src/build/kselftest
