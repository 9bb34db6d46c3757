#!/bin/bash
# series.sh KERNEL RDMA_CORE OUT: writes the driver as a series of patches for the kernel's tree
# KERNEL into OUT/kernel, and the provider as a series for the tree RDMA_CORE into OUT/rdma-core.
# Neither tree is changed or needs to be a git repository. Author and sign-off are those of git
# (user.name, user.email).
. "$(dirname "$0")/lib.sh"
SERIES=$TOP/scripts/series
SERIES_KERNEL=7.2
. "$TOP/scripts/series/git.sh"
. "$TOP/scripts/series/kernel.sh"
. "$TOP/scripts/series/rdma-core.sh"

kernel=$1 rdma_core=$2 out=$3
step 'series for upstream'
command -v git >/dev/null || fail 'make series needs git: apt-get install git'
[ -n "$kernel" ] || fail "give KERNEL=DIR, a source tree of Linux $SERIES_KERNEL" \
	'(https://www.kernel.org, or Debian'\''s package linux-source-7.2)'
[ -n "$rdma_core" ] || fail 'give RDMA_CORE=DIR, a source tree of rdma-core' \
	'(https://github.com/linux-rdma/rdma-core)'
kernel_tree "$kernel"
rdma_core_tree "$rdma_core"
AUTHOR_NAME=${GIT_AUTHOR_NAME:-$(git -C "$TOP" config user.name || :)}
AUTHOR_MAIL=${GIT_AUTHOR_EMAIL:-$(git -C "$TOP" config user.email || :)}
[ -n "$AUTHOR_NAME$AUTHOR_MAIL" ] ||
	fail 'the sign-off needs a name: git config user.name NAME; git config user.email MAIL'
# The same commit gives the same patches.
GIT_AUTHOR_DATE=$(git -C "$TOP" log -1 --format=%cI 2>/dev/null || date -Is)
export GIT_AUTHOR_DATE GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE GIT_AUTHOR_NAME=$AUTHOR_NAME
export GIT_AUTHOR_EMAIL=$AUTHOR_MAIL GIT_COMMITTER_NAME=$AUTHOR_NAME
export GIT_COMMITTER_EMAIL=$AUTHOR_MAIL GIT_CONFIG_GLOBAL=/dev/null
kernel=$(cd "$kernel" && pwd)
rdma_core=$(cd "$rdma_core" && pwd)
mkdir -p "$out"
out=$(cd "$out" && pwd)

step "for Linux $SERIES_KERNEL"
series_begin kernel "$out/work/kernel"
kernel_final "$kernel"
every_patch "$SERIES/kernel/messages" "${KERNEL_PATCHES[@]}"
format_patches "$out/kernel" 'PATCH rdma-next' "$SERIES/kernel/cover"

step 'for rdma-core'
series_begin rdma_core "$out/work/rdma-core"
rdma_core_final "$rdma_core" "$out/work/kernel/final/include/uapi/rdma"
every_patch "$SERIES/rdma-core/messages" "${RDMA_CORE_PATCHES[@]}"
format_patches "$out/rdma-core" 'PATCH rdma-core' "$SERIES/rdma-core/cover"
rm -rf "$out/work"
for series in kernel rdma-core; do
	echo "$out/$series: $(find "$out/$series" -name '*.patch' ! -name 0000-\* | wc -l) patches"
done
