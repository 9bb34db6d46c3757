# shellcheck shell=bash
# A series of patches as commits of a small git repository that has only those files of the tree
# that the series changes. Git's ids of files depend on their content only, so the patches apply to
# the whole tree.
#
# Every state between two patches is derived from the final state: files in $final that belong to a
# later patch are left out or replaced by those in $orig, and the parts that a later patch adds to a
# file are removed.

# series_begin SERIES WORK: begins an empty series in the folder WORK. SERIES_owner FILE prints the
# patch that adds a file; SERIES_state STATE APPLIED removes from STATE the parts that belong to
# patches outside of APPLIED.
series_begin() {
	series=$1 work=$2
	orig=$work/orig final=$work/final repo=$work/repo
	rm -rf "$work"
	mkdir -p "$orig" "$final" "$repo"
	git init -q "$repo"
	git -C "$repo" config core.autocrlf false
	git -C "$repo" config commit.gpgSign false
}

# from_tree TREE FILE...: copies files of the tree that the series changes
from_tree() {
	local tree=$1 file
	shift
	for file; do
		[ -f "$tree/$file" ] || fail "'$tree' has no $file"
		mkdir -p "$(dirname "$orig/$file")" "$(dirname "$final/$file")"
		cp "$tree/$file" "$orig/$file"
		cp "$tree/$file" "$final/$file"
		chmod u+w "$orig/$file" "$final/$file"
	done
}

# rules FILE: prints its lines without comments; a line that begins with a tab continues the line
# before it
rules() {
	awk '
		/^#/ || /^$/ { next }
		/^\t/ { line = line substr($0, 2); next }
		{ if (line != "") print line; line = $0 }
		END { print line }' "${SERIES:?}/$1"
}

# by_rule RULE FILE...: applies an expression of sed -E -z, which has to change one of the files
by_rule() {
	sed_must -z "$@"
}

# by_line RULE FILE...: the same with sed -E, line by line
by_line() {
	sed_must -s "$@"
}

sed_must() {
	local mode=$1 rule=$2 before
	shift 2
	before=$(cat "$@" | cksum)
	sed -E "$mode" -i "$rule" "$@"
	[ "$before" != "$(cat "$@" | cksum)" ] || fail "the rule '$rule' changes nothing"
}

# commit TREE MESSAGE: commits TREE as the next state
commit() {
	find "$repo" -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} +
	cp -R "$1/." "$repo"
	git -C "$repo" add -A
	! git -C "$repo" diff --cached --quiet || fail "patch '$2' is empty"
	git -C "$repo" commit -q -s -F "$2"
}

# every_patch DIRECTORY NAME...: commits a state for each patch
every_patch() {
	local messages=$1 applied=' ' name state=$work/state file
	local -A adds
	shift
	git -C "$repo" config user.name "$AUTHOR_NAME"
	git -C "$repo" config user.email "$AUTHOR_MAIL"
	cp -R "$orig/." "$repo"
	git -C "$repo" add -A
	git -C "$repo" commit -q -m 'the tree'
	for name; do
		[ -f "$messages/$name" ] || fail "there is no message for patch '$name'"
	done
	while read -r file; do
		adds[$file]=$("${series}_owner" "$file")
	done < <(cd "$final" && find . -type f | sed 's|^\./||' | LC_ALL=C sort)
	for name; do
		applied+="$name "
		rm -rf "$state"
		mkdir -p "$state"
		cp -R "$orig/." "$state"
		for file in "${!adds[@]}"; do
			[[ $applied = *" ${adds[$file]} "* ]] || continue
			echo "$file"
		done >"$work/files"
		(cd "$final" && xargs cp -p --parents -t "$state" <"$work/files")
		"${series}_state" "$state" "$applied"
		commit "$state" "$messages/$name"
	done
	diff -r "$state" "$final" >"$work/left" ||
		fail "the last patch does not lead to the final state: see $work/left"
}

# format_patches OUT PREFIX COVER: writes the patches and the cover letter; the first line of COVER
# is the subject
format_patches() {
	local out=$1
	rm -rf "$out"
	git -C "$repo" format-patch -q --cover-letter --subject-prefix="$2" -o "$out" \
		"$(git -C "$repo" rev-list --max-parents=0 HEAD)"
	cover_letter "$3" "$out/0000-cover-letter.patch"
}

# cover_letter COVER PATCH
cover_letter() {
	awk -v cover="$1" '
		BEGIN {
			getline subject <cover
			while ((getline line <cover) > 0)
				body = body line "\n"
			sub(/^\n+/, "", body)
		}
		{ sub(/\*\*\* SUBJECT HERE \*\*\*/, subject) }
		$0 == "*** BLURB HERE ***" { printf "%s", body; next }
		{ print }' "$2" >"$2.new"
	mv "$2.new" "$2"
}

# ---- functions that remove parts of a later patch from a file in $state; the parts must exist

# edited FILE COMMAND...: filters the file, unless this state has no such file or only that of the
# tree. In files of the driver, repeated blank lines are removed afterwards.
edited() {
	local file=$state/$1 squeeze=-s
	[ -f "$file" ] && ! cmp -s "$file" "$orig/$1" || return 0
	[ ! -e "$orig/$1" ] || squeeze=
	shift
	"$@" <"$file" >"$state/.edited" || fail "'$*' does not fit ${file#"$state"/}"
	! cmp -s "$file" "$state/.edited" || fail "'$*' finds nothing in ${file#"$state"/}"
	cat ${squeeze:+"$squeeze"} "$state/.edited" >"$file"
	rm "$state/.edited"
}

# drop FILE REGEX: removes lines
drop() {
	edited "$1" sed -E "\\%$2%d"
}

# part FILE FROM TO: removes the lines from FROM up to TO, which stays
part() {
	edited "$1" sed -E "\\%$2%,\\%$3%{\\%$3%!d}"
}

# stub FILE FUNCTION [VALUE]: replaces a declaration by an inline function that returns VALUE
stub() {
	edited "$1" awk -v name="$2" -v value="${3:-}" -f "$SERIES/stub.awk"
}
