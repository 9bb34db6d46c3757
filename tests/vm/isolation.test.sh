#!/bin/bash
# isolation: the program "isolation" of tests/verbs: how far one user, or a stranger on the network,
# can slow down the others.
# Clock: instructions
. "$(dirname "$0")/lib.sh"

TRACEFS=/sys/kernel/tracing
[ -e "$TRACEFS"/events ] || must mount -t tracefs tracefs "$TRACEFS"
hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
mountpoint -q /sys/fs/cgroup || must mount -t cgroup2 none /sys/fs/cgroup
must sh -c 'echo +rdma +memory >/sys/fs/cgroup/cgroup.subtree_control'
ulimit -n 65536
# Closed connections of the attackers would otherwise take memory for a minute (TIME_WAIT).
for host in hostA hostB; do
	must ip netns exec $host sysctl -qw net.ipv4.tcp_max_tw_buckets=64
done
# Without a way back, TCP drops the requests of half_open() (strangers.cc).
must ip -n hostB route add 10.1.0.0/16 via "$IP_A" dev vB
timeout -k 5 "$(patience 1100)" "$(dirname "$0")/../../build/verbs/isolation" "$@"
