#!/bin/bash
# limits: tests/verbs, part "limits": what an unprivileged user may take, and that he gives it back; what the
# kernel takes for idle connections.
. "$(dirname "$0")/lib.sh"

hosts_up
# neighbours are known: who waits for an address is not what is tested
on_a ping -qc 1 $IP_B >"$WORK/ping"
mountpoint -q /sys/fs/cgroup || must mount -t cgroup2 none /sys/fs/cgroup
must sh -c 'echo +rdma >/sys/fs/cgroup/cgroup.subtree_control'
timeout -k 5 380 "$(dirname "$0")/../../build/verbs/limits" "$@"
