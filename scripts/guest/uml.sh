#!/bin/bash
# uml.sh build: build user-mode Linux from the newest kernel source, cached in build/uml-FLAVOUR, and the module and
# the suites' programs for it. "uml.sh kernel" and, behind it and stage.sh, "uml.sh module" are the two halves of it.
# uml.sh run [-t SECONDS] [-o RESULTS] COMMAND [ARG...]: run COMMAND in what was built, as vm.sh does in QEMU.
#
# FLAVOUR=debug (default): KASAN, lock proving, kmemleak and other checks: see scripts/guest/uml.config.
# FLAVOUR=fast: none of these, for figures. The kernel's code runs at native speed in both.
# NO_LEAKS=1 leaves out the search for leaks at the end (10 s). MEM (3G) and CPUS (2) as for vm.sh.
. "$(dirname "$0")/../lib.sh"
need_root

flavour=${FLAVOUR:-debug}
out=$BUILD/uml-$flavour
inside=/src/build/uml-$flavour
stage=$out-stage
SERIES=7.2

# options: those listed for this flavour
options() {
	list "$TOP/scripts/guest/uml.config" | awk -v flavour="$flavour" 'NF == 1 { print } NF == 2 && $1 == flavour { print $2 }'
}

# configure: defconfig and our options, each of which must hold in the end
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
		esac || echo "option did not hold: $option"
	done
}

# patched: the source with uml.patch; another state of the patch needs the source afresh
patched() {
	local dir=$TOP${source#/src}
	cmp -s "$TOP/scripts/guest/uml.patch" "$dir/.uml.patch" && return 0
	[ ! -f "$dir/.uml.patch" ] || quietly "$BUILD/log/uml-patch.log" in_tree -w "$source" patch -p1 -R -i .uml.patch
	quietly "$BUILD/log/uml-patch.log" in_tree -w "$source" patch -p1 -i /src/scripts/guest/uml.patch
	# a copy of this checkout may share its files, and has its own source to patch
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
	# Kbuild does not see that modules outside of the kernel depend on its configuration
	rm -rf "$out-kwarp" "$out-ktest"
	step "user-mode Linux $SERIES ($flavour): about 4 to 10 minutes"
	quietly "$BUILD/log/uml-$flavour-config.log" configure
	! grep 'did not hold' "$BUILD/log/uml-$flavour-config.log" >&2 || fail 'the configuration'
	quietly "$BUILD/log/uml-$flavour.log" in_tree make -s -j"$(nproc)" -C "$source" O="$inside" ARCH=um linux modules
	in_tree make -s -C "$source" O="$inside" ARCH=um kernelrelease >"$out/kver"
	# guests lay the stage over a root where /lib is such a link, too
	rm -rf "$stage"
	mkdir -p "$stage/usr/lib"
	ln -s usr/lib "$stage/lib"
	quietly "$BUILD/log/uml-$flavour-modules.log" in_tree make -s -C "$source" O="$inside" ARCH=um \
		INSTALL_MOD_PATH="$inside-stage" modules_install
	echo "$stamp" >"$out/stamp"
}

# module: our module for this kernel, beside its own
module() {
	local kver
	kver=$(cat "$out/kver")
	[ "${DRIVER:-kwarp}" = kwarp ] || return 0
	step "module ($kver)"
	quietly "$BUILD/log/uml-$flavour-kwarp.log" in_tree make modules ARCH=um KDIR="$inside" O="$inside-kwarp"
	"$TOP/scripts/build/mirror" "$TOP/tests/kernel" "$out-ktest" .
	quietly "$BUILD/log/uml-$flavour-ktest.log" in_tree make -s -C "$inside" ARCH=um M="$inside-ktest" W=1 modules
	lock "uml-$flavour-stage"
	local updates=$stage/lib/modules/$kver/updates
	if ! cmp -s "$out-kwarp/kwarp.ko" "$updates/kwarp.ko" || ! cmp -s "$out-ktest/kwarp_ktest.ko" "$updates/kwarp_ktest.ko"; then
		install -D -m 644 -t "$updates" "$out-kwarp/kwarp.ko" "$out-ktest/kwarp_ktest.ko"
		quietly "$BUILD/log/uml-$flavour-depmod.log" in_tree depmod -b "$inside-stage" "$kver"
	fi
}

# emulate: the kernel's own log goes to console 1, which is a file; dmesg must not have lost its beginning by the end
emulate() {
	local mhz
	mhz=$(awk -F': *' '/^cpu MHz/ { print $2; exit }' /proc/cpuinfo)
	# shellcheck disable=SC2086 # KERNEL_ARGS is a list of words
	timeout --foreground -k 5 "$limit" unshare --mount --propagation private --pid --fork --kill-child \
		"$TOP/scripts/tree/enter" "$inside" ./linux "mem=${MEM:-3G}" "ncpus=${CPUS:-2}" \
		root=/dev/root rootfstype=hostfs rootflags=/ ro init=/src/scripts/guest/uml-init \
		seccomp=on con=null con0=null,fd:1 con1=null,fd:2 console=tty1 loglevel=7 printk.time=1 log_buf_len=4M panic=-1 uml_dir=/tmp \
		"KWARP_STAGE=$inside-stage" "KWARP_RESULTS=/src${results#"$TOP"}" "KWARP_MHZ=$mhz" "NO_LEAKS=${NO_LEAKS:-}" ${KERNEL_ARGS:-} \
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
	[ -d "$stage/lib/modules" ] || fail "nothing is built for it; first: FLAVOUR=$flavour $0 build"
	guest_results "$wanted"
	guest_command "$results" "$@"
	rc=0
	emulate || rc=$?
	guest_verdict "$results" "$rc" "$limit"
	;;
*) fail 'usage: uml.sh build | run [-t SECONDS] [-o RESULTS] COMMAND [ARG...]' ;;
esac
