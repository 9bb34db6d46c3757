#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Devices are added and removed by "rdma link", and removed with their netdev or network namespace.
. "$(dirname "$0")/lib.sh"
needs ip rdma
plan 14

netns=kwarp-link-$$
cleanup() {
	rdma link delete kwarp-a 2>/dev/null
	ip netns del "$netns" 2>/dev/null
}
trap cleanup EXIT

there() { [ -d "/sys/class/infiniband/$1/kwarp" ]; }
gone() { [ ! -e "/sys/class/infiniband/$1" ]; }
# A device is removed half a second after its netdev, so that consumers get their events before.
gone_soon() {
	tries=0
	until gone "$1"; do
		tries=$((tries + 1))
		[ "$tries" -le 30 ] || return 1
		sleep 1
	done
}
in_netns() { ip netns exec "$netns" "$@"; }

ip netns add "$netns"
in_netns ip link add dummy0 type dummy
in_netns ip link add dummy1 type dummy
in_netns ip link set dummy0 up

ok 'add' in_netns rdma link add kwarp-a type kwarp netdev dummy0
ok 'the device exists' there kwarp-a
fails 'a second one on the netdev' 'File exists' \
	in_netns rdma link add kwarp-b type kwarp netdev dummy0
fails 'a name that is taken' 'Too many open files' \
	in_netns rdma link add kwarp-a type kwarp netdev dummy1
fails 'no such netdev' 'No such device' in_netns rdma link add kwarp-b type kwarp netdev nosuch
fails 'no such type' 'Invalid argument' in_netns rdma link add kwarp-b type nosuch netdev dummy1
ok 'none of these devices exists' gone kwarp-b
ok 'delete' rdma link delete kwarp-a
ok 'the device is gone' gone kwarp-a
ok 'add again' in_netns rdma link add kwarp-a type kwarp netdev dummy0
ok 'the netdev is deleted' in_netns ip link del dummy0
ok 'the device is removed with the netdev' gone_soon kwarp-a
in_netns rdma link add kwarp-a type kwarp netdev dummy1
ok 'the network namespace is deleted' ip netns del "$netns"
ok 'the device is removed with the namespace' gone_soon kwarp-a
finish
