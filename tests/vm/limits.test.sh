#!/bin/bash
# limits: the part "limits" of tests/verbs: how much an unprivileged user may take, that all of it
# is given back, and what idle connections cost the kernel.
. "$(dirname "$0")/lib.sh"

# limits that are low enough to be reached
echo 'options kwarp max_pd=1200 max_cq=1200 max_qp=1200 max_srq=1200 max_mr=2000 max_mw=5000' \
	>/etc/modprobe.d/kwarp-limits.conf
hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
mountpoint -q /sys/fs/cgroup || must mount -t cgroup2 none /sys/fs/cgroup
must sh -c 'echo +rdma +memory >/sys/fs/cgroup/cgroup.subtree_control'
timeout -k 5 "$(patience 1100)" "$(dirname "$0")/../../build/verbs/limits" "$@"
