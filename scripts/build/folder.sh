#!/bin/sh
# folder.sh mark DIR           makes the build folder DIR; marks it unless it has files of others
# folder.sh check GOAL DIR     fails if "make GOAL" would remove files of others in DIR
# folder.sh remove DIR         removes what is in DIR, and DIR unless it was there before
#
# A folder that make has made, or has found empty, has the file .kwarp-build, which says which. The
# folder build of the checkout, and what is below it, needs no mark.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd -P)
action=$1
shift

# empty DIR
empty() {
	[ -z "$(find "$1" -mindepth 1 -maxdepth 1 -print -quit)" ]
}

case $action in
mark)
	# Jobs of "make -j" may do this at the same time: the one that makes the folder decides.
	mkdir -p "$(dirname "$1")"
	new=$1/.kwarp-build.$$
	if mkdir "$1" 2>/dev/null; then
		echo made >"$new"
		mv "$new" "$1/.kwarp-build"
	elif empty "$1"; then
		echo found >"$new"
		ln "$new" "$1/.kwarp-build" 2>/dev/null || :
		rm "$new"
	fi
	;;
check)
	[ -e "$2" ] || exit 0
	build=$(cd "$top/build" 2>/dev/null && pwd -P) || build=$top/build
	case $(cd "$2" && pwd -P)/ in
	"$build"/*) exit 0 ;;
	esac
	[ -e "$2/.kwarp-build" ] || empty "$2" || {
		echo "make $1: $2 has files, and make has not made it. If all in it may be" \
			"removed: touch $2/.kwarp-build" >&2
		exit 1
	}
	;;
remove)
	[ -e "$1" ] || exit 0
	if [ "$(cat "$1/.kwarp-build" 2>/dev/null)" = found ]; then
		find "$1/" -mindepth 1 -delete
	else
		rm -rf "$1"
	fi
	;;
*)
	echo 'usage: folder.sh mark DIR | check GOAL DIR | remove DIR' >&2
	exit 1
	;;
esac
