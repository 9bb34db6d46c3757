#!/bin/bash
# nvme-removal: the device, and its netdev, go while the kernel's NVMe host and target use them, idle and
# with a disk in use. Removal comes to its end, nothing is left, and all works again afterwards.
# Timeout: 600
. "$(dirname "$0")/lib.sh"

NQN=nqn.2026-11.test:kwarp
IP=192.0.2.1
TARGET=/sys/kernel/config/nvmet
SUBSYS=$TARGET/subsystems/$NQN
NVME_PORT=$TARGET/ports/1

target_up() {
	truncate -s 64M "$WORK/disk" || return 1
	mkdir -p "$SUBSYS/namespaces/1" "$NVME_PORT" || return 1
	echo 1 >"$SUBSYS/attr_allow_any_host"
	echo -n "$WORK/disk" >"$SUBSYS/namespaces/1/device_path"
	echo 1 >"$SUBSYS/namespaces/1/enable" || return 1
	echo rdma >"$NVME_PORT/addr_trtype"
	echo ipv4 >"$NVME_PORT/addr_adrfam"
	echo "$IP" >"$NVME_PORT/addr_traddr"
	echo 4420 >"$NVME_PORT/addr_trsvcid"
	ln -s "$SUBSYS" "$NVME_PORT/subsystems/$NQN"
}

target_down() {
	rm -f "$NVME_PORT/subsystems/$NQN"
	echo 0 >"$SUBSYS/namespaces/1/enable"
	rmdir "$NVME_PORT" "$SUBSYS/namespaces/1" "$SUBSYS"
}

# disk: the namespace's block device; nothing else will do, least of all a file made by its name
disk() {
	local dev
	for dev in /dev/nvme*n1; do
		[ ! -b "$dev" ] || { echo "$dev"; return 0; }
	done
	return 1
}

write_and_compare() {
	local dev
	dev=$(disk) || return 1
	dd if=/dev/urandom of="$WORK/data" bs=64k count=64 status=none &&
		dd if="$WORK/data" of="$dev" bs=64k oflag=direct status=none &&
		dd if="$dev" of="$WORK/back" bs=64k count=64 iflag=direct status=none &&
		cmp "$WORK/data" "$WORK/back"
}

# nvme_modules: those of both sides
nvme_modules() {
	must modprobe kwarp
	must modprobe dummy
	must modprobe nvmet-rdma
	must modprobe nvme-rdma
}

# dummy_up: a netdev with the target's address
dummy_up() {
	must ip link add dummy0 type dummy
	must ip addr add "$IP/24" dev dummy0
	must ip link set dummy0 up
}

nvme_connect() { nvme connect -t rdma -a "$IP" -s 4420 -n "$NQN" -i 2 "$@"; }

gone() { [ ! -d /sys/class/infiniband/kwarp0 ]; }
no_disk() { ! disk; }
link_up() { rdma link add kwarp0 type kwarp netdev dummy0; }
# what it cannot do any more an NVMe host gives up at once
connect() { nvme_connect --ctrl-loss-tmo=0; }
# the target has no listener any more when its device went: an administrator's part
listen_again() { rm -f "$NVME_PORT/subsystems/$NQN" && ln -s "$SUBSYS" "$NVME_PORT/subsystems/$NQN"; }

# ready NAME: device, target, connection, disk
ready() {
	if gone; then
		must link_up
		must listen_again
	fi
	ok "$1: host connects" wait_for 20 connect
	ok "$1: the disk is there" wait_for 10 disk || bail 'no disk'
}

# in_use: traffic until the disk goes
in_use() {
	server load on_a fio --name=load --filename="$(disk)" --direct=1 --ioengine=libaio --iodepth=16 --rw=randrw \
		--bsrange=4k-128k --size=32M --time_based --runtime=300 --eta=never
	wait_for 20 moving
}
moving() {
	local before after
	before=$(cat /sys/class/infiniband/kwarp0/ports/1/hw_counters/tx_octets)
	sleep 0.2
	after=$(cat /sys/class/infiniband/kwarp0/ports/1/hw_counters/tx_octets)
	[ $((after - before)) -gt 100000 ]
}
# it ends by itself, with or without an error of its disk
load_ends() { finish load 60; [ $? -ne 124 ]; }

must ip netns add hostA
nvme_modules
dummy_up
must link_up
ok 'target listens' target_up

ready 'idle'
ok 'idle: link delete' rdma link delete kwarp0
ok 'idle: the disk goes' wait_for 20 no_disk

ready 'in use'
ok 'in use: traffic' in_use
ok 'in use: link delete' rdma link delete kwarp0
ok 'in use: the disk goes' wait_for 20 no_disk
ok 'in use: the program learns of it' load_ends

ready 'netdev'
ok 'netdev: traffic' in_use
ok 'netdev: ip link delete' ip link delete dummy0
ok 'netdev: the device goes' wait_for 20 gone
ok 'netdev: the disk goes' wait_for 20 no_disk
ok 'netdev: the program learns of it' load_ends
dummy_up

ready 'again'
ok 'again: written, read back, equal' write_and_compare
ok 'again: host disconnects' nvme disconnect -n "$NQN"
ok 'target stops' target_down
ok 'link delete' rdma link delete kwarp0
must modprobe -r nvme-rdma
must modprobe -r nvmet-rdma
ok 'module unloads' rmmod kwarp
done_testing
