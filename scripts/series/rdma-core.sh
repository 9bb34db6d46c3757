# shellcheck shell=bash disable=SC2034,SC2154 # variables that series.sh and git.sh share
# The series for rdma-core. Sourced by series.sh after the kernel's, whose final state has the
# headers.

PROVIDER=providers/kwarp
RDMA_CORE_PATCHES=(headers provider kwarpdv pyverbs tests)

# rdma_core_tree DIR: checks that DIR is a source tree of rdma-core without the provider
rdma_core_tree() {
	pabi=$(sed -n 's/^set(IBVERBS_PABI_VERSION "\([0-9]*\)")$/\1/p' "$1/CMakeLists.txt" \
		2>/dev/null || :)
	[ -n "$pabi" ] || fail "RDMA_CORE='$1' is not a source tree of" \
		'rdma-core; clone https://github.com/linux-rdma/rdma-core, or unpack a release,' \
		'and give its folder'
	[ ! -e "$1/$PROVIDER" ] ||
		fail "RDMA_CORE='$1' has a $PROVIDER already; give a tree without it"
	package_version=$(sed -n 's/^set(PACKAGE_VERSION "\([0-9]*\).*/\1/p' "$1/CMakeLists.txt")
}

# ---- the final state

# rdma_core_final TREE KERNEL_HEADERS
rdma_core_final() {
	# shellcheck disable=SC2046 # names without blanks
	from_tree "$1" kernel-headers/rdma/ib_user_ioctl_verbs.h \
		$(rules rdma-core/tree | cut -f 1 | uniq)
	headers "$2"
	provider
	tree_files
	mkdir -p "$final/pyverbs/providers/kwarp"
	cp "$TOP"/userspace/pyverbs/*.* "$final/pyverbs/providers/kwarp"
	cp "$TOP/userspace/pyverbs/tests/test_kwarp.py" "$final/tests"
}

# headers FOLDER: copies the driver's headers, and the list of driver numbers from the kernel
headers() {
	cp "$1"/kwarp*.h "$final/kernel-headers/rdma"
	awk -v from="$1/ib_user_ioctl_verbs.h" '
		/^enum rdma_driver_id/ {
			while ((getline line <from) > 0) {
				if (line ~ /^enum rdma_driver_id/) found = 1
				if (found) print line
				if (found && line ~ /^};/) break
			}
			skip = 1
		}
		!skip { print }
		/^};/ { skip = 0 }
		END { exit !found }' "$orig/kernel-headers/rdma/ib_user_ioctl_verbs.h" \
		>"$final/kernel-headers/rdma/ib_user_ioctl_verbs.h" ||
		fail 'no enum rdma_driver_id'
}

# provider: copies the provider without the parts for other versions of rdma-core, and kwarpdv as a
# library
provider() {
	local folder=$final/$PROVIDER name rule sources=()
	mkdir -p "$folder"
	cp "$TOP"/userspace/provider/*.[ch] "$folder"
	rm "$folder/compat.h"
	cp -R "$TOP/userspace/kwarpdv/." "$folder"
	awk -f "$SERIES/prototypes.awk" "$TOP/userspace/provider/kwarpdv.h" >"$folder/kwarpdv.h"
	manual >"$folder/man/kwarpdv_attach.3.in.rst"
	mapfile -t sources < <(find "$folder" -name '*.[ch]' | LC_ALL=C sort)
	while IFS=$'\t' read -r name rule; do
		case $name in
		-) ;;
		pabi-*) [ "$pabi" -lt "${name#pabi-}" ] || continue ;;
		pabi+*) [ "$pabi" -ge "${name#pabi+}" ] || continue ;;
		*) fail "rdma-core/rules: what is '$name'?" ;;
		esac
		by_rule "$rule" "${sources[@]}"
	done < <(rules rdma-core/rules)
	! grep -n -e 'KWARP_DRIVER_ID' -e 'compat\.h' -e PABI "${sources[@]}" >&2 ||
		fail 'rdma-core/rules leaves what is for other versions'
	{
		echo 'rdma_shared_provider(kwarp libkwarp.map'
		# shellcheck disable=SC2016 # of cmake
		echo '  1 1.0.${PACKAGE_VERSION}'
		sed -n 's/^  \([a-z_]*\.c\)$/\1/p' "$TOP/userspace/provider/CMakeLists.txt" |
			cat - <(echo kwarpdv.c) | LC_ALL=C sort | sed 's/^/  /'
		cat "$SERIES/rdma-core/publish.cmake"
	} >"$folder/CMakeLists.txt"
}

# manual: the page of the functions, from Documentation/, with a head as rdma-core's pages have it
manual() {
	local page=$work/manual
	cat "$SERIES/rdma-core/manual-head" >"$page"
	sed '1,/^=*$/d' "$TOP/Documentation/kwarpdv.rst" | awk '
		/^-+$/ && length($0) == length(last) { last = toupper(last); gsub(/-/, "=") }
		NR > 1 { print last }
		{ last = $0 }
		END { print last }' >>"$page"
	by_rule 's/All of them are\nin the header; [^.]*\./Link\nwith -lkwarp./' "$page"
	by_rule 's/\*\*kwarp\*\*\\\(7\)/**kwarpdv**\\(7)/' "$page"
	cat "$page"
}

# tree_files: the tree's own files
tree_files() {
	local file rule
	while IFS=$'\t' read -r file rule; do
		rule=${rule//@AUTHOR@/$AUTHOR_NAME <$AUTHOR_MAIL>}
		by_line "${rule//@VERSION@/$package_version}" "$final/$file"
	done < <(rules rdma-core/tree)
}

# ---- the states before: see git.sh

# rdma_core_owner FILE: the patch that adds it
rdma_core_owner() {
	case $1 in
	kernel-headers/*) echo headers ;;
	"$PROVIDER"/kwarpdv.* | "$PROVIDER"/libkwarp.map | "$PROVIDER"/man/* | buildlib/* | \
		debian/ibverbs-providers.* | debian/libibverbs-dev.install) echo kwarpdv ;;
	pyverbs/*) echo pyverbs ;;
	tests/*) echo tests ;;
	*) echo provider ;;
	esac
}

# rdma_core_state STATE APPLIED: what later patches add to files of this state, taken out of it
rdma_core_state() {
	local state=$1
	[[ $2 = *' kwarpdv '* ]] || without_kwarpdv
	[[ $2 = *' pyverbs '* ]] || without_pyverbs
}

without_kwarpdv() {
	drop CMakeLists.txt 'providers/kwarp/man'
	edited $PROVIDER/CMakeLists.txt sed -z \
		-e 's/^rdma_shared_provider[^\n]*\n[^\n]*/rdma_provider(kwarp/' \
		-e 's/  kwarpdv\.c\n//; s/\n)\n.*/\n)\n/'
	edited $PROVIDER/kwarp.c sed -z \
		's/bool kwarpdv_is_supported[^}]*}\n\n//; s/#include "kwarpdv\.h"\n//'
	edited debian/control sed 's/libkwarp1, //'
	drop redhat/rdma-core.spec 'libkwarp\.so|kwarpdv'
	# the whole of what this patch adds there, but for the line in the description
	edited suse/rdma-core.spec sed -z \
		-e 's/\n%files -n %kwarp_lname\n[^\n]*\n//' \
		-e 's/%ldconfig_scriptlets -n %kwarp_lname\n\n//' \
		-e 's/%post[^\n]*kwarp_lname[^\n]*\n%postun[^\n]*\n\n//' \
		-e 's/%package -n %kwarp_lname\n[^\n]*\n[^\n]*\n\n[^\n]*\n[^\n]*\n\n//' \
		-e 's/[^\n]*kwarp_\(lname\|so_major\)[^\n]*\n//g' -e 's/[^\n]*kwarpdv\*\n//g'
}

without_pyverbs() {
	drop debian/copyright 'pyverbs/providers/kwarp/'
	drop MAINTAINERS 'pyverbs/providers/kwarp/'
}
