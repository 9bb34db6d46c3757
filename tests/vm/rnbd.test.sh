#!/bin/bash
# rnbd: a block device of one host on the other, by RNBD over RTRS, with the kernel's client and
# server. Both work in the initial namespace only, so both ends of the wire are there.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/storage.sh"

CONTROL=/sys/devices/virtual/rnbd-client/ctl/map_device
PATHS=/sys/class/rtrs-client/test/paths
DISK=/dev/rnbd0

map() {
	echo "sessname=test path=ip:$IP_A,ip:$IP_B device_path=$LOOP" >"$CONTROL" &&
		wait_for test -b "$DISK"
}
unmap() { echo normal >/sys/block/rnbd0/rnbd/unmap_device && wait_for gone; }
gone() { [ ! -e "$DISK" ] && [ ! -d "$PATHS" ]; }
path_is() { grep -qx "$1" "$PATHS"/*/state; }
disconnect() { echo 1 | tee "$PATHS"/*/disconnect && wait_for path_is disconnected; }
# If the first attempt fails, RTRS goes on after 10 s.
reconnect() {
	echo 1 | tee "$PATHS"/*/reconnect || echo 'the first attempt failed'
	wait_for path_is connected
}

modules_gone() {
	modprobe -r rnbd-client && modprobe -r rnbd-server
}

hosts_here
# The RDMA core misses an answer to its ARP request that arrives at once, and looks again only when
# its time is over, which is also the time that RTRS waits.
must on_a ping -qc 1 $IP_B
must modprobe loop
truncate -s 64M "$WORK/image"
LOOP=$(losetup --find --show "$WORK/image")

# A server that registers its buffers anew for each request (always_invalidate, the default) tells
# the client the new key by a Send with immediate data.
policy send_imm 1
must modprobe rtrs-server sess_queue_depth=64
must modprobe rnbd-server
must modprobe rnbd-client
ok 'the device is mapped' map || bail 'no disk'
is 'the device is mapped: its size' "$(blockdev --getsize64 $DISK)" $((64 << 20))
before=$(counter "$DEV_B" rx_octets)
ok 'written data read back unchanged' write_and_compare $DISK 8M 1M
ok 'the data went over RDMA' test $(($(counter "$DEV_B" rx_octets) - before)) -gt 8000000
ok 'single blocks read back unchanged' write_and_compare $DISK 64K 512
ok 'fio, 4 KiB, verified' fio_verify $DISK 4M --rw=randwrite --bs=4k
ok 'fio, 1 MiB, verified' fio_verify $DISK 32M --rw=write --bs=1M
ok 'fio, reads and writes of all sizes, verified' fio_verify $DISK 16M --rw=randrw \
	--bsrange=512-512k --bs_unaligned=0 --blockalign=512

ok 'path disconnected: load' load $DISK
ok 'path disconnected' disconnect
ok 'path disconnected: the load ends' load_is_over
ok 'path disconnected: connected again' reconnect
ok 'path disconnected: data' write_and_compare $DISK 8M 1M
# RTRS counts connections down by events that do not follow the removal of a device, so it waits for
# its timeout of 30 s now, at the next connection and at its end.
ok 'device removed: rdma link delete' rdma link delete "$DEV_A"
ok 'device removed: the path has noticed' wait_for path_is disconnected
ok 'device removed: the device is added again' rdma_link hostA "$DEV_A" "$DRIVER_A" vA
policy send_imm 1
ok 'device removed: connected again' reconnect
ok 'device removed: data' write_and_compare $DISK 8M 1M
ok 'unmapped' unmap
ok 'no object is left' wait_for no_qp

# Without always_invalidate only RDMA Writes have immediate data, as in RFC 7306.
ok 'modules unload' modules_gone
policy send_imm 0
must modprobe rtrs-server sess_queue_depth=64 always_invalidate=N
must modprobe rnbd-server
must modprobe rnbd-client
ok 'constant keys: the device is mapped' map
ok 'constant keys: data' write_and_compare $DISK 8M 1M
ok 'constant keys: fio, reads and writes of all sizes, verified' fio_verify $DISK 16M --rw=randrw \
	--bsrange=512-512k --bs_unaligned=0 --blockalign=512
ok 'constant keys: unmapped' unmap
ok 'modules unload again' modules_gone
losetup -d "$LOOP"
ok 'link delete' rdma link delete "$DEV_A"
ok 'link delete, the other' rdma link delete "$DEV_B"
ok 'kwarp unloads' wait_for rmmod kwarp
done_testing
