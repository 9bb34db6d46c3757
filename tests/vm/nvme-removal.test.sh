#!/bin/bash
# nvme-removal: the device, or its netdev, is removed while the kernel's NVMe host and target use
# it, once idle and once with a disk in use. The removal must complete and leave no object, and a
# new device must work afterwards.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/storage.sh"
. "$(dirname "$0")/nvme.sh"

IP=192.0.2.1

# nvme_modules: loads the modules of host and target
nvme_modules() {
	must modprobe kwarp
	must modprobe dummy
	must modprobe nvmet-rdma
	must modprobe nvme-rdma
}

# dummy_up: makes a netdev with the address of the target. verdict.sh knows its name.
dummy_up() {
	must ip link add nvmegone0 type dummy
	must ip addr add "$IP/24" dev nvmegone0
	must ip link set nvmegone0 up
}

gone() { [ ! -d /sys/class/infiniband/kwarp0 ]; }
link_up() { rdma link add kwarp0 type kwarp netdev nvmegone0; }
# connect: connects an NVMe host that gives up its controller at once when the connection is lost,
# but not if the host gets no processor for a while
connect() {
	nvme connect -t rdma -a "$IP" -s 4420 -n "$NQN" -i 2 --ctrl-loss-tmo=0 \
		--keep-alive-tmo="$(patience 60)"
}
# listen_again: the target lost its listener with the device; an administrator has to restore it
listen_again() { port_down 1 && port_up 1 "$IP"; }

# ready NAME: sets up device, target, connection and disk
ready() {
	if gone; then
		must link_up
		must listen_again
	fi
	ok "$1: host connects" wait_for connect
	ok "$1: the disk is there" wait_for disk || bail 'no disk'
}

# in_use: starts traffic that lasts until the disk is removed
in_use() {
	local before
	before=$(counter kwarp0 tx_octets)
	server load on_a fio --name=load --filename="$(disk)" --allow_file_create=0 --direct=1 \
		--ioengine=libaio --iodepth=16 \
		--rw=randrw --bsrange=4k-128k --size=32M --time_based --runtime=1d --eta=never
	wait_for moved $((before + 1000000))
}
moved() { [ "$(counter kwarp0 tx_octets)" -gt "$1" ]; }
# load_ends: true if the program exits by itself, with or without an error of its disk
load_ends() { finish load; [ $? -ne 124 ]; }

must ip netns add hostA
nvme_modules
dummy_up
must link_up
ok 'subsystem' subsystem_up
ok 'target listens' port_up 1 "$IP"

ready 'idle'
ok 'idle: link delete' rdma link delete kwarp0
ok 'idle: the disk is removed' wait_for no_disk

ready 'in use'
ok 'in use: traffic' in_use
ok 'in use: link delete' rdma link delete kwarp0
ok 'in use: the disk is removed' wait_for no_disk
ok 'in use: the program is notified' load_ends

ready 'netdev'
ok 'netdev: traffic' in_use
ok 'netdev: ip link delete' ip link delete nvmegone0
# "ip link delete" waits for the last reference, until the NVMe host has given up; the network stack
# logs this every ten seconds, and verdict.sh ignores these messages.
echo "# messages about references to the netdev:" \
	"$(dmesg | grep -c 'waiting for nvmegone0 to become free')"
ok 'netdev: the device is removed' wait_for gone
ok 'netdev: the disk is removed' wait_for no_disk
ok 'netdev: the program is notified' load_ends
dummy_up

is 'no file is left in the place of the disk' "$(disk_files)" ''

ready 'again'
ok 'again: written data read back unchanged' write_and_compare "$(disk)" 4M 64k
ok 'again: host disconnects' nvme disconnect -n "$NQN"
ok 'target stops' port_down 1
ok 'subsystem is removed' subsystem_down
ok 'link delete' rdma link delete kwarp0
must ip link delete nvmegone0
must modprobe -r nvme-rdma
must modprobe -r nvmet-rdma
ok 'module unloads' wait_for rmmod kwarp
done_testing
