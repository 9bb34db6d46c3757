#!/bin/bash
# vm.sh [-t SECONDS] [-o RESULTS] COMMAND [ARG...]: boots the tree's kernel in QEMU, runs COMMAND in
# it, and ends with its exit status.
#
# The guest has the Debian 13 tree with a temporary overlay, this checkout read-only at /src (also
# the working directory), and RESULTS (default build/results/vm, with -2, -3 for parallel runs) at
# /results, for files of COMMAND. Fails with status 125 if the kernel logged a fault, crashed, or
# took longer than SECONDS (600).
# KERNEL=rt: the newest PREEMPT_RT kernel (scripts/build/stage-rt.sh) instead of 6.12. KERNEL=arm64,
# KERNEL=s390x: another machine, with Debian's kernel for it (scripts/build/stage-foreign.sh). MEM
# (2G), CPUS (2) and ACCEL (tcg, or kvm where KVM works) come from the environment. ICOUNT=1: the
# guest's clock counts its instructions, and jumps ahead while the guest is idle; ICOUNT=on: while
# the guest is idle, its clock runs like this machine's. DISK=1: the guest has systemd and a disk
# (scripts/guest/disk.sh), and is restarted until it has written an exit status. VM_NET: the
# emulator's arguments for a network device. COPY=FOLDER: the guest's root is this copy of the tree
# (scripts/build/programs.sh).
. "$(dirname "$0")/../lib.sh"
. "$TOP/scripts/guest/boot.sh"

limit=600
wanted=$BUILD/results/vm
while getopts t:o: option; do
	case $option in
	t) limit=$OPTARG ;;
	o) wanted=$OPTARG ;;
	*) fail 'usage: vm.sh [-t SECONDS] [-o RESULTS] COMMAND [ARG...]' ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || fail 'no command given'

root=$TREE foreign=
case ${KERNEL:-} in
rt) kver=$(tree_kver_rt) ;;
arm64 | s390x)
	. "$TOP/scripts/guest/foreign.sh"
	foreign=$KERNEL
	root=$(foreign_root "$foreign")
	kver=$(foreign_kver "$foreign")
	;;
*) kver=$(tree_kver) ;;
esac
vmlinuz=$root/boot/vmlinuz-$kver
[ -f "$vmlinuz" ] || vmlinuz=$root/lib/modules/$kver/vmlinuz
initramfs=$("$TOP/scripts/guest/initramfs.sh" "$kver" ${foreign:+"$root"})
guest_results "$wanted"

# tsc_khz: prints the rate of this machine's time stamp counter
tsc_khz() {
	local program=$BUILD/tsc_khz
	[ "$program" -nt "$TOP/scripts/guest/tsc_khz.cc" ] || {
		clang++ -std=c++20 -O1 -o "$program.$$" "$TOP/scripts/guest/tsc_khz.cc" &&
			mv "$program.$$" "$program"
	}
	"$program"
}
[ -n "$foreign" ] || use_accel "${ACCEL:-tcg}" "$(tsc_khz)"
options=()
[ -z "${ICOUNT:-}" ] || {
	accel=tcg,thread=single cpu=max more=norandmaps
	options+=(-icount "shift=0,sleep=${ICOUNT/1/off}")
}
# Without cmpxchg16b SLUB uses other instructions, and another number of them, so ICOUNT=1 keeps it.
[ "${ICOUNT:-}" != on ] || more+=" clearcpuid=cx16"

# with_root COMMAND...: runs COMMAND in a mount namespace with the guest's root at $root
with_root() { "$@"; }
[ -z "${COPY:-}" ] || {
	root=$COPY/root
	# shellcheck disable=SC2016 # expanded inside
	with_root() {
		unshare --mount --propagation private sh -c '
			mount -t overlay -o "lowerdir=$COPY/changes:$TREE" overlay "$COPY/root" &&
			exec "$@"' sh "$@"
	}
}

# boot_foreign: boots a guest of another machine with an emulator in the copy of the tree; the
# output of the command goes to a file
boot_foreign() {
	local machine emulator console
	case $foreign in
	arm64) emulator=qemu-system-aarch64 machine=virt,gic-version=3 console=ttyAMA0 ;;
	s390x) emulator=qemu-system-s390x machine=s390-ccw-virtio console=ttysclp0 ;;
	esac
	rc=0
	# shellcheck disable=SC2086 # $VM_NET is split into words
	READ_ONLY=1 in_copy foreign timeout --foreground -k 5 "$limit" "$emulator" \
		-machine "$machine" -accel tcg,thread=multi -cpu max -smp "${CPUS:-2}" \
		-m "${MEM:-2G}" -nodefaults -display none -no-reboot ${VM_NET:-} \
		-serial "file:/src${results#"$TOP"}/console.log" \
		-kernel "${vmlinuz#"$foreign_copy/changes"}" -initrd "/src${initramfs#"$TOP"}" \
		-append "console=$console $log KWARP_ARCH=$foreign mitigations=off norandmaps \
KWARP_TERMINAL=/results/output ${KERNEL_ARGS:-}" \
		-virtfs "$share,path=${root#"$foreign_copy/changes"},mount_tag=root,readonly=on" \
		-virtfs "$share,path=/src,mount_tag=src,readonly=on" \
		-virtfs "$share,path=/src${results#"$TOP"},mount_tag=results" \
		</dev/null || rc=$?
	[ -n "$(not_files "$results" output)" ] || cat "$results/output" 2>/dev/null || :
}

boot() {
	[ -z "$foreign" ] || {
		boot_foreign
		return
	}
	rc=0
	with_root "${emulator[@]}" </dev/null || rc=$?
}

[ -z "${DISK:-}" ] || {
	disk=$("$TOP/scripts/guest/disk.sh" "$results.disk")
	options+=(-drive "file=$disk,if=virtio,format=raw,cache=unsafe")
	more="$more KWARP_DISK=1"
}
# shellcheck disable=SC2206 # split into words
options+=(${VM_NET:-})
add_share root "$root" readonly
add_share src "$TOP" readonly
add_share results "$results"
[ -n "$foreign" ] || guest_emulator "$vmlinuz" "$initramfs" "$results" "$limit"

guest_command "$results" "$@"
boot
for again in 2 3; do
	emulator_fault "$results" || break
	echo "# retry: emulator fault (int3 in the kernel's own text); boot $again" >&2
	guest_command "$results" "$@"
	boot
done
for again in 2 3 4; do
	[ -n "${DISK:-}" ] || break
	[ $rc -eq 0 ] || break
	[ ! -s "$results/status" ] || break
	[ -z "$(not_files "$results" console.log consoles.log)" ] || break
	# guest_verdict reads the last boot's log only
	! kernel_complaints "$results/console.log" >/dev/null || break
	cat "$results/console.log" >>"$results/consoles.log"
	boot
done
guest_verdict "$results" "$rc" "$limit"
