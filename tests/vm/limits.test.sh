#!/bin/bash
# limits: tests/verbs, part "limits": what an unprivileged user may take, and that he gives it back; what the
# kernel takes for idle connections.
. "$(dirname "$0")/lib.sh"

# numbers of objects that can be reached
echo 'options kwarp max_pd=1200 max_cq=1200 max_qp=1200 max_srq=1200 max_mr=2000 max_mw=5000' >/etc/modprobe.d/kwarp-limits.conf
hosts_up
# neighbours are known: who waits for an address is not what is tested
on_a ping -qc 1 $IP_B >"$WORK/ping"
mountpoint -q /sys/fs/cgroup || must mount -t cgroup2 none /sys/fs/cgroup
must sh -c 'echo +rdma +memory >/sys/fs/cgroup/cgroup.subtree_control'
timeout -k 5 380 "$(dirname "$0")/../../build/verbs/limits" "$@"
