#!/bin/bash
# limits: the program "limits" of tests/verbs: how many objects and how much memory an unprivileged
# user may take, that all of it is freed, and how much memory idle connections cost the kernel.
. "$(dirname "$0")/lib.sh"

# limits so low that the cases can reach them
echo 'options kwarp max_pd=1200 max_cq=1200 max_qp=1200 max_srq=1200 max_mr=2000 max_mw=5000' \
	>/etc/modprobe.d/kwarp-limits.conf
hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
mountpoint -q /sys/fs/cgroup || must mount -t cgroup2 none /sys/fs/cgroup
must sh -c 'echo +rdma +memory >/sys/fs/cgroup/cgroup.subtree_control'
timeout -k 5 "$(patience 1100)" "$(dirname "$0")/../../build/verbs/limits" "$@"
