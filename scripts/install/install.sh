#!/bin/sh
# install.sh install IMAGE | uninstall: installs the files of the folder IMAGE, which has the layout
# of /, into the system or below DESTDIR, and removes them.
#
# DESTDIR/var/lib/kwarp/installed lists the installed files and folders. A later installation
# removes files that it does not install again, except modules of other kernels.
set -eu
umask 022 # all users may read what is installed
action=$1
case ${DESTDIR:-} in
'' | /*) dest=${DESTDIR:-} ;;
*) dest=$PWD/$DESTDIR ;;
esac
dest=${dest%/}
here=$(cd "$(dirname "$0")" && pwd)
list=$dest/var/lib/kwarp/installed

# contents IMAGE: prints the files of the image, and those of its folders, with a slash at the end,
# that do not exist yet; a folder before its files
contents() {
	(
		cd "$1"
		find . -type f -o -type l
		find . -mindepth 1 -type d | while IFS= read -r folder; do
			[ -d "$dest/$folder/" ] || echo "$folder/"
		done
	) | sed 's|^\.||' | LC_ALL=C sort
}

# put_all IMAGE: makes the folders on standard input, and installs the files there from the image
put_all() {
	while IFS= read -r path; do
		case $path in
		*/) mkdir -p "$dest$path" ;;
		*)
			# Replace files instead of writing to them, because they may be in use.
			# systemd and others ignore hidden files.
			new=$dest${path%/*}/.kwarp-new
			cp -P "$1$path" "$new" || exit 1
			mv "$new" "$dest$path"
			;;
		esac
	done
}

# kept: prints the lines of the old list that stay in the list: folders, and modules of other
# kernels, that are still there
kept() {
	[ ! -f "$list" ] || grep -E '/$|^/lib/modules/' "$list" | while IFS= read -r path; do
		[ ! -e "$dest$path" ] || echo "$path"
	done
}

# owned: prints those of the files on standard input that packages of Debian have
owned() {
	[ -n "$dest" ] || xargs -r -d '\n' dpkg-query -S 2>/dev/null | sed -n 's|^.*: /|/|p'
}

# take_away FILE: removes the files in the list FILE, except those of packages, and the folders if
# they are empty
take_away() {
	owned <"$1" >"$work/owned"
	grep -vxFf "$work/owned" "$1" | LC_ALL=C sort -r | while IFS= read -r path; do
		case $path in
		*/) rmdir "$dest$path" 2>/dev/null || : ;;
		*) rm -f "$dest$path" ;;
		esac
	done
}

# tell_system: reloads systemd's units, and updates the module index of each kernel in the list
tell_system() {
	[ -z "$dest" ] || return 0
	! grep -q '/systemd/' "$list" || [ ! -d /run/systemd/system ] ||
		systemctl daemon-reload || :
	sed -n 's|^/lib/modules/\([^/]*\)/.*[^/]$|\1|p' "$list" | sort -u |
		while IFS= read -r kver; do
			[ ! -d "/lib/modules/$kver" ] || depmod -a "$kver"
		done
}

# misfits IMAGE: prints the providers of the image that the installed libibverbs would not load
misfits() {
	[ -z "$dest${CROSS_COMPILE:-}" ] || return 0
	find "$1" -path '*/libibverbs/libkwarp-rdmav*.so' | while IFS= read -r file; do
		path=${file#"$1"} abi=${file##*-rdmav}
		have=$("$here/private-abi" "${path%/libibverbs/*}") || continue
		[ "$have" = "${abi%.so}" ] || echo "$path (libibverbs has the private ABI $have)"
	done
}

new=
work=$(mktemp -d)
trap 'rm -rf "$work" ${new:+"$new"}' EXIT
# dash runs the trap of EXIT only on an exit
trap 'exit 130' INT TERM HUP
case $action in
install)
	misfits=$(misfits "$2")
	[ -z "$misfits" ] || {
		echo "make install: built for another version of libibverbs: $misfits;" \
			'RDMA_CORE is not of the version that libibverbs has here' >&2
		exit 1
	}
	mkdir -p "$2/var/lib/kwarp"
	contents "$2" >"$work/contents"
	kept | LC_ALL=C sort -u - "$work/contents" >"$work/new"
	# Until all is copied, the list has the old files and the new ones, so that uninstall can
	# take away what a failed installation has left.
	cat "$list" "$work/new" 2>/dev/null | LC_ALL=C sort -u >"$work/both"
	mkdir -p "${list%/*}"
	cp "$work/both" "$list"
	put_all "$2" <"$work/contents"
	LC_ALL=C comm -23 "$work/both" "$work/new" >"$work/gone"
	take_away "$work/gone"
	cp "$work/new" "$list"
	tell_system
	;;
uninstall)
	[ -f "$list" ] || {
		echo "make uninstall: nothing of 'make install' is here: there is no $list" >&2
		exit 1
	}
	# Without their file, units could not remove their devices any more.
	[ -n "$dest" ] || [ ! -d /run/systemd/system ] ||
		systemctl stop 'kwarp@*.service' kwarp.target || :
	# The list stays until all else is done.
	take_away "$list"
	tell_system
	sed -n '/\/$/p' "$list" >"$work/folders"
	rm "$list"
	take_away "$work/folders"
	;;
*)
	echo 'usage: install.sh install IMAGE | uninstall' >&2
	exit 1
	;;
esac
