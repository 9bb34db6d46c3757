#!/bin/bash
# source.sh NAME [PART...]: fetches a source tree from the Debian archive, unpacks it, and prints
# its path.
#   linux-6.12, linux-7.2   the given parts (default: those for tests and for reading; "all" for
#                           everything)
#   selftests-7.2           the common files of tools/testing/selftests
#   rdma-core               the version of the tree's libibverbs
#   rdma-core-here          the version of this machine's libibverbs
# Cached in build/src. These sources are used in tests only and never become part of the project.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/kept.sh"
[ $# -ge 1 ] || fail 'usage: source.sh linux-6.12|linux-7.2|rdma-core [PART...]'
name=$1
shift
out=$BUILD/src/$name
log=$BUILD/log/source-$name.log
lock "source-$name"
mkdir -p "$BUILD/src" "$BUILD/log" "$DOWNLOADS"

# fetch_linux SERIES: writes the newest linux-source-SERIES of the tree's apt sources (7.2:
# backports) to stdout as a tar.
fetch_linux() {
	local package=linux-source-$1 deb
	if ! deb=$(ls "$DOWNLOADS/$package"_*.deb 2>/dev/null); then
		quietly "$log" \
			in_tree -w "/src${DOWNLOADS#"$TOP"}" apt-get download -q "$package"
		deb=$(ls "$DOWNLOADS/$package"_*.deb) || fail "apt-get download left no $package"
	fi
	dpkg-deb --fsys-tarfile "$deb" |
		tar -xO --wildcards './usr/src/linux-source-*.tar.xz' | xz -dc -T0
}

# unpack_linux SERIES PART...: unpacks the parts into $out.new.
unpack_linux() {
	local series=$1 part args=()
	shift
	for part; do
		args+=("linux-source-$series/$part")
	done
	[ "${1:-}" = all ] && args=()
	fetch_linux "$series" | tar -x -C "$out.new" --strip-components=1 "${args[@]}"
}

# some_linux SERIES PART...: the same, through the cache of kept.sh.
some_linux() {
	local kept
	kept=linux-$1-$({ linux_source "$1" && echo "$@"; } | checksum)
	kept "$kept" "$out.new" || {
		unpack_linux "$@"
		keep "$kept" -C "$out.new" .
	}
}

# selftests: prints the files of the kernel's test runner
selftests() {
	local file
	for file in Makefile lib.mk run_kselftest.sh kselftest kselftest.h kselftest_harness.h; do
		echo "tools/testing/selftests/$file"
	done
	echo scripts/subarch.include
}

# core_version [OPTION]: prints the version of the source of the installed libibverbs; dpkg-query
# gets the option
core_version() {
	# shellcheck disable=SC2016 # a dpkg-query format
	dpkg-query "$@" -W -f '${source:Version}' libibverbs1 || fail 'libibverbs1 is not installed'
}

# fetch_rdma_core VERSION APT...: fetches the upstream tarball of this version with the apt-get that
# the prefix APT runs. Uses the address and checksum that apt reports, because the archive may lack
# the .dsc file. The archive may have another revision of the package only, with the same tarball.
fetch_rdma_core() {
	local version=$1 uri file size hash
	shift
	read -r uri file size hash < <(
		for wanted in "rdma-core=$version" rdma-core; do
			"$@" apt-get "${apt_options[@]}" source --print-uris "$wanted" || :
		done 2>>"$log" | tr -d "'" | grep -F "rdma-core_${version%-*}.orig.tar"
	) || {
		tail -n 8 "$log" >&2
		fail "apt finds no source of rdma-core ${version%-*}: $log has its messages." \
			'Give RDMA_CORE=DIR'
	}
	file=$DOWNLOADS/$file
	[ "$(stat -c %s "$file" 2>/dev/null)" = "$size" ] ||
		quietly "$log" /usr/lib/apt/apt-helper download-file "$uri" "$file" "$hash"
	tar -x -C "$out.new" --strip-components=1 -f "$file"
}

# own_apt_sources: writes a list with the source archives of this machine's Debian or Ubuntu, so
# that the machine's configuration needs no deb-src lines. Sets apt_options.
own_apt_sources() {
	local apt=$BUILD/apt
	mkdir -p "$apt/lists/partial"
	apt-get indextargets --format '$(LABEL)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)' \
		'Created-By: Packages' | sort -u |
		awk -F'|' -v keys=/usr/share/keyrings '
			# Others, such as UbuntuESM, have their own keys.
			$1 !~ /^(Debian([- ].*)?|Ubuntu)$/ { next }
			{ key = $1 == "Ubuntu" ? "ubuntu" : "debian" }
			{
				print "deb-src [signed-by=" keys "/" key "-archive-keyring.gpg]",
					$2, $3, $4
			}' >"$apt/sources.list"
	[ -s "$apt/sources.list" ] || fail 'apt has no lists of Debian or Ubuntu: run apt-get' \
		"update, or give RDMA_CORE=DIR, the source of rdma-core $version"
	apt_options=(-o "Dir::Etc::SourceList=$apt/sources.list"
		-o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$apt/lists")
	# One archive that cannot be read need not be that of rdma-core.
	apt-get "${apt_options[@]}" update >"$log" 2>&1 || :
}

apt_options=()
version=
case $name in
linux-*)
	[ $# -gt 0 ] ||
		set -- drivers/infiniband include net/ipv4 net/core scripts Documentation/infiniband
	;;
selftests-*)
	# shellcheck disable=SC2046 # names of files
	set -- $(selftests)
	;;
rdma-core) version=$(core_version --admindir="$TREE/var/lib/dpkg") ;;
rdma-core-here) version=$(core_version) ;;
*) fail "unknown source '$name'" ;;
esac
# libibverbs may have been upgraded since; only upstream's version matters
want=${version:+${version%-*}}
want=${want:-$*}
have=$(cat "$out/.parts" 2>/dev/null || :)
if [ "$have" != "$want" ] && [ "$have" != all ]; then
	step "source of $name"
	rm -rf "$out.new"
	mkdir -p "$out.new"
	case $name in
	linux-*)
		if [ "$want" = all ]; then
			unpack_linux "${name#linux-}" all
		else
			some_linux "${name#linux-}" "$@"
		fi
		;;
	selftests-*) some_linux "${name#*-}" "$@" ;;
	rdma-core) fetch_rdma_core "$version" in_tree -w / ;;
	rdma-core-here) own_apt_sources && fetch_rdma_core "$version" env ;;
	esac
	echo "$want" >"$out.new/.parts"
	rm -rf "$out"
	mv "$out.new" "$out"
fi
echo "$out"
