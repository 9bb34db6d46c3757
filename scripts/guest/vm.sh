#!/bin/bash
# vm.sh [-t SECONDS] [-o RESULTS] COMMAND [ARG...]: boots the tree's kernel in QEMU, runs COMMAND in
# it, and ends with its exit status.
#
# The guest has the Debian 13 tree with a throw-away overlay, this checkout read-only at /src (also
# the working directory), and RESULTS (default build/results/vm, with -2, -3 for parallel runs) at
# /results for files to bring back.
# Also fails, with status 125, when the kernel complained, crashed, or took longer than SECONDS
# (600).
# KERNEL=rt: the newest PREEMPT_RT kernel (scripts/build/stage-rt.sh) instead of 6.12. KERNEL=arm64,
# KERNEL=s390x: another machine, with Debian's kernel for it (scripts/build/stage-foreign.sh).
# MEM (2G), CPUS (2) and ACCEL (tcg; kvm where it works) come from the environment. ICOUNT=1: the
# guest's clock counts its instructions, and jumps ahead while the guest is idle; ICOUNT=on: it goes
# on as this machine's does then. DISK=1: the guest is a machine with systemd and a disk of its own
# (scripts/guest/disk.sh), which restarts until it has left an exit status. VM_NET: the emulator's
# arguments for a network device. COPY=FOLDER: the guest has that copy of the tree
# (scripts/build/programs.sh).
. "$(dirname "$0")/../lib.sh"

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

# The emulator runs "rep movsb" and "rep stosb" byte by byte, so hide the CPU flags that make the
# kernel think them fast. It translates a program again for each address at which it finds it
# (norandmaps).
accel=${ACCEL:-tcg} more=
case $accel in
tcg) accel='tcg,thread=multi' cpu='max,-erms,-fsrm' more=norandmaps ;;
*) cpu=host ;;
esac
# An emulated guest's counter is this machine's. The kernel would measure its rate against timers
# that the emulator delivers late on a busy machine: it once computed 47 MHz instead of 2596, and
# its clock ran 54 times too fast.
tsc_khz() {
	local program=$BUILD/tsc_khz
	[ "$program" -nt "$TOP/scripts/guest/tsc_khz.cc" ] || {
		clang++ -std=c++20 -O1 -o "$program.$$" "$TOP/scripts/guest/tsc_khz.cc" &&
			mv "$program.$$" "$program"
	}
	"$program"
}
[ -n "$foreign" ] || [ "$accel" = "${accel#tcg}" ] || more="$more tsc_early_khz=$(tsc_khz)"
clock=
[ -z "${ICOUNT:-}" ] || {
	accel=tcg,thread=single cpu=max more=norandmaps
	clock="-icount shift=0,sleep=${ICOUNT/1/off}"
}
# Counting, the emulator (7.2) loses the flags of cmpxchg16b if an interrupt comes right behind it:
# seen as a double fault in SLUB, with a part of a pointer in EFLAGS. Without it SLUB uses other
# instructions, and their number is another.
[ "${ICOUNT:-}" != on ] || cpu=max,-cx16

# with_root COMMAND...: runs it where $root is the guest's
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

share=local,security_model=none,multidevs=remap
log='loglevel=5 log_buf_len=4M panic=-1 oops=panic'

# boot_foreign: the emulator is one of the copy of the tree; the output of the command is a file
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
	cat "$results/output" 2>/dev/null || :
}

# boot: ttyS0 has the kernel's log, ttyS1 the output of the command
boot() {
	[ -z "$foreign" ] || {
		boot_foreign
		return
	}
	rc=0
	# shellcheck disable=SC2086 # $clock, $drive and $VM_NET are split into words, or empty
	with_root timeout --foreground -k 5 "$limit" qemu-system-x86_64 $clock $drive \
		${VM_NET:-} \
		-machine q35 -accel "$accel" -cpu "$cpu" -smp "${CPUS:-2}" -m "${MEM:-2G}" \
		-nodefaults -display none -no-reboot \
		-serial "file:$results/console.log" -serial stdio \
		-kernel "$vmlinuz" -initrd "$initramfs" \
		-append "console=ttyS0 $log tsc=reliable mitigations=off $more ${KERNEL_ARGS:-}" \
		-virtfs "$share,path=$root,mount_tag=root,readonly=on" \
		-virtfs "$share,path=$TOP,mount_tag=src,readonly=on" \
		-virtfs "$share,path=$results,mount_tag=results" \
		</dev/null || rc=$?
}

# emulator_fault: the kernel died of an Oops in its own text patching. While it patches, it sets a
# breakpoint for the other CPUs; with one thread per CPU the emulator may still run the old
# translation, or the breakpoint after it was removed. Seen about once in 40 boots; no driver can
# cause an int3.
emulator_fault() {
	[ ! -s "$results/status" ] && grep -aq 'Oops: int3' "$results/console.log"
}

drive=
[ -z "${DISK:-}" ] || {
	disk=$("$TOP/scripts/guest/disk.sh" "$results.disk")
	drive="-drive file=$disk,if=virtio,format=raw,cache=unsafe"
	more="$more KWARP_DISK=1"
}

guest_command "$results" "$@"
boot
for again in 2 3; do
	emulator_fault || break
	echo "# retry: emulator fault (int3 in the kernel's own text); boot $again" >&2
	guest_command "$results" "$@"
	boot
done
for again in 2 3 4; do
	[ -n "$drive" ] || break
	[ $rc -eq 0 ] || break
	[ ! -s "$results/status" ] || break
	cat "$results/console.log" >>"$results/consoles.log"
	boot
done
guest_verdict "$results" "$rc" "$limit"
