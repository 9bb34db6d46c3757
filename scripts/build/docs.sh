#!/bin/bash
# docs.sh: renders the documentation as HTML and man pages with Sphinx in a copy of the Debian 13
# tree; warnings are errors.
#
#   build/docs/html   Documentation/*.rst, and the kernel-doc comments of kernel/
#   build/docs/man    the pages in conf.py; copies of these are in userspace/ and installed, so that
#                     Sphinx is needed only after changes of a page
#   build/docs/src    the sources for Sphinx: copies of Documentation/, and api/, made by the
#                     kernel's own kernel-doc
. "$(dirname "$0")/../lib.sh"
. "$TOP/scripts/build/kept.sh"
need_root
lock docs

docs=$BUILD/docs
src=$docs/src
log=$BUILD/log/docs.log

# kernel_doc FILE: prints the comments of the file as RST; fails if a comment is invalid.
# kernel-doc writes for the version of Sphinx that it finds. Sphinx has one name space for functions
# and structures, so a function with the name of a structure is described but not declared.
kernel_doc() {
	in_copy docs sh -c '
		doc=$(ls /usr/lib/linux-kbuild-*/scripts/kernel-doc | head -n 1)
		exec perl "$doc" -rst -Wall -Werror "$1"' sh "$1" |
		awk '
			/^\.\. c:struct:: / { struct[$3] = 1 }
			/^\.\. c:function:: / {
				name = $0; sub(/ *\(.*/, "", name); sub(/.*[ *]/, "", name)
				if (name in struct) sub(/c:function/, "describe")
			}
			{ print }'
}

# title TEXT UNDERLINE
title() {
	printf '%s\n%s\n\n' "$1" "${1//?/$2}"
}

# rooms: prints the folders of kernel/ with kernel-doc comments; . is kernel/ itself
rooms() {
	(cd "$TOP/kernel" && grep -rl --include='*.[ch]' '^/\*\*' .) |
		sed 's|/[^/]*$||; s|^\./||' | LC_ALL=C sort -u
}

# room_page ROOM: prints a page with a section for each file of the room
room_page() {
	local file rst
	title "kernel/${1#.}" =
	for file in "$TOP/kernel/$1"/*.[hc]; do
		grep -q '^/\*\*' "$file" || continue
		file=$(realpath --relative-to="$TOP" "$file")
		rst=$(kernel_doc "$file" 2>>"$log") || {
			tail -n 5 "$log" >&2
			fail "kernel-doc of $file"
		}
		title "$file" -
		printf '%s\n\n' "$rst"
	done
}

# api: makes a page for each room, and an index page
api() {
	local room page
	mkdir -p "$src/api"
	{
		title 'Kernel interfaces' =
		echo 'The kernel-doc comments of ``kernel/``, folder by folder.'
		printf '\n.. toctree::\n\n'
		for room in $(rooms); do
			page=${room//\//-}
			[ "$room" != . ] || page=kernel
			echo "   $page"
			room_page "$room" >"$src/api/$page.rst"
		done
	} >"$src/api/index.rst"
}

# readme_links: prints the links of README.md without a target
readme_links() {
	grep -oE '\]\([^)#]+' "$TOP/README.md" | cut -c3- | grep -v '^[a-z]*:' |
		while read -r link; do
			[ -e "$TOP/$link" ] || echo "README.md: no $link"
		done
}

# named_files: prints the files in pages and map.csv that do not exist in the project; names with *
# or in capitals are patterns and are not checked
named_files() {
	{
		grep -ohE '``(Documentation|include|kernel|scripts|tests|userspace)/[^` :]+' \
			"$TOP"/Documentation/*.rst | cut -c3-
		tail -n +2 "$TOP/Documentation/map.csv" | cut -d, -f2 | tr ' ' '\n'
	} | grep -vE '[A-Z*]{3}|\*' | LC_ALL=C sort -u | while read -r file; do
		[ -e "$TOP/$file" ] || echo "Documentation: no file $file"
	done
}

# named_symbols: prints the functions, structures and constants in pages that no source of the
# project has; names that end with _X are patterns and are not checked
named_symbols() {
	grep -ohE '``[A-Za-z0-9_]*(kwarp|KWARP)[A-Za-z0-9_]*(\(\))?``' "$TOP"/Documentation/*.rst |
		tr -d '`()' | grep -v '_X$' | LC_ALL=C sort -u | while read -r name; do
		git -C "$TOP" grep -qwF -e "$name" -- . ':!Documentation' ||
			echo "Documentation: no source has $name"
	done
}

step 'documentation'
mkdir -p "$BUILD/log"
: >"$log"
kept_copy docs "$({ cat "$0" "$TREE/stamp"; tree_kver; } | checksum)" in_copy docs -w / sh -ec '
	apt-get update
	apt-get install -y -q --no-install-recommends python3-sphinx
	apt-get clean'
rm -rf "$src" "$docs/html" "$docs/man"
mkdir -p "$src"
cp -r "$TOP"/Documentation/. "$src"
# The * in names of tests is no markup, and neither is a _ before it.
sed -i 's/_\*/\\_\\*/g; s/\([^\\]\)\*/\1\\*/g' "$src/requirements.csv"
api
bad=$(readme_links; named_files; named_symbols)
[ -z "$bad" ] || fail "$bad"
for builder in html man; do
	in_copy docs sphinx-build -q -W --keep-going -b $builder -d build/docs/doctrees \
		"${src#"$TOP/"}" "build/docs/$builder" >>"$log" 2>&1 || {
		cat "$log" >&2
		fail "sphinx-build -b $builder; build/docs/src/NAME.rst is Documentation/NAME.rst"
	}
done
for page in "$docs"/man/*; do
	for installed in "$TOP"/userspace/{kwarpctl,kwarp-vm,provider/man}/"${page##*/}"; do
		[ -e "$installed" ] || continue
		cmp -s "$page" "$installed" ||
			fail "copy build/docs/man/${page##*/} to ${installed#"$TOP/"}: it is older"
	done
done
step "build/docs/html/index.html, build/docs/man"
