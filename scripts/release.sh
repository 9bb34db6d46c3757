#!/bin/bash
# release.sh VERSION: makes a release of this commit: commits version, date and the table of tested
# platforms, with the tags vVERSION and debian/VERSION-1 (the form of DEP-14, which git-buildpackage
# and uscan expect). Nothing is pushed.
#
# Prerequisites: a complete run of "make check-all" of this commit without a failure, and a section
# "VERSION, not released" in CHANGES.md.
. "$(dirname "$0")/lib.sh"
cd "$TOP"

version=${1:-}
[[ $version =~ ^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$ ]] ||
	fail 'usage: release.sh MAJOR.MINOR.PATCH'
major=${BASH_REMATCH[1]} minor=${BASH_REMATCH[2]} patch=${BASH_REMATCH[3]}
# on REGEX: check-passed has such a line
on() { grep -qE "^$1\$" "$BUILD/check-passed" 2>/dev/null; }

! git rev-parse -q --verify "refs/tags/v$version" >/dev/null ||
	fail "$version is released: there is a tag v$version"
[ -z "$(git status --porcelain)" ] || fail 'there are changes that are not committed'
if ! on "commit $(git rev-parse HEAD)" || ! on 'tree clean' || ! on 'mode all' ||
	! on 'verdict .*, 0 failed(, .*)?'; then
	fail 'this commit has not passed: make check-all'
fi
grep -q "^## $version, not released\$" CHANGES.md ||
	fail "CHANGES.md has no section '## $version, not released'"

for number in "MAJOR $major" "MINOR $minor" "PATCH $patch"; do
	sed -i -E "s/^(#define KWARP_VERSION_${number% *}[[:space:]]+).*/\1${number#* }/" \
		kernel/version.h
done
sed -i "s/^## $version, not released\$/## $version, $(date +%F)/" CHANGES.md
cp "$BUILD/tested-on.csv" Documentation/tested-on.csv
{
	echo "kwarp ($version-1) unstable; urgency=medium"
	printf '\n  * New version; see CHANGES.md.\n\n'
	echo " -- The kwarp developers <kwarp@example.org>  $(date -R)"
	# Replace an entry of the same version, with which packages were built before.
	awk -v version="($version-" '
		/^kwarp / { skip = index($2, version) == 1 }
		!skip { print (n++ ? "" : "\n") $0 }' debian/changelog
} >debian/changelog.new
mv debian/changelog.new debian/changelog
git add -A
git commit -q -m "release: $version"
git tag -a -m "kwarp $version" "v$version"
git tag -a -m "kwarp $version, packages" "debian/$version-1"
echo "released; now: git push --follow-tags"
