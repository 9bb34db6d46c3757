#!/bin/sh
# install.sh install IMAGE | uninstall: installs the files of the folder IMAGE, which has the layout
# of /, into the system or below DESTDIR, and removes them.
#
# DESTDIR/var/lib/kwarp/installed lists the installed files and folders. A later installation
# removes files that it does not install again, except modules of other kernels.
set -eu
action=$1
case ${DESTDIR:-} in
'' | /*) dest=${DESTDIR:-} ;;
*) dest=$PWD/$DESTDIR ;;
esac
dest=${dest%/}
list=$dest/var/lib/kwarp/installed

# make_folder FOLDER: makes the folder and its parents; prints the new ones
make_folder() {
	[ -d "$dest$1/" ] && return
	make_folder "${1%/*}"
	mkdir "$dest$1"
	echo "$1/"
}

# put_all IMAGE: installs all files; prints them and the new folders
put_all() {
	mkdir -p "$dest/"
	(cd "$1" && find . -type f -o -type l) | LC_ALL=C sort | while IFS= read -r file; do
		file=${file#.}
		make_folder "${file%/*}"
		# Replace files instead of writing to them, because they may be in use.
		cp -P "$1$file" "$dest$file.kwarp-new"
		mv "$dest$file.kwarp-new" "$dest$file"
		echo "$file"
	done
	make_folder /var/lib/kwarp
}

# take_away: removes the files on standard input, and the folders if they are empty
take_away() {
	LC_ALL=C sort -r | while IFS= read -r path; do
		case $path in
		*/) rmdir "$dest$path" 2>/dev/null || : ;;
		*) rm -f "$dest$path" ;;
		esac
	done
}

# tell_system LIST: updates the module index and reloads systemd's units
tell_system() {
	[ -z "$dest" ] || return 0
	sed -n 's|^/lib/modules/\([^/]*\)/.*[^/]$|\1|p' "$1" | sort -u | while IFS= read -r kver; do
		depmod -a "$kver"
	done
	! grep -q '/systemd/' "$1" || [ ! -d /run/systemd/system ] || systemctl daemon-reload
}

case $action in
install)
	new=$(mktemp)
	trap 'rm -f "$new" "$new".*' EXIT
	put_all "$2" >"$new.put"
	# Folders of earlier installations stay in the list.
	{ cat "$new.put"; grep -E '/$|^/lib/modules/' "$list" 2>/dev/null || :; } |
		LC_ALL=C sort -u >"$new"
	[ ! -f "$list" ] || LC_ALL=C comm -23 "$list" "$new" | take_away
	cp "$new" "$list"
	tell_system "$list"
	;;
uninstall)
	[ -f "$list" ] || {
		echo "make uninstall: nothing of 'make install' is here: there is no $list" >&2
		exit 1
	}
	old=$(mktemp)
	trap 'rm -f "$old"' EXIT
	cp "$list" "$old"
	rm -f "$list"
	take_away <"$old"
	tell_system "$old"
	;;
*)
	echo 'usage: install.sh install IMAGE | uninstall' >&2
	exit 1
	;;
esac
