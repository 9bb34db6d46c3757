#!/bin/bash
# tested-on.sh TALLY: prints, as CSV, the kernels, machines and distributions on which the suites of
# a run of check-all have passed. TALLY is written by run-suite.sh and has a line for each suite.
. "$(dirname "$0")/lib.sh"
. "$TOP/scripts/guest/foreign.sh"

# row END KERNEL MACHINE ROOT: sums the suites whose names end with END. ROOT is the guests' root
# file system. Failed suites are left out, and so is a row without suites.
row() {
	local distribution
	distribution=$(sed -nE 's/^PRETTY_NAME="([^",]*)"/\1/p' "$4/etc/os-release")
	awk -v end="$1" -v head="$2,$3,$distribution" '
		substr($1, length($1) - length(end) + 1) == end && $4 == 0 && $3 > 0 {
			suites++
			passed += $3
			skipped += $5
		}
		END { if (suites) printf "%s,%d,%d,%d\n", head, suites, passed, skipped }' "$tally"
}

tally=$1
echo 'Kernel,Machine,Distribution,Suites,Cases,Skipped'
row @debug "$(cat "$BUILD/uml-debug/kver") (KASAN and lockdep)" 'x86-64 (user-mode Linux)' "$TREE"
row @stock "$(tree_kver)" x86-64 "$TREE"
row @rt "$(tree_kver_rt)" x86-64 "$TREE"
for arch in $FOREIGN_ARCHES; do
	[ ! -d "$(foreign_root "$arch")" ] ||
		row "@$arch" "$(foreign_kver "$arch")" "$arch" "$(foreign_root "$arch")"
done
row packages "$(tree_kver) and $(tree_kver_next)" 'x86-64 (packages and DKMS)' "$TREE"
row cross "$(tree_kver)" 'arm64 s390x riscv64 ppc64el (cross-built)' "$TREE"
