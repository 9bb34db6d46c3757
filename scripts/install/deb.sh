#!/bin/sh
# deb.sh OUT: builds Debian packages of this checkout, as debian/control describes them, with their
# source package, into OUT. RDMA_CORE is the source of rdma-core of the version that libibverbs-dev
# has; by default it is fetched through apt.
set -eu
umask 022 # apt reads the packages as another user
top=$(cd "$(dirname "$0")/../.." && pwd)
"$top/scripts/build/folder.sh" check deb "$1"
"$top/scripts/build/folder.sh" mark "$1"
out=$(cd "$1" && pwd)

command -v dpkg-buildpackage >/dev/null || {
	echo 'make deb: there is no dpkg-buildpackage; on Debian: apt-get install dpkg-dev' >&2
	exit 1
}
(cd "$top" && dpkg-checkbuilddeps) || {
	echo 'make deb: as root, apt-get build-dep . installs them' >&2
	exit 1
}
core=${RDMA_CORE:-}
[ -n "$core" ] || core=$("$top/scripts/build/source.sh" rdma-core-here)
[ -e "$core/CMakeLists.txt" ] || {
	echo "make deb: RDMA_CORE=$core is not a source tree of rdma-core" >&2
	exit 1
}

changelog() {
	dpkg-parsechangelog -l "$top/debian/changelog" -S "$1"
}
version=$(changelog Version)
version=${version%-*}
[ "$version" = "$("$top/scripts/version")" ] || {
	echo "make deb: debian/changelog has version $version, kernel/version.h has" \
		"$("$top/scripts/version"); scripts/release.sh changes both" >&2
	exit 1
}
source=$out/kwarp-$version

# tarball FOLDER NAME FILE...: writes a tarball of files in FOLDER to standard output, with NAME as
# their folder; the same files make the same tarball
tarball() {
	folder=$1 name=$2
	shift 2
	tar -c -C "$folder" --sort=name --mtime="@$(changelog Timestamp)" --owner=0 --group=0 \
		--numeric-owner --mode=u=rwX,go=rX --exclude=__pycache__ --exclude='*.o' \
		--transform "flags=rSH;s|^|$name/|;s|/\./|/|" "$@" | xz -T0
}

rm -rf "${out:?}"/*
tarball "$top" "kwarp-$version" Makefile Kbuild dkms.conf README.md CHANGES.md LICENSES .ci \
	Documentation include kernel scripts tests userspace >"$out/kwarp_$version.orig.tar.xz"
tarball "$core" rdma-core --exclude=./.parts . >"$out/kwarp_$version.orig-rdma-core.tar.xz"
tar -x -C "$out" -f "$out/kwarp_$version.orig.tar.xz"
tar -x -C "$source" -f "$out/kwarp_$version.orig-rdma-core.tar.xz"
cp -R "$top/debian" "$source/"
# The variables of our own make are not for that of debian/rules, which builds in its own folder.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL O PREFIX DESTDIR RDMA_CORE
(cd "$source" && dpkg-buildpackage -us -uc ${JOBS:+"-j$JOBS"})
rm -rf "$source"
