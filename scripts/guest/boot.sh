# shellcheck shell=bash
# boot.sh: boots x86-64 guests in QEMU. Sourced by vm.sh, whose guests have the tree as their root,
# and by kwarp-vm, whose guests may have any root.

share=local,security_model=none,multidevs=remap
log='loglevel=5 log_buf_len=4M panic=-1 oops=panic'

# Modules that the boot itself needs, in load order; those built into the kernel are left out.
BOOT_MODULES=(virtio virtio_ring virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci
	netfs 9pnet 9pnet_virtio 9p overlay)
DISK_MODULES=(crc32c_generic crc16 mbcache jbd2 ext4 virtio_blk)

# boot_module ROOT KVER NAME: prints the file of the module, if it exists
boot_module() {
	find "$1/lib/modules/$2/kernel" -name "$3.ko*" -print -quit
}

# unpack_modules ROOT KVER FOLDER NAME...: puts the existing modules into FOLDER, with names that
# sort in load order
unpack_modules() {
	local root=$1 kver=$2 folder=$3 name file n=10
	shift 3
	mkdir -p "$folder"
	for name; do
		file=$(boot_module "$root" "$kver" "$name")
		n=$((n + 1))
		case $file in
		'') ;;
		*.xz) xz -dc "$file" >"$folder/$n-$name.ko" ;;
		*.zst) zstd -qdc "$file" >"$folder/$n-$name.ko" ;;
		*.gz) gzip -dc "$file" >"$folder/$n-$name.ko" ;;
		*) cp "$file" "$folder/$n-$name.ko" ;;
		esac || return
	done
}

# make_initramfs ROOT KVER BUSYBOX OUT [ADD]: makes an initramfs for a kernel of ROOT; BUSYBOX is a
# static one. The contents of the folder ADD are added to the guest's root. The files are collected
# in OUT.d.
make_initramfs() {
	local root=$1 kver=$2 busybox=$3 out=$4 add=${5:-} files=$4.d rc=0
	rm -rf "$files"
	mkdir -p "$files"/{bin,proc,sys,dev,ro,src,rw,new} &&
		cp "$busybox" "$files/bin/busybox" && ln -s busybox "$files/bin/sh" &&
		install -m 755 "${BASH_SOURCE[0]%/*}/initramfs-init" "$files/init" &&
		unpack_modules "$root" "$kver" "$files/modules" "${BOOT_MODULES[@]}" &&
		unpack_modules "$root" "$kver" "$files/disk-modules" "${DISK_MODULES[@]}" &&
		{ [ -z "$add" ] || cp -R "$add" "$files/add"; } &&
		(cd "$files" && find . | cpio -o -H newc --quiet) | gzip -1 >"$out.new" &&
		mv "$out.new" "$out" || rc=1
	rm -rf "$files"
	return $rc
}

# use_accel kvm|tcg [TSC_KHZ]: sets $accel and $cpu for the emulator, and $more for the kernel.
#
# The emulator executes "rep movsb" and "rep stosb" byte by byte, so hide the CPU flags that make
# the kernel use them. It (7.2) loses the flags of cmpxchg16b if an interrupt follows immediately;
# this caused a double fault in SLUB, with a part of a pointer in EFLAGS. So the kernel shall not
# use it (clearcpuid); programs may, because Open MPI does without asking. It translates a program
# again for each load address, so disable address space randomization (norandmaps).
#
# The time stamp counter of an emulated guest is this machine's, with rate TSC_KHZ. The kernel would
# measure the rate against timers, which the emulator delivers late on a busy machine: once it
# computed 47 MHz instead of 2596, and its clock ran 54 times too fast.
use_accel() {
	accel=$1 more=
	case $accel in
	tcg)
		accel='tcg,thread=multi' cpu='max,-erms,-fsrm'
		more="norandmaps clearcpuid=cx16 ${2:+tsc_early_khz=$2}"
		;;
	*) cpu=host ;;
	esac
}

# add_share TAG PATH [readonly]: adds a folder to $options; a comma in an option is doubled
add_share() {
	options+=(-virtfs "$share,path=${2//,/,,},mount_tag=$1${3:+,readonly=on}")
}

# guest_emulator VMLINUZ INITRAMFS LOGS LIMIT: sets $emulator to the command that boots a guest:
# ttyS0 has the kernel's log, LOGS/console.log, ttyS1 the output of the command. $options has
# further options of the emulator, among them the shares "root" and "results". $CPUS, $MEM and
# $KERNEL_ARGS come from the environment.
# shellcheck disable=SC2034 # for those who source this
guest_emulator() {
	emulator=(timeout --foreground -k 5 "$4" qemu-system-x86_64
		-machine q35 -accel "$accel" -cpu "$cpu" -smp "${CPUS:-2}" -m "${MEM:-2G}"
		-nodefaults -display none -no-reboot
		-serial "file:${3//,/,,}/console.log" -serial stdio
		-kernel "$1" -initrd "$2"
		-append "console=ttyS0 $log tsc=reliable mitigations=off $more ${KERNEL_ARGS:-}"
		"${options[@]}")
}

# emulator_fault RESULTS [OWN]: tests whether the kernel died of an Oops in its own text patching;
# the console's log is in OWN (RESULTS). While the kernel patches, it sets a breakpoint for the
# other CPUs; with one thread per CPU the emulator may still execute the old translation, or the
# removed breakpoint. This happens about once in 40 boots; no driver can cause an int3.
emulator_fault() {
	[ ! -s "$1/status" ] && grep -aq 'Oops: int3' "${2:-$1}/console.log"
}
