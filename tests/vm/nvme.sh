# shellcheck shell=bash
# Functions for the suites of NVMe over Fabrics; source this file after lib.sh: the kernel's target
# with one subsystem, and its disk.

NQN=nqn.2026-11.test:kwarp
TARGET=/sys/kernel/config/nvmet
SUBSYS=$TARGET/subsystems/$NQN

subsystem_up() {
	truncate -s 64M "$WORK/disk" || return 1
	mkdir -p "$SUBSYS/namespaces/1" || return 1
	echo 1 >"$SUBSYS/attr_allow_any_host"
	echo -n "$WORK/disk" >"$SUBSYS/namespaces/1/device_path"
	echo 1 >"$SUBSYS/namespaces/1/enable"
}

# port_up NUMBER ADDRESS: makes a port of the target that serves the subsystem
port_up() {
	local port=$TARGET/ports/$1
	mkdir "$port" || return 1
	echo rdma >"$port/addr_trtype"
	echo ipv4 >"$port/addr_adrfam"
	echo "$2" >"$port/addr_traddr"
	echo 4420 >"$port/addr_trsvcid"
	ln -s "$SUBSYS" "$port/subsystems/$NQN"
}

port_down() {
	rm -f "$TARGET/ports/$1/subsystems/$NQN" && rmdir "$TARGET/ports/$1"
}

subsystem_down() {
	echo 0 >"$SUBSYS/namespaces/1/enable"
	rmdir "$SUBSYS/namespaces/1" "$SUBSYS"
}

# disk: prints the block device of the NVMe namespace; ignores a regular file of that name, which a
# program may have made
disk() {
	local dev
	for dev in /dev/nvme*n1; do
		[ ! -b "$dev" ] || { echo "$dev"; return 0; }
	done
	return 1
}
no_disk() { ! disk; }

# disk_files: prints files that a program has made in place of the disk
disk_files() { find /dev -name 'nvme*' -type f; }
