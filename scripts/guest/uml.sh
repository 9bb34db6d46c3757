#!/bin/bash
# uml.sh build: builds user-mode Linux from the newest kernel source, cached in build/uml-FLAVOUR,
# with the module and the test programs for it. Its two halves are "uml.sh kernel" and, after it and
# stage.sh, "uml.sh module".
# uml.sh run [-t SECONDS] [-o RESULTS] COMMAND [ARG...]: runs COMMAND in it, as vm.sh does in QEMU.
#
# FLAVOUR=debug (default): KASAN, lock proving, kmemleak and other checks; see
# scripts/guest/uml.config.
# FLAVOUR=fast: none of these, for benchmarks. Kernel code runs at native speed in both.
# NO_LEAKS=1 skips the search for leaks at the end (10 s). MEM (3G) and CPUS (2) as for vm.sh.
. "$(dirname "$0")/../lib.sh"
need_root

flavour=${FLAVOUR:-debug}
out=$BUILD/uml-$flavour
inside=/src/build/uml-$flavour
stage=$out-stage
SERIES=7.2

# options: prints the options for this flavour
options() {
	list "$TOP/scripts/guest/uml.config" |
		awk -v flavour="$flavour" 'NF == 1 { print } NF == 2 && $1 == flavour { print $2 }'
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

kernel() {
	local stamp
	stamp=$({ options && cat "$TOP/scripts/guest/uml.patch"; } | sha256sum)
	lock "uml-$flavour"
	[ "$(cat "$out/stamp" 2>/dev/null)" != "$stamp" ] || [ ! -L "$stage/lib" ] || return 0
	source=$("$TOP/scripts/build/source.sh" linux-$SERIES all)
	source=/src${source#"$TOP"}
	mkdir -p "$out"
	patched
	# Kbuild does not track that out-of-tree modules depend on the kernel's configuration.
	rm -rf "$out-kwarp" "$out-ktest"
	step "user-mode Linux $SERIES ($flavour): about 4 to 10 minutes"
	quietly "$BUILD/log/uml-$flavour-config.log" configure
	! grep 'did not take effect' "$BUILD/log/uml-$flavour-config.log" >&2 ||
		fail 'the kernel configuration'
	quietly "$BUILD/log/uml-$flavour.log" \
		in_tree make -s -j"$(nproc)" -C "$source" O="$inside" ARCH=um linux modules
	in_tree make -s -C "$source" O="$inside" ARCH=um kernelrelease >"$out/kver"
	# Guests lay the stage over a root where /lib is such a link, too.
	rm -rf "$stage"
	mkdir -p "$stage/usr/lib"
	ln -s usr/lib "$stage/lib"
	quietly "$BUILD/log/uml-$flavour-modules.log" \
		in_tree make -s -C "$source" O="$inside" ARCH=um \
		INSTALL_MOD_PATH="$inside-stage" modules_install
	echo "$stamp" >"$out/stamp"
}

# module: builds our module for this kernel and installs it beside the kernel's own
module() {
	local kver
	kver=$(cat "$out/kver")
	[ "${DRIVER:-kwarp}" = kwarp ] || return 0
	step "module ($kver)"
	quietly "$BUILD/log/uml-$flavour-kwarp.log" in_tree env KWARP_TEST=y make modules ARCH=um \
		KDIR="$inside" O="$inside-kwarp"
	"$TOP/scripts/build/mirror" "$TOP/tests/kernel" "$out-ktest" .
	quietly "$BUILD/log/uml-$flavour-ktest.log" in_tree make -s -C "$inside" ARCH=um \
		M="$inside-ktest" W=1 KCFLAGS=-Werror KWARP_TEST=y \
		KBUILD_EXTRA_SYMBOLS="$inside-kwarp/modules-$kver-um/Module.symvers" modules
	lock "uml-$flavour-stage"
	local updates=$stage/lib/modules/$kver/updates built
	built=("$out-kwarp/kwarp.ko" "$out-ktest/kwarp_ktest.ko" "$out-ktest/kwarp_seam.ko")
	if ! cmp -s <(cat "${built[@]}") <(cat "$updates"/kwarp{,_ktest,_seam}.ko 2>/dev/null); then
		install -D -m 644 -t "$updates" "${built[@]}"
		quietly "$BUILD/log/uml-$flavour-depmod.log" \
			in_tree depmod -b "$inside-stage" "$kver"
	fi
}

# emulate: boots the kernel. Its log goes to console 1, which is a file; log_buf_len is large enough
# that dmesg still has its beginning at the end.
emulate() {
	local mhz
	mhz=$(awk -F': *' '/^cpu MHz/ { print $2; exit }' /proc/cpuinfo)
	# shellcheck disable=SC2086 # KERNEL_ARGS is split into words
	timeout --foreground -k 5 "$limit" \
		unshare --mount --propagation private --pid --fork --kill-child \
		"$TOP/scripts/tree/enter" "$inside" ./linux "mem=${MEM:-3G}" "ncpus=${CPUS:-2}" \
		root=/dev/root rootfstype=hostfs rootflags=/ ro init=/src/scripts/guest/uml-init \
		seccomp=on con=null con0=null,fd:1 con1=null,fd:2 console=tty1 \
		loglevel=7 printk.time=1 log_buf_len=4M panic=-1 uml_dir=/tmp \
		"KWARP_STAGE=$inside-stage" "KWARP_RESULTS=/src${results#"$TOP"}" \
		"KWARP_MHZ=$mhz" "NO_LEAKS=${NO_LEAKS:-}" ${KERNEL_ARGS:-} \
		</dev/null 2>"$results/console.log"
}

limit=900
wanted=$BUILD/results/uml
act=${1:-}
[ $# -eq 0 ] || shift
while getopts t:o: option; do
	case $option in
	t) limit=$OPTARG ;;
	o) wanted=$OPTARG ;;
	*) fail 'usage: uml.sh build | run [-t SECONDS] [-o RESULTS] COMMAND [ARG...]' ;;
	esac
done
shift $((OPTIND - 1))

case $act in
kernel) kernel ;;
module) module ;;
build)
	kernel
	"$TOP/scripts/build/stage.sh"
	module
	;;
run)
	[ $# -gt 0 ] || fail 'no command given'
	[ -d "$stage/lib/modules" ] || fail "not built yet; run first: FLAVOUR=$flavour $0 build"
	guest_results "$wanted"
	guest_command "$results" "$@"
	rc=0
	emulate || rc=$?
	guest_verdict "$results" "$rc" "$limit"
	;;
*) fail 'usage: uml.sh build | run [-t SECONDS] [-o RESULTS] COMMAND [ARG...]' ;;
esac
