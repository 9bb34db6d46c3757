#!/bin/sh
# dkms.sh install | uninstall: registers the module's source with DKMS, which builds and installs
# the module for the running kernel (or KVER) and for each later kernel; or removes it from DKMS.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
version=$("$top/scripts/version")
source=/usr/src/kwarp-$version

command -v dkms >/dev/null || {
	echo 'make dkms-install: there is no dkms; on Debian: apt-get install dkms' >&2
	exit 1
}

# registered: prints the versions of kwarp in DKMS
registered() {
	dkms status kwarp | sed -n 's|^kwarp/\([^,:]*\).*|\1|p' | sort -u
}

case $1 in
install)
	[ -z "$(find /lib/modules/*/updates -maxdepth 1 -name 'kwarp.ko*' 2>/dev/null)" ] || {
		echo "make dkms-install: 'make install' has installed the module; make" \
			'uninstall first' >&2
		exit 1
	}
	for old in $(registered); do
		dkms remove "kwarp/$old" --all
	done
	rm -rf "$source"
	mkdir -p "$source"
	(cd "$top" && cp -R Kbuild dkms.conf kernel include LICENSES "$source/")
	sed -i "s/#MODULE_VERSION#/$version/" "$source/dkms.conf"
	dkms install "kwarp/$version" ${KVER:+-k "$KVER"}
	;;
uninstall)
	[ -n "$(registered)" ] || {
		echo 'make dkms-uninstall: DKMS has no kwarp' >&2
		exit 1
	}
	for old in $(registered); do
		dkms remove "kwarp/$old" --all
		rm -rf "/usr/src/kwarp-$old"
	done
	;;
*)
	echo 'usage: dkms.sh install | uninstall' >&2
	exit 1
	;;
esac
