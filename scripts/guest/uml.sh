#!/bin/bash
# uml.sh build: builds user-mode Linux from the newest kernel source, cached in build/uml-FLAVOUR,
# with the module and the test programs for it. Its parts are
#   uml.sh kernel       the kernel and the modules that "make check" needs
#   uml.sh module       our module; after it and stage.sh
#   uml.sh modules-all  the kernel's other modules, "later" in scripts/guest/uml.config; guests
#                       that are booted afterwards have them
# uml.sh run [-t SECONDS] [-o RESULTS] COMMAND [ARG...]: runs COMMAND in it, as vm.sh does in QEMU.
#
# FLAVOUR=debug (default): KASAN, lock proving, kmemleak and other checks; see
# scripts/guest/uml.config.
# FLAVOUR=fast: none of these, for benchmarks. Kernel code runs at native speed in both.
# COPY=FOLDER: in that copy of the tree (scripts/build/programs.sh).
# NO_LEAKS=1 skips the search for leaks at the end (10 s). MEM (3G) and CPUS (2) as for vm.sh.
. "$(dirname "$0")/../lib.sh"
. "$TOP/scripts/build/kept.sh"
need_root

flavour=${FLAVOUR:-debug}
out=$BUILD/uml-$flavour
inside=/src/build/uml-$flavour
stage=$out-stage
SERIES=7.2
# less work for the compiler than -Os, and all that the checks need
level=-O1
[ "$flavour" = debug ] || level=

# options: prints the options for this flavour
options() {
	list "$TOP/scripts/guest/uml.config" | awk -v flavour="$flavour" '
		NF == 1 { print }
		NF == 2 && ($1 == flavour || $1 == "later") { print $2 }'
}

# later: prints variables for make's command line that leave out modules. The configuration is the
# same with and without them, so that a module can be built later as if it had been built at once.
later() {
	list "$TOP/scripts/guest/uml.config" |
		sed -n 's/^later \(.*\)=m$/CONFIG_\1=/p'
}

# configure: applies defconfig and our options, and checks that each option took effect
configure() {
	local option args=()
	for option in $(options); do
		case $option in
		*=m) args+=(-m "${option%=m}") ;;
		*=n) args+=(-d "${option%=n}") ;;
		*=*) args+=(--set-val "${option%%=*}" "${option#*=}") ;;
		*) args+=(-e "$option") ;;
		esac
	done
	in_tree make -s -C "$source" O="$inside" ARCH=um defconfig &&
		in_tree "$source/scripts/config" --file "$inside/.config" "${args[@]}" &&
		in_tree make -s -C "$source" O="$inside" ARCH=um olddefconfig || return 1
	for option in $(options); do
		case $option in
		*=n) ! grep -q "^CONFIG_${option%=n}=" "$out/.config" ;;
		*=*) grep -qx "CONFIG_$option" "$out/.config" ;;
		*) grep -qx "CONFIG_$option=y" "$out/.config" ;;
		esac || echo "option did not take effect: $option"
	done
}

# patched: applies uml.patch to the source; a changed patch replaces the one applied before
patched() {
	local dir=$TOP${source#/src}
	cmp -s "$TOP/scripts/guest/uml.patch" "$dir/.uml.patch" && return 0
	[ ! -f "$dir/.uml.patch" ] ||
		quietly "$BUILD/log/uml-patch.log" in_tree -w "$source" patch -p1 -R -i .uml.patch
	quietly "$BUILD/log/uml-patch.log" \
		in_tree -w "$source" patch -p1 -i /src/scripts/guest/uml.patch
	# Replace the file rather than write to it: a copy of this checkout may share it by a hard
	# link, and has its own source to patch.
	cp --remove-destination "$TOP/scripts/guest/uml.patch" "$dir/.uml.patch"
}

# kbuild LOG ARG...: runs the kernel's own make for this flavour
kbuild() {
	local log=$BUILD/log/uml-$flavour$1.log
	shift
	quietly "$log" in_tree make -s -C "$source" O="$inside" ARCH=um KCFLAGS="$level" "$@"
}

# install_modules STAGE: installs what has been built
install_modules() {
	# Guests lay the stage over a root where /lib is such a link, too.
	rm -rf "$1"
	mkdir -p "$1/usr/lib"
	ln -s usr/lib "$1/lib"
	kbuild -modules INSTALL_MOD_PATH="/src${1#"$TOP"}" modules_install
}

# lock_kernel: keeps others from changing what has been built of the kernel
lock_kernel() {
	[ -z "${locked:-}" ] || return 0
	lock "uml-$flavour"
	locked=1
}

# kept_name KIND: the name under which this kernel is kept, or a part of it
kept_name() {
	echo "$1-$({
		options
		later
		cat "$0" "$TOP/scripts/guest/uml.patch"
		linux_source $SERIES
		in_tree dpkg-query -W gcc-14 binutils
	} | checksum)"
}

# build_kernel [VARIABLE...]: the kernel and its modules, without those that make's variables leave
# out
build_kernel() {
	"$TOP/scripts/build/source.sh" linux-$SERIES all >/dev/null
	patched
	quietly "$BUILD/log/uml-$flavour-config.log" configure
	! grep 'did not take effect' "$BUILD/log/uml-$flavour-config.log" >&2 ||
		fail 'the kernel configuration'
	kbuild '' -j"$(nproc)" "$@" linux modules
	in_tree make -s -C "$source" O="$inside" ARCH=um kernelrelease >"$out/kver"
}

# keep_kernel NAME: keeps what guests and the build of our module need, as the kernel's own
# scripts/package/install-extmod-build lists it
keep_kernel() {
	local built=uml-$flavour src=src/linux-$SERIES
	(
		cd "$BUILD"
		echo headers >"$built/.parts"
		keep "$1" --exclude='*.[ao]' --exclude='.*.cmd' --exclude='.*.d' \
			--transform="s|^$built/.parts|$src/.parts|" \
			"$built"/{.parts,.config,Makefile,Module.symvers,kver,linux,source} \
			"$built"/{include,scripts,arch/um/include,arch/x86/include} \
			"$built-stage" "$src"/{Makefile,.uml.patch,include,scripts,arch/um} \
			"$src"/arch/x86/{Makefile*,include,um}
	)
}

# kernel_again NAME: the same from where it is kept
kernel_again() {
	local new=$BUILD/uml-$flavour-kept
	rm -rf "$new"
	kept "$1" "$new" || return 1
	rm -rf "$out" "$stage"
	mv "$new/uml-$flavour" "$new/uml-$flavour-stage" "$BUILD/"
	if [ "$(cat "$BUILD/src/linux-$SERIES/.parts" 2>/dev/null)" = all ]; then
		patched
	else
		rm -rf "$BUILD/src/linux-$SERIES"
		mkdir -p "$BUILD/src"
		mv "$new/src/linux-$SERIES" "$BUILD/src/"
	fi
	rm -rf "$new"
}

kernel() {
	local stamp name
	stamp=$({ options && later && cat "$TOP/scripts/guest/uml.patch"; } | sha256sum)
	lock_kernel
	source=/src${BUILD#"$TOP"}/src/linux-$SERIES
	[ "$(cat "$out/stamp" 2>/dev/null)" != "$stamp" ] || [ ! -L "$stage/lib" ] || return 0
	step "user-mode Linux $SERIES ($flavour): about 4 to 8 minutes"
	mkdir -p "$out"
	# Kbuild does not track that out-of-tree modules depend on the kernel's configuration.
	rm -rf "$out-kwarp" "$out-ktest" "$stage-all" "$out/stamp"
	name=$(kept_name "uml-$flavour")
	kernel_again "$name" || {
		# shellcheck disable=SC2046 # words
		build_kernel $(later)
		install_modules "$stage"
		keep_kernel "$name"
	}
	echo "$stamp" >"$out/stamp"
}

modules_all() {
	local name
	kernel
	[ ! -d "$stage-all" ] || return 0
	step "user-mode Linux $SERIES ($flavour): all modules"
	rm -rf "$stage-all.new"
	name=$(kept_name "modules-$flavour")
	kept "$name" "$stage-all.new" || {
		# A kernel that had been kept came without its objects.
		if [ -f "$out/vmlinux.o" ]; then
			kbuild -later -j"$(nproc)" modules
		else
			build_kernel
		fi
		install_modules "$stage-all.new"
		keep "$name" -C "$stage-all.new" .
	}
	[ ! -f "$out-kwarp/kwarp.ko" ] || updates "$stage-all.new"
	mv "$stage-all.new" "$stage-all"
}

# updates STAGE: installs our modules beside the kernel's own
updates() {
	local kver updates built
	kver=$(cat "$out/kver")
	updates=$1/lib/modules/$kver/updates
	built=("$out-kwarp/kwarp.ko" "$out-ktest/kwarp_ktest.ko" "$out-ktest/kwarp_seam.ko")
	! cmp -s <(cat "${built[@]}") <(cat "$updates"/kwarp{,_ktest,_seam}.ko 2>/dev/null) ||
		return 0
	install -D -m 644 -t "$updates" "${built[@]}"
	quietly "$BUILD/log/uml-$flavour-depmod.log" in_tree depmod -b "/src${1#"$TOP"}" "$kver"
}

# module: builds our module for this kernel
module() {
	local kver
	kver=$(cat "$out/kver")
	[ "${DRIVER:-kwarp}" = kwarp ] || return 0
	lock_kernel
	step "module ($kver)"
	quietly "$BUILD/log/uml-$flavour-kwarp.log" in_tree env KWARP_TEST=y make modules ARCH=um \
		KDIR="$inside" O="$inside-kwarp"
	"$TOP/scripts/build/mirror" "$TOP/tests/kernel" "$out-ktest" .
	quietly "$BUILD/log/uml-$flavour-ktest.log" in_tree make -s -C "$inside" ARCH=um \
		M="$inside-ktest" W=1 KCFLAGS=-Werror KWARP_TEST=y \
		KBUILD_EXTRA_SYMBOLS="$inside-kwarp/modules-$kver-um/Module.symvers" modules
	updates "$stage"
	[ ! -d "$stage-all" ] || updates "$stage-all"
}

# emulate: boots the kernel. Its log goes to console 1, which is a file; log_buf_len is large enough
# that dmesg still has its beginning at the end. After a panic the kernel aborts; the first process
# of a PID namespace cannot, so that is a shell.
emulate() {
	local mhz
	mhz=$(awk -F': *' '/^cpu MHz/ { print $2; exit }' /proc/cpuinfo)
	# shellcheck disable=SC2086 # KERNEL_ARGS is split into words
	READ_ONLY=1 timeout --foreground -k 5 "$limit" \
		unshare --mount --propagation private --pid --fork --kill-child \
		"$TOP/scripts/tree/enter" "$inside" sh -c 'ulimit -c 0; "$@"; exit $?' sh \
		./linux "mem=${MEM:-3G}" "ncpus=${CPUS:-2}" \
		root=/dev/root rootfstype=hostfs rootflags=/ ro init=/src/scripts/guest/uml-init \
		seccomp=on con=null con0=null,fd:1 con1=null,fd:2 console=tty1 \
		loglevel=7 printk.time=1 log_buf_len=4M panic=-1 uml_dir=/tmp \
		"KWARP_STAGE=/src${stage#"$TOP"}" "KWARP_RESULTS=/src${results#"$TOP"}" \
		"KWARP_MHZ=$mhz" "NO_LEAKS=${NO_LEAKS:-}" ${KERNEL_ARGS:-} \
		</dev/null 2>"$results/console.log"
}

usage='usage: uml.sh build | kernel | module | modules-all | run [-t SECONDS] [-o DIR] COMMAND...'
limit=900
wanted=$BUILD/results/uml
act=${1:-}
[ $# -eq 0 ] || shift
while getopts t:o: option; do
	case $option in
	t) limit=$OPTARG ;;
	o) wanted=$OPTARG ;;
	*) fail "$usage" ;;
	esac
done
shift $((OPTIND - 1))

case $act in
kernel) kernel ;;
module) module ;;
modules-all) modules_all ;;
build)
	modules_all
	"$TOP/scripts/build/stage.sh"
	module
	;;
run)
	[ $# -gt 0 ] || fail 'no command given'
	[ ! -d "$stage-all" ] || stage=$stage-all
	[ -d "$stage/lib/modules" ] || fail "not built yet; run first: FLAVOUR=$flavour $0 build"
	guest_results "$wanted"
	guest_command "$results" "$@"
	rc=0
	emulate || rc=$?
	guest_verdict "$results" "$rc" "$limit"
	;;
*) fail "$usage" ;;
esac
