#!/bin/bash
# blktests.sh: the tests of Linux's block layer with the patches of scripts/series/blktests, in
# build/blktests, built in the copy of the tree that has the programs that they call.
#
# No release of Debian has them. The commit that the patches name comes from BLKTESTS=DIR, which is
# a git repository or a source tree, from build/src/blktests, where it is kept, or from the network.
# Where all three fail, build/blktests/missing says so, and the suites of them are skipped.
. "$(dirname "$0")/../lib.sh"
need_root
lock blktests

address=https://github.com/linux-blktests/blktests
patches=("$TOP"/scripts/series/blktests/*.patch)
commit=$(sed -n 's/^base-commit: //p' "${patches[@]}")
kept=$BUILD/src/blktests
out=$BUILD/blktests
log=$BUILD/log/blktests.log

# from_network: the commit alone, kept for the next time
from_network() {
	rm -rf "$kept.new"
	git init -q "$kept.new" &&
		timeout 300 git -C "$kept.new" fetch -q --depth 1 "$address" "$commit" &&
		git -C "$kept.new" checkout -q FETCH_HEAD &&
		mv "$kept.new" "$kept"
}

# given DIR: the commit out of a git repository, or a source tree as it is
given() {
	if git -C "$1" cat-file -e "$commit^{commit}" 2>/dev/null; then
		git -C "$1" archive "$commit" | tar -x -C "$out"
	elif [ -x "$1/check" ] && [ ! -e "$1/.git" ]; then
		cp -R "$1/." "$out"
	else
		fail "BLKTESTS='$1' lacks commit $commit;" \
			"'git fetch $address' there brings it"
	fi
}

# unpacked: lays the unchanged source out in $out; false if there is none
unpacked() {
	if [ -n "${BLKTESTS:-}" ]; then
		given "$BLKTESTS"
	elif [ -d "$kept" ] || from_network >"$log" 2>&1; then
		cp -R "$kept/." "$out"
	else
		return 1
	fi
}

stamp=$({
	cat "$0" "${patches[@]}"
	echo "${BLKTESTS:-}"
} | sha256sum)
[ "$(cat "$out/stamp" 2>/dev/null)" != "$stamp" ] || exit 0

step 'blktests'
rm -rf "$out"
mkdir -p "$out" "${log%/*}"
if ! unpacked; then
	echo "no source of blktests: $(tail -n 1 "$log"); BLKTESTS=DIR names a clone of $address" |
		tee "$out/missing"
	exit 0
fi
rm -rf "$out/.git"
for patch in "${patches[@]}"; do
	quietly "$log" patch -d "$out" -p1 --fuzz=0 -i "$patch"
done
quietly "$log" in_copy programs -w /src/build/blktests make -s
echo "$stamp" >"$out/stamp"
