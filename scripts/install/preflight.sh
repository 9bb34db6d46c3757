#!/bin/sh
# preflight.sh PART...: checks the prerequisites to build a PART (module, provider, tools) and to
# install it (place: all parts but the module; place-module; place-image: for packages, below
# DESTDIR), and lists all missing ones, with the Debian packages that provide them. KDIR, RDMA_CORE,
# DESTDIR, PREFIX, SIGN_KEY, SIGN_CERT, CROSS_COMPILE, PKG_CONFIG_LIBDIR and the compilers' names
# (CC, CXX) come from the environment.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
kdir=${KDIR:-/lib/modules/$(uname -r)/build}
missing='' packages=''

# lacks TEXT [PACKAGE]: records a missing prerequisite
lacks() {
	missing="$missing  $1
"
	[ -z "${2:-}" ] || case " $packages " in
	*" $2 "*) ;;
	*) packages="$packages $2" ;;
	esac
}

# command_of NAME PACKAGE
command_of() {
	command -v "$1" >/dev/null || lacks "the command $1" "$2"
}

# header NAME PACKAGE: checks that the C++ compiler finds the header; without a compiler, looks in
# the usual folders
header() {
	if command -v "$cxx" >/dev/null; then
		echo "#include <$1>" | "$cxx" -E -x c++ - >/dev/null 2>&1
	else
		[ -e "/usr/include/$1" ] || [ -e "/usr/local/include/$1" ]
	fi || lacks "the header $1" "$2"
}

# links COMPILER LANGUAGE: succeeds if the compiler can link programs
links() {
	command -v "$1" >/dev/null &&
		echo 'int main(void) { return 0; }' | "$1" -x "$2" -o /dev/null - 2>/dev/null
}

# older VERSION THAN: compares versions
older() {
	[ "$1" != "$2" ] && [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]
}

# configured OPTION: the kernel of KDIR has the option
configured() {
	grep -qE "^CONFIG_$1=[ym]" "$kdir/include/config/auto.conf"
}

kernel() {
	release=$(cat "$kdir/include/config/kernel.release" 2>/dev/null) || {
		if [ -z "${KDIR:-}" ] || [ "$KDIR" = "/lib/modules/$(uname -r)/build" ]; then
			lacks "the headers of the running kernel, $(uname -r)" \
				"linux-headers-$(uname -r)"
		else
			lacks "a prepared kernel build folder at KDIR=$KDIR"
		fi
		return
	}
	case $top in
	*[[:blank:]:]*) lacks "a path without blanks and colons: Kbuild cannot build in '$top'" ;;
	esac
	if older "$release" 6.12; then
		lacks "a kernel from 6.12 on: $kdir is of $release"
		return
	fi
	! older 7.2.99 "$release" || echo "make: note: the kernel $release is newer than 7.2, the \
newest that this version of kwarp supports: the build may fail" >&2
	for option in INFINIBAND INFINIBAND_USER_ACCESS INFINIBAND_ADDR_TRANS \
		INFINIBAND_VIRT_DMA INET; do
		configured "$option" || lacks "CONFIG_$option in the kernel $release"
	done
	# until 6.13 crc32c() was a module of its own
	crc=CRC32
	! older "$release" 6.14 || crc=LIBCRC32C
	configured "$crc" || lacks "CONFIG_$crc in the kernel $release"
	! configured PREEMPTION || configured TASKS_RCU ||
		lacks "CONFIG_TASKS_RCU in the kernel $release, which is preemptible; \
CONFIG_KPROBES selects it"
	links "$cc" c || lacks 'a C compiler that can link programs' build-essential
}

provider() {
	links "$cc" c || lacks 'a C compiler that can link programs' build-essential
	command_of cmake cmake
	command_of ninja ninja-build
	command_of python3 python3
	[ -z "${RDMA_CORE:-}" ] || [ -e "$RDMA_CORE/CMakeLists.txt" ] ||
		lacks "the source of rdma-core at RDMA_CORE=$RDMA_CORE"
	[ -n "${RDMA_CORE:-}" ] || [ -w "$top/build" ] || [ -w "$top" ] ||
		lacks "RDMA_CORE=DIR, or the right to write to $top/build, where make unpacks it"
	[ -n "${RDMA_CORE:-}" ] || apt_archive ||
		lacks 'RDMA_CORE=DIR: the source of rdma-core, of the version that libibverbs has \
(where apt has lists of Debian or Ubuntu, make fetches it)'
}

# apt_archive: succeeds if apt has lists of an archive from which scripts/build/source.sh can fetch
apt_archive() {
	apt-get indextargets --format '$(LABEL)' 'Created-By: Packages' 2>/dev/null |
		grep -qE '^(Debian|Ubuntu)'
}

place() {
	[ -n "${DESTDIR:-}" ] || [ "$(id -u)" -eq 0 ] || lacks 'root, or DESTDIR=DIR'
	[ -n "${DESTDIR:-}" ] || [ -z "${CROSS_COMPILE:-}" ] ||
		lacks 'DESTDIR=DIR, because CROSS_COMPILE is for another machine'
	command_of pkg-config pkgconf
	[ -z "${CROSS_COMPILE:-}" ] || [ -n "${PKG_CONFIG_LIBDIR:-}" ] ||
		lacks 'PKG_CONFIG_LIBDIR=DIR: the folder with libibverbs.pc of the other machine'
	! command -v pkg-config >/dev/null || pkg-config --exists libibverbs ||
		lacks 'the development files of libibverbs' libibverbs-dev
	[ -n "${DESTDIR:-}${CROSS_COMPILE:-}" ] || [ -z "${RDMA_CORE:-}" ] || same_abi
	[ -n "${DESTDIR:-}" ] || {
		owners=$(owners)
		[ -z "$owners" ] ||
			lacks "the removal of packages whose files it would overwrite: \
$(removal "$owners")"
	}
}

# same_abi: checks that a provider of RDMA_CORE is one for the installed libibverbs
same_abi() {
	have=$("$top/scripts/install/private-abi" \
		"$(pkg-config --variable=libdir libibverbs 2>/dev/null)") || return 0
	of=$("$top/scripts/install/private-abi" "$RDMA_CORE") || return 0
	[ "$have" = "$of" ] || lacks "RDMA_CORE=DIR of the version that libibverbs has: \
$RDMA_CORE has the private ABI $of, libibverbs $have"
}

# owners: prints the packages that have files of "make install"; each package of kwarp has one of
# these
owners() {
	dpkg-query -S '*/libibverbs.d/kwarp.driver' '*/wireshark/plugins/kwarp.lua' \
		"${PREFIX:-/usr}/include/infiniband/kwarpdv.h" "${PREFIX:-/usr}/bin/kwarp-vm" \
		2>/dev/null | cut -d: -f1 | sort -u | paste -sd' '
}

# removal PACKAGES: prints the commands that remove the packages. Only the configuration file of the
# provider, which it would overwrite, has to go; a purge of kwarpctl would remove the configuration
# of the devices.
removal() {
	provider=kwarp-ibverbs-provider
	others=$(echo "$1" | tr ' ' '\n' | grep -vxF "$provider" | paste -sd' ') || :
	echo "${others:+apt-get remove $others}$([ "$others" = "$1" ] || {
		echo "${others:+; }apt-get purge $provider"
	})"
}

tools() {
	if links "$cxx" c++; then
		printf '#include <format>\nstd::string s = std::format("{}", 1);\n' |
			"$cxx" -std=c++20 -fsyntax-only -x c++ - 2>/dev/null ||
			lacks "the header <format> of C++20, for $cxx: g++ 13 or newer"
	else
		lacks 'a C++ compiler that can link programs' g++
	fi
	header CLI/CLI.hpp libcli11-dev
	header nlohmann/json.hpp nlohmann-json3-dev
	header libmnl/libmnl.h libmnl-dev
	header rdma/rdma_netlink.h linux-libc-dev
}

# The files are copied over those that are there, which may be in use, and no list is kept.
place_image() {
	[ -n "${DESTDIR:-}" ] || lacks 'DESTDIR=DIR: "make install" installs into the system'
	place
}

# by_dkms: succeeds if DKMS has installed the module for the kernel of KDIR
by_dkms() {
	find "/lib/modules/$release/updates/dkms" -name 'kwarp.ko*' 2>/dev/null | grep -q .
}

place_module() {
	[ -n "$release" ] || return 0
	[ -n "${DESTDIR:-}" ] || ! by_dkms ||
		lacks "kwarp removed from DKMS, which has installed it for $release: make \
dkms-uninstall, or apt-get purge kwarp-dkms"
	if [ -n "${SIGN_KEY:-}${SIGN_CERT:-}" ]; then
		[ -f "${SIGN_KEY:-}" ] || lacks "the key SIGN_KEY=${SIGN_KEY:-}"
		[ -f "${SIGN_CERT:-}" ] || lacks "its certificate SIGN_CERT=${SIGN_CERT:-}"
		[ -x "$kdir/scripts/sign-file" ] || lacks "$kdir/scripts/sign-file"
	fi
	command_of "${CROSS_COMPILE:-}strip" binutils
}

cc=${CROSS_COMPILE:+${CROSS_COMPILE}gcc} cxx=${CROSS_COMPILE:+${CROSS_COMPILE}g++}
cc=${cc:-${CC:-cc}} cxx=${cxx:-${CXX:-g++}} release=
for part; do
	case $part in
	module) kernel ;;
	provider) provider ;;
	tools) tools ;;
	place) place ;;
	place-module) place_module ;;
	place-image) place_image ;;
	*)
		echo 'usage: preflight.sh module|provider|tools|place[-module|-image]...' >&2
		exit 1
		;;
	esac
done
[ -n "$missing" ] || exit 0
{
	echo 'make: this machine lacks'
	printf '%s' "$missing" | awk '!seen[$0]++'
	[ -z "$packages" ] || echo "On Debian: apt-get install$packages"
} >&2
exit 1
