#!/bin/bash
# nvme: NVMe over Fabrics, host and target in one kernel. The kernel's consumers of verbs: fast
# registration, Send with Invalidate, local invalidation, RDMA Read into registered memory.
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

verify() {
	local dev
	dev=$(disk) || return 1
	fio --name=v --filename="$dev" --direct=1 --ioengine=libaio --iodepth=8 --rw=randwrite --bsrange=4k-128k \
		--size=8M --verify=crc32c --do_verify=1 --verify_fatal=1
}

must modprobe kwarp
must modprobe dummy
must modprobe nvmet-rdma
must modprobe nvme-rdma
must ip link add dummy0 type dummy
must ip addr add $IP/24 dev dummy0
must ip link set dummy0 up
must rdma link add kwarp0 type kwarp netdev dummy0

ok 'target listens' target_up
ok 'host connects' nvme connect -t rdma -a $IP -s 4420 -n $NQN -i 2
ok 'the disk is there' wait_for 10 disk || bail 'no disk'
ok 'written, read back, equal' write_and_compare
LIMIT=100 ok 'fio: random writes, verified' verify
ok 'host disconnects' nvme disconnect -n $NQN
ok 'target stops' target_down
run rdma -j resource show qp
ok 'no queue pair is left' wait_for 10 sh -c '! rdma resource show qp | grep -q kwarp0'
ok 'link delete' rdma link delete kwarp0
must ip link delete dummy0
must modprobe -r nvme-rdma
must modprobe -r nvmet-rdma
ok 'module unloads' rmmod kwarp
done_testing
