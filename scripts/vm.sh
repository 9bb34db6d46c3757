#!/bin/bash
# vm.sh [-t SECONDS] [-o RESULTS] COMMAND [ARG...]: boot the tree's kernel in QEMU, run COMMAND
# inside, and end with its exit status.
#
# Inside: the Debian 13 tree with a throw-away overlay, this checkout read-only at /src (also the
# working directory), RESULTS (default build/results/vm, with -2, -3 for parallel runs) at /results for
# files to bring back.
# Also fails, with status 125, when the kernel complained, died, or took longer than SECONDS (600).
# MEM (2G), CPUS (2) and ACCEL (tcg; kvm where it works) come from the environment.
. "$(dirname "$0")/lib.sh"

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

initramfs=$("$TOP/scripts/initramfs.sh")
guest_results "$wanted"
guest_command "$results" "$@"

accel=${ACCEL:-tcg}
case $accel in
tcg) accel='tcg,thread=multi' cpu=max ;;
*) cpu=host ;;
esac

# ttyS0 is the kernel's log, ttyS1 what the command prints
rc=0
timeout --foreground -k 5 "$limit" qemu-system-x86_64 \
	-machine q35 -accel "$accel" -cpu "$cpu" -smp "${CPUS:-2}" -m "${MEM:-2G}" \
	-nodefaults -display none -no-reboot \
	-serial "file:$results/console.log" -serial stdio \
	-kernel "$TREE/boot/vmlinuz-$(tree_kver)" -initrd "$initramfs" \
	-append "console=ttyS0 loglevel=5 panic=-1 tsc=reliable mitigations=off ${KERNEL_ARGS:-}" \
	-virtfs "local,path=$TREE,mount_tag=root,security_model=none,readonly=on,multidevs=remap" \
	-virtfs "local,path=$TOP,mount_tag=src,security_model=none,readonly=on,multidevs=remap" \
	-virtfs "local,path=$results,mount_tag=results,security_model=none,multidevs=remap" \
	</dev/null || rc=$?
guest_verdict "$results" "$rc" "$limit"
