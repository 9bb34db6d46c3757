#!/bin/sh
# dkms.sh install | uninstall: registers the module's source with DKMS, which builds and installs
# the module for the running kernel (or KVER), for each kernel for which it has built an earlier
# version, and for each later kernel; or removes it from DKMS.
set -eu
umask 022 # all users may read what is installed
top=$(cd "$(dirname "$0")/../.." && pwd)
version=$("$top/scripts/version")

fail() {
	echo "make dkms-$action: $*" >&2
	exit 1
}

# registered: prints the versions of kwarp in DKMS
registered() {
	dkms status kwarp | sed -n 's|^kwarp/\([^,:]*\).*|\1|p' | sort -u
}

# kernels: prints the kernels that get the module
kernels() {
	{
		echo "${KVER:-$(uname -r)}"
		dkms status kwarp | sed -n 's|^kwarp/[^,]*, \([^,]*\), .*|\1|p' |
			while IFS= read -r kernel; do
				[ ! -d "/lib/modules/$kernel" ] || echo "$kernel"
			done
	} | sort -u
}

# drop VERSION: removes the version from DKMS, with its source
drop() {
	dkms remove "kwarp/$1" --all
	rm -rf "/usr/src/kwarp-$1"
}

action=$1
command -v dkms >/dev/null || fail 'there is no dkms; on Debian: apt-get install dkms'
case $(dpkg-query -W -f '${db:Status-Status}' kwarp-dkms 2>/dev/null) in
'' | not-installed | config-files) ;;
*) fail 'the package kwarp-dkms has the module; apt-get purge kwarp-dkms first' ;;
esac

case $action in
install)
	[ -z "$(find /lib/modules/*/updates -maxdepth 1 -name 'kwarp.ko*' 2>/dev/null)" ] ||
		fail "'make install' has installed the module; make uninstall first"
	# Build in a tree of its own: what is installed stays until all is built. Its path is always
	# the same, for compiler caches.
	work=/var/cache/kwarp-dkms
	exec 9</usr/src
	flock -n 9 || fail 'make dkms-install is running already'
	trap 'rm -rf "$work"' EXIT
	# dash runs the trap of EXIT only on an exit
	trap 'exit 130' INT TERM HUP
	rm -rf "$work"
	mkdir -p "$work/dkms" "$work/kwarp-$version"
	(cd "$top" && cp -R Kbuild dkms.conf kernel include LICENSES "$work/kwarp-$version/")
	sed -i "s/#MODULE_VERSION#/$version/" "$work/kwarp-$version/dkms.conf"
	kernels=$(kernels)
	for kernel in $kernels; do
		dkms build --dkmstree "$work/dkms" --sourcetree "$work" "kwarp/$version" \
			-k "$kernel" || {
			[ ! -f "$work/dkms/kwarp/$version/build/make.log" ] ||
				tail -n 40 "$work/dkms/kwarp/$version/build/make.log" >&2
			fail "kwarp does not build for $kernel, so nothing has changed"
		}
	done
	# DKMS has one build of a version. Copy the files before the old ones are removed,
	# because the disk may be full, and let no signal end the rest.
	new=/usr/src/.kwarp-$version
	trap 'rm -rf "$work" "$new"' EXIT
	rm -rf "$new"
	cp -R "$work/kwarp-$version" "$new"
	trap '' INT TERM HUP
	! registered | grep -qxF "$version" || drop "$version"
	rm -rf "/usr/src/kwarp-$version"
	mv "$new" "/usr/src/kwarp-$version"
	dkms add "kwarp/$version"
	for kernel in $kernels; do
		mv "$work/dkms/kwarp/$version/$kernel" "/var/lib/dkms/kwarp/$version/"
		# --force: the old version may be a later one
		dkms install --force "kwarp/$version" -k "$kernel"
	done
	for old in $(registered); do
		[ "$old" = "$version" ] || drop "$old"
	done
	;;
uninstall)
	[ -n "$(registered)" ] || fail 'DKMS has no kwarp'
	for old in $(registered); do
		drop "$old"
	done
	;;
*)
	echo 'usage: dkms.sh install | uninstall' >&2
	exit 1
	;;
esac
