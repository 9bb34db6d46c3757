#!/bin/bash
# vm.sh [-t SECONDS] [-o RESULTS] COMMAND [ARG...]: boot the tree's kernel in QEMU, run COMMAND
# inside, and end with its exit status.
#
# Inside: the Debian 13 tree with a throw-away overlay, this checkout read-only at /src (also the
# working directory), RESULTS (default build/results/vm, with -2, -3 for parallel runs) at /results for
# files to bring back.
# Also fails, with status 125, when the kernel complained, died, or took longer than SECONDS (600).
# MEM (2G), CPUS (2) and ACCEL (tcg; kvm where it works) come from the environment. ICOUNT=1: the guest's
# clock counts its instructions.
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

initramfs=$("$TOP/scripts/guest/initramfs.sh")
guest_results "$wanted"

# The emulator runs "rep movsb" and "rep stosb" octet by octet, so the kernel had better not think them fast; and
# it translates a program anew at each address that it finds it at (norandmaps).
accel=${ACCEL:-tcg} more=
case $accel in
tcg) accel='tcg,thread=multi' cpu='max,-erms,-fsrm' more=norandmaps ;;
*) cpu=host ;;
esac
# Emulated, a guest's counter is this machine's. The kernel would measure its rate against timers that the emulator
# serves late on a busy machine, and was seen to take 47 MHz for 2596: its clock was 54 times too fast.
tsc_khz() {
	local program=$BUILD/tsc_khz
	[ "$program" -nt "$TOP/scripts/guest/tsc_khz.cc" ] || {
		clang++ -std=c++20 -O1 -o "$program.$$" "$TOP/scripts/guest/tsc_khz.cc" && mv "$program.$$" "$program"
	}
	"$program"
}
[ "$accel" = "${accel#tcg}" ] || more="$more tsc_early_khz=$(tsc_khz)"
clock=
[ -z "${ICOUNT:-}" ] || accel=tcg,thread=single cpu=max more=norandmaps clock='-icount shift=0,sleep=off'

# boot COMMAND...: ttyS0 is the kernel's log, ttyS1 what the command prints
boot() {
	guest_command "$results" "$@"
	rc=0
	# shellcheck disable=SC2086 # $clock is words, or nothing
	timeout --foreground -k 5 "$limit" qemu-system-x86_64 $clock \
		-machine q35 -accel "$accel" -cpu "$cpu" -smp "${CPUS:-2}" -m "${MEM:-2G}" \
		-nodefaults -display none -no-reboot \
		-serial "file:$results/console.log" -serial stdio \
		-kernel "$TREE/boot/vmlinuz-$(tree_kver)" -initrd "$initramfs" \
		-append "console=ttyS0 loglevel=5 log_buf_len=4M panic=-1 oops=panic tsc=reliable mitigations=off $more ${KERNEL_ARGS:-}" \
		-virtfs "local,path=$TREE,mount_tag=root,security_model=none,readonly=on,multidevs=remap" \
		-virtfs "local,path=$TOP,mount_tag=src,security_model=none,readonly=on,multidevs=remap" \
		-virtfs "local,path=$results,mount_tag=results,security_model=none,multidevs=remap" \
		</dev/null || rc=$?
}

# emulator_fault: the kernel stumbled over its own text patching, which is an Oops and so its end. While it
# patches, it puts a breakpoint in the way of other CPUs; with one thread per CPU the emulator may still run
# the old translation, or the breakpoint when it is gone again. Seen about once in 40 boots; no driver can
# cause an int3.
emulator_fault() {
	[ ! -s "$results/status" ] && grep -aq 'Oops: int3' "$results/console.log"
}

boot "$@"
for again in 2 3; do
	emulator_fault || break
	echo "# retry: the emulator failed (int3 in the kernel's own text); boot $again" >&2
	boot "$@"
done
guest_verdict "$results" "$rc" "$limit"
