# shellcheck shell=bash
# A cache of the results of long steps, shared by all checkouts of this user, in the folder "kept"
# of the compiler cache. Source this file after lib.sh.
#
# A result is a tar file KIND-CHECKSUM, with the checksum of all its inputs. The two most recently
# used results of a kind are kept, for at most four weeks. KEPT=none disables the cache.
KEPT=${KEPT:-$CCACHE_DIR/kept}
KEPT_TAR=(--numeric-owner --xattrs --xattrs-include='security.*')

# checksum: prints a checksum of standard input, short enough for a file name
checksum() {
	sha256sum | cut -c1-24
}

# kept NAME DIR: unpacks a result into DIR; fails if the cache does not have the result
kept() {
	local file=$KEPT/$1.tar.zst
	[ -f "$file" ] && command -v zstd >/dev/null || return 1
	mkdir -p "$2"
	if ! zstd -q -dc "$file" | tar -x "${KEPT_TAR[@]}" -C "$2"; then
		rm -f "$file"
		return 1
	fi
	touch "$file"
}

# keep NAME ARG...: packs a result with tar and these arguments. A full disk is not an error.
keep() {
	local file=$KEPT/$1.tar.zst kind=${1%-*}
	shift
	[ "$KEPT" != none ] && command -v zstd >/dev/null || return 0
	mkdir -p "$KEPT"
	if tar -c "${KEPT_TAR[@]}" "$@" | zstd -q -1 -T0 >"$file.$$"; then
		mv "$file.$$" "$file"
	else
		rm -f "$file.$$"
	fi
	find "$KEPT" -type f -mtime +28 -delete
	# shellcheck disable=SC2012 # names without blanks
	ls -t "$KEPT/$kind"-*.tar.zst 2>/dev/null | tail -n +3 | xargs -r rm -f
}

# kept_copy NAME KEY COMMAND...: makes a copy of the tree in which COMMAND installs something; makes
# it again when the KEY changes. The copy is cached. Fails if COMMAND fails, whose output is in
# build/log/NAME.log.
kept_copy() {
	local name=$1 key=$2 at=$BUILD/copies/$1
	shift 2
	[ "$(cat "$at/key" 2>/dev/null)" != "$key" ] || return 0
	copy "$name" || return
	if kept "$name-$key" "$at/changes"; then
		step "the copy '$name' of the tree, from the cache"
	else
		step "the copy '$name' of the tree (minutes)"
		(quietly "$BUILD/log/$name.log" "$@") || return
		keep "$name-$key" -C "$at/changes" .
	fi
	echo "$key" >"$at/key"
}

# copy_lacks NAME: after a failure, writes apt's message about a missing package to the file
# "missing" beside the copy. Fails if the last error of the log is another one; an archive that
# cannot be reached is one, because the next run may reach it.
copy_lacks() {
	local lacking
	lacking=$(grep '^E: ' "$BUILD/log/$1.log" | tail -n 1 |
		grep -E '^E: (Unable to (locate|correct)|Package|Version|Release|Can.t find)') &&
		echo "$lacking" >"$BUILD/copies/$1/missing"
}

# linux_source SERIES: prints the version of linux-source-SERIES that source.sh has fetched or would
# fetch
linux_source() {
	local deb
	if deb=$(ls "$DOWNLOADS/linux-source-$1"_*.deb 2>/dev/null); then
		deb=${deb##*/linux-source-"$1"_}
		deb=${deb%_all.deb}
		echo "${deb//%3a/:}"
	else
		in_tree -w / apt-cache show --no-all-versions "linux-source-$1" |
			sed -n 's/^Version: //p'
	fi
}
