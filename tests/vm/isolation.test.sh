#!/bin/bash
# isolation: the part "isolation" of tests/verbs: what one user or stranger does to the others.
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
# The attackers' closed connections would take memory for a minute.
for host in hostA hostB; do
	must ip netns exec $host sysctl -qw net.ipv4.tcp_max_tw_buckets=64
done
timeout -k 5 "$(patience 1100)" "$(dirname "$0")/../../build/verbs/isolation" "$@"
