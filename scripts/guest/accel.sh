# shellcheck shell=bash
# accel.sh: determines whether QEMU can use KVM on this machine. Sourced by kwarp-vm and demo.sh.
#
#	accel_that_works [VMLINUZ [again]]	prints "kvm" or "tcg"; a reason goes to standard
#						error
#
# The existence of /dev/kvm is not sufficient: on a machine that is itself a guest, QEMU may fail
# with /dev/kvm, or a kernel may stop in the middle of its boot. So a kernel is booted as a test;
# its only program prints a message. VMLINUZ is this kernel, by default the newest of the tree, if
# there is one, or of /boot. The result is stored until the machine boots again or QEMU changes;
# with "again" a stored failure is not used.

# Tests replace this file.
ACCEL_KVM=${ACCEL_KVM:-/dev/kvm}
# Time limit in seconds. A kernel without devices boots in a second, on a busy machine later.
ACCEL_LIMIT=${ACCEL_LIMIT:-20}

# accel_store: prints the name of the file with the result; fails if there is no place for it
accel_store() {
	local cache=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
	[ -n "$cache" ] && mkdir -p "$cache/kwarp-vm" 2>/dev/null || return
	echo "$cache/kwarp-vm/accel-$({
		cat /proc/sys/kernel/random/boot_id
		qemu-system-x86_64 --version
	} | sha256sum | cut -c 1-24)"
}

# accel_kernel: prints the file of a kernel for the test
accel_kernel() {
	local kernels=("${TREE:-/nowhere}"/boot/vmlinuz-* "${TREE:-/nowhere}"/lib/modules/*/vmlinuz
		/boot/vmlinuz-*) kernel
	while read -r kernel; do
		[ ! -r "$kernel" ] || { echo "$kernel"; return; }
	done < <(printf '%s\n' "${kernels[@]}" | sort -Vr)
	return 1
}

# accel_boots VMLINUZ FOLDER: tests whether a guest with KVM starts its first program. Ends the
# emulator as soon as the result is known. QEMU's output is in FOLDER/said. Sets $pid.
accel_boots() {
	local vmlinuz=$1 work=$2 tenths rc=1
	mkdir -p "$work/root/bin"
	cp "$(command -v busybox)" "$work/root/bin/busybox"
	printf '#!/bin/busybox sh\necho kwarp: alive\n/bin/busybox poweroff -f\n' >"$work/root/init"
	chmod +x "$work/root/init"
	(cd "$work/root" && find . | cpio -o -H newc --quiet) >"$work/initramfs" || return
	: >"$work/console"
	qemu-system-x86_64 -machine q35 -accel kvm -cpu host -m 256M -nodefaults -display none \
		-no-reboot -serial "file:$work/console" -kernel "$vmlinuz" \
		-initrd "$work/initramfs" -append 'console=ttyS0 panic=-1' \
		</dev/null >"$work/said" 2>&1 &
	pid=$!
	for ((tenths = 0; tenths < 10 * ACCEL_LIMIT; tenths++)); do
		sleep 0.1
		! grep -aq '^kwarp: alive' "$work/console" || { rc=0; break; }
		! grep -aq 'internal error' "$work/said" || break
		kill -0 $pid 2>/dev/null || break
	done
	# QEMU may have ended between the two checks above.
	! grep -aq '^kwarp: alive' "$work/console" || rc=0
	{ kill -9 $pid && wait $pid; } 2>/dev/null || :
	pid=
	[ -s "$work/said" ] || echo "no program ran within $ACCEL_LIMIT s" >"$work/said"
	return $rc
}

# accel_probe VMLINUZ: prints "kvm", or "tcg" and the reason. A signal ends this subshell, too.
accel_probe() (
	pid=
	for command in qemu-system-x86_64 busybox cpio; do
		command -v $command >/dev/null || {
			echo "tcg there is no $command to try KVM"
			exit
		}
	done
	[ -r "$1" ] || { echo 'tcg there is no kernel that can be read to try KVM'; exit; }
	work=$(mktemp -d) || exit
	trap '[ -z "$pid" ] || kill -9 "$pid"; rm -rf "$work"' EXIT
	if accel_boots "$1" "$work"; then
		echo kvm
	else
		echo "tcg /dev/kvm does not work: $({ grep -v ' warning: ' "$work/said" ||
			cat "$work/said"; } | head -n 1 | cut -c 1-120)"
	fi
)

# accel_that_works [VMLINUZ [again]]
accel_that_works() {
	local answer store='' stored=
	if [ ! -e "$ACCEL_KVM" ]; then
		answer='tcg there is no /dev/kvm'
	elif [ ! -w "$ACCEL_KVM" ]; then
		answer='tcg this user may not write to /dev/kvm: as root, chmod a+rw /dev/kvm'
	else
		store=$(accel_store) || store=
		answer=$(cat "${store:-/nowhere}" 2>/dev/null) || answer=
		case ${2:-}$answer in
		againtcg*) answer= ;;
		tcg*) stored="; this result is stored in $store, remove it to try again" ;;
		esac
		[ -n "$answer" ] || {
			answer=$(accel_probe "${1:-$(accel_kernel || :)}")
			case $answer in
			# A busy machine may be the cause.
			'tcg there is no'* | *': no program ran within '*) store= ;;
			esac
			[ -z "$store" ] || echo "$answer" >"$store" || :
		}
	fi
	[ "${answer%% *}" = kvm ] || echo "emulated, not KVM: ${answer#* }$stored" >&2
	echo "${answer%% *}"
}
