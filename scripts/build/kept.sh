# shellcheck shell=bash
# Results of long steps, kept for other checkouts of this user: in "kept" beside what the compilers
# have cached. Source it after lib.sh.
#
# A result is a tar named KIND-CHECKSUM, with the checksum of all that it was made from. The two of
# a kind that were used last stay, and none longer than four weeks. KEPT=none does without them.
KEPT=${KEPT:-$CCACHE_DIR/kept}
KEPT_TAR=(--numeric-owner --xattrs --xattrs-include='security.*')

# checksum: of standard input, short enough for the name of a file
checksum() {
	sha256sum | cut -c1-24
}

# kept NAME DIR: unpacks a result into DIR; false if it is not there
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

# keep NAME ARG...: packs a result as tar does with these arguments. A full disk is no error.
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

# kept_copy NAME KEY COMMAND...: a copy of the tree in which COMMAND has installed something; made
# again when the KEY changes, and kept. False if COMMAND fails, whose output is build/log/NAME.log.
kept_copy() {
	local name=$1 key=$2 at=$BUILD/copies/$1
	shift 2
	[ "$(cat "$at/key" 2>/dev/null)" != "$key" ] || return 0
	copy "$name" || return
	if kept "$name-$key" "$at/changes"; then
		step "the copy '$name' of the tree, as it was kept"
	else
		step "the copy '$name' of the tree (minutes)"
		(quietly "$BUILD/log/$name.log" "$@") || return
		keep "$name-$key" -C "$at/changes" .
	fi
	echo "$key" >"$at/key"
}

# copy_lacks NAME: after a failure, leaves in the file "missing" beside the copy which package the
# mirror does not have. False if it was something else that failed.
copy_lacks() {
	local lacking
	lacking=$(grep '^E: ' "$BUILD/log/$1.log" | tail -n 1) &&
		echo "$lacking" >"$BUILD/copies/$1/missing"
}

# linux_source SERIES: prints which linux-source-SERIES source.sh has fetched, or would fetch
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
