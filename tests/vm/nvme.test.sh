#!/bin/bash
# nvme: NVMe over Fabrics, host and target in one kernel. These consumers in the kernel use fast
# registration, Send with Invalidate, local invalidation, and RDMA Read into registered memory. The
# first part has host and target on one device; the second has the wire between two devices, and
# connections that are lost. Host and target work in the initial namespace only.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/storage.sh"
. "$(dirname "$0")/nvme.sh"

ALONE=192.0.2.1

# is_state STATE: true if the only controller has that state
is_state() { grep -qx "$1" /sys/class/nvme/nvme*/state; }
not_live() { ! is_state live; }

# queues DEVICE: prints the number of queue pairs of the device
queues() {
	rdma resource show qp | grep -c "link $1/.*state RTS"
}

# connect [OPTION...]: connects with two queues for writing, one for reading, one for polling,
# besides the admin queue
connect() {
	nvme connect -t rdma -a "$IP_B" -w "$IP_A" -s 4420 -n "$NQN" --nr-io-queues=1 \
		--nr-write-queues=2 --nr-poll-queues=1 \
		--keep-alive-tmo="$(patience 5)" --reconnect-delay=1 \
		--ctrl-loss-tmo="$(patience 600)" "$@"
}

# writes NUMBER SIZE: writes to the disk, and sets FPDUS to the number of FPDUs that the target sent
# meanwhile
writes() {
	local before
	before=$(counter "$DEV_B" tx_fpdus)
	dd if=/dev/zero of="$(disk)" bs="$2" count="$1" oflag=direct conv=notrunc,nocreat \
		status=none || return 1
	FPDUS=$(($(counter "$DEV_B" tx_fpdus) - before))
	echo "$FPDUS FPDUs"
}
FPDUS=

wire_cut() { ip link set vB down; }
wire_mended() { ip link set vB up && here_routes; }

# ---- one device, host and target on it ----

drivers_load
must modprobe dummy
must modprobe nvmet-rdma
must modprobe nvme-rdma
must ip link add dummy0 type dummy
must ip addr add $ALONE/24 dev dummy0
must ip link set dummy0 up
must rdma link add kwarp0 type kwarp netdev dummy0

ok 'subsystem' subsystem_up
ok 'alone: target listens' port_up 1 $ALONE
ok 'alone: host connects' nvme connect -t rdma -a $ALONE -s 4420 -n $NQN -i 2
ok 'alone: the disk is there' wait_for disk || bail 'no disk'
ok 'alone: written data read back unchanged' write_and_compare "$(disk)" 4M 64k
ok 'alone: host disconnects' nvme disconnect -n $NQN
ok 'alone: target stops' port_down 1
ok 'alone: no queue pair is left' wait_for sh -c '! rdma resource show qp | grep -q kwarp0'
ok 'alone: link delete' rdma link delete kwarp0
must ip link delete dummy0

# ---- two devices, the wire between them ----

hosts_here
ok 'target listens' port_up 1 $IP_B
ok 'discovery' nvme discover -t rdma -a $IP_B -s 4420
has 'discovery: finds the subsystem' "$NQN"
ok 'host connects' connect
ok 'the disk is there' wait_for disk || bail 'no disk'
is 'queues of the host' "$(queues "$DEV_A")" 5
is 'queues of the target' "$(queues "$DEV_B")" 5

# Data of a write that fits goes into the capsule, and the target sends one FPDU, its answer. For
# longer data the target also sends an RDMA Read Request. Answers to keep-alives, one every few
# seconds, are counted, too.
ok 'in-capsule: 64 writes of 4 KiB' writes 64 4k
ok 'in-capsule: the target issues no Reads' test "$FPDUS" -ge 64 -a "$FPDUS" -lt 128
ok 'not in-capsule: 64 writes of 32 KiB' writes 64 32k
ok 'not in-capsule: the target reads' test "$FPDUS" -ge 128 -a "$FPDUS" -lt 192
ok 'in-capsule: written data read back unchanged' write_and_compare "$(disk)" 256k 4k
ok 'long: written data read back unchanged' write_and_compare "$(disk)" 8M 1M
ok 'fio, in-capsule, verified' fio_verify "$(disk)" 4M --rw=randwrite --bs=4k --numjobs=2 \
	--offset_increment=8M
ok 'fio, 1 MiB, verified' fio_verify "$(disk)" 32M --rw=write --bs=1M
ok 'fio, reads and writes of all sizes, verified' fio_verify "$(disk)" 16M --rw=randrw \
	--bsrange=4k-512k
ok 'fio, polled queue, verified' fio_verify "$(disk)" 4M --rw=randwrite --bs=16k \
	--ioengine=pvsync2 --hipri

ok 'wire is cut: load' load "$(disk)"
ok 'wire is cut' wire_cut
ok 'wire is cut: the host notices' wait_for not_live
ok 'wire is restored' wire_mended
ok 'wire is restored: the host reconnects' wait_for is_state live
ok 'wire is restored: the load succeeds' load_ends_well

ok 'port removed: load' load "$(disk)"
ok 'port removed' port_down 1
ok 'port removed: the host notices' wait_for not_live
ok 'port removed: the disk waits' disk
ok 'port added' port_up 1 $IP_B
ok 'port added: the host reconnects' wait_for is_state live
ok 'port added: the load succeeds' load_ends_well

ok 'target device removed: load' load "$(disk)"
ok 'target device removed' rdma link delete "$DEV_B"
ok 'target device removed: the host notices' wait_for not_live
ok 'target device added' rdma_link hostB "$DEV_B" "$DRIVER_B" vB
port_down 1
ok 'target device added: port' port_up 1 $IP_B
ok 'target device added: the host reconnects' wait_for is_state live
ok 'target device added: the load succeeds' load_ends_well

ok 'disconnect under load: load' load "$(disk)"
ok 'disconnect under load' nvme disconnect -n $NQN
ok 'disconnect under load: the load ends' load_is_over
ok 'disconnect under load: the disk is gone' wait_for no_disk

ok 'host device removed: host connects' connect
ok 'host device removed: the disk is there' wait_for disk
ok 'host device removed: load' load "$(disk)"
ok 'host device removed' rdma link delete "$DEV_A"
ok 'host device removed: the load ends' load_is_over
ok 'host device removed: the disk is gone' wait_for no_disk
is 'no file is left in the place of the disk' "$(disk_files)" ''

ok 'target stops' port_down 1
ok 'subsystem is removed' subsystem_down
ok 'no object is left' wait_for no_object
ok 'link delete' rdma link delete "$DEV_B"
must modprobe -r nvme-rdma
must modprobe -r nvmet-rdma
ok 'module unloads' wait_for rmmod kwarp
done_testing
