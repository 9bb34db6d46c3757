#!/bin/bash
# demo.sh: "make demo". Compares Linux's siw and kwarp, starting on a bare Debian machine: makes the
# tree, builds both drivers, boots Debian 13 in QEMU and runs the same programs over each. The guest
# uses KVM if KVM works; otherwise its clock counts instructions, because figures measured by this
# machine's clock would depend on the load of the machine.
#
# Progress is one line on a terminal, rewritten for each step, and otherwise a line for each step.
. "$(dirname "$0")/lib.sh"
. "$TOP/scripts/guest/accel.sh"

doing=begin
columns=0
[ ! -t 1 ] || columns=$(stty size 2>/dev/null </dev/tty | cut -d' ' -f2) || columns=0
[ ! -t 1 ] || [ "${columns:-0}" -gt 0 ] || columns=80

# show: rewrites the progress line
show() {
	local text
	text=$(printf '[%4ds] %s' "$SECONDS" "$doing")
	printf '\r\033[K%s' "${text:0:$((columns - 1))}"
}

# busy TEXT: reports the beginning of a step
busy() {
	doing=$1
	if [ "$columns" -gt 0 ]; then
		show
	else
		printf '[%4ds] %s\n' "$SECONDS" "$doing"
	fi
}

# stays TEXT: prints a line that stays above the progress line
stays() {
	[ "$columns" -eq 0 ] || printf '\r\033[K'
	printf '%s\n' "$1"
}

# watch: reads the output of a part. Lines of scripts ("[   3s] TEXT") and of the guest ("@ TEXT")
# report steps; other lines stay on the screen.
watch() {
	local part line='' status
	while :; do
		status=0
		IFS= read -r -t 1 part || status=$?
		line+=$part
		if [ $status -gt 128 ]; then
			[ "$columns" -eq 0 ] || show
			continue
		fi
		case $line in
		'['*s']'\ *) busy "${line#*] }" ;;
		'@ '*) busy "${line#@ }" ;;
		'') ;;
		*) stays "$line" ;;
		esac
		line=
		[ $status -eq 0 ] || break
	done
	[ "$columns" -eq 0 ] || printf '\r\033[K'
}

# part COMMAND...: runs a part of the demo; a failure ends the demo
part() {
	local rc=0
	"$@" 2>&1 </dev/null | watch || rc=$?
	[ $rc -eq 0 ] || {
		echo "make demo: failed after $SECONDS s; the lines above have the reason" >&2
		exit 1
	}
}

initramfs() {
	"$TOP/scripts/guest/initramfs.sh" "$(tree_kver)" >/dev/null
}

# boot: runs the demo in a guest
boot() {
	export MEM=1G
	if [ "$accel" = kvm ]; then
		ACCEL=kvm guest
	else
		CPUS=1 ICOUNT=on guest KWARP_CLOCK=instructions
	fi
}

# guest [VARIABLE=VALUE]
guest() {
	"$TOP/scripts/guest/vm.sh" -t 900 -o "$results" \
		env "$@" scripts/guest/demo-guest.sh
}

# machine: prints the conditions of the figures
machine() {
	local kernel processors
	kernel=$(sed -n 's/^kernel=//p' "$results/machine")
	processors=$(sed -n 's/^processors=//p' "$results/machine")
	echo
	echo "Debian 13, Linux $kernel, processors: $processors, $([ "$accel" = kvm ] && echo KVM ||
		echo emulated). A ratio above 1 means that kwarp is better."
	[ "$accel" = kvm ] || echo 'Emulated, each instruction takes a nanosecond, and the load' \
		$'of this machine has no\neffect: the figures are low, only the ratio counts.'
}

# cleared: after a failure the logs stay
cleared() {
	local rc=$?
	rm -f "$results.accel"
	[ $rc -ne 0 ] || rm -rf "$results" "$results.lock"
}

need_root
# Another demo may run in this checkout.
results=$BUILD/results/demo-$$
mkdir -p "$BUILD/results"
trap cleared EXIT
part "$TOP/scripts/tree/setup"
command -v qemu-system-x86_64 >/dev/null ||
	fail 'no qemu-system-x86_64 on this machine: apt-get install --reinstall qemu-system-x86'
part "$TOP/scripts/tree/tree.sh"
part env NO_TESTS=1 "$TOP/scripts/build/stage.sh"
part initramfs
busy 'KVM or not'
accel=$(accel_that_works 2>"$results.accel")
[ ! -s "$results.accel" ] || stays "The guest's processor is $(cat "$results.accel")."
busy 'boot: Debian 13 in QEMU'
part boot
# Without a terminal, the rows are between progress lines: print the table.
[ "$columns" -gt 0 ] || {
	echo
	cat "$results/table"
}
machine
cat <<'NEXT'

What to type next:
    make install                         install on this machine; lists missing prerequisites
    kwarpctl up kwarp0 netdev eth0       then make a device on eth0
    make check                           run the tests, most in a debug kernel: 15 minutes
    less Documentation/guide.rst         first connection, tuning, NFS, NVMe, MPI, containers
    less Documentation/comparison.rst    features and figures of kwarp, siw and rxe
NEXT
