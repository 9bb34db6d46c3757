#!/bin/bash
# qperf: its RDMA tests by rdma_cm, for a short time each, and the two that verify what the atomics did.
. "$(dirname "$0")/lib.sh"

hosts_up
# neighbours are known: who waits for an address is not what is tested
on_a ping -qc 1 $IP_B >"$WORK/ping"
PORT=19765 server qperf on_b qperf

# measure TEST [OPTION...]: for two seconds; it ends, and each figure that it prints is above zero
measure() {
	local test=$1
	shift
	ok "$test $*" on_a qperf $IP_B -cm1 -t 2 -to 30 -uu -un "$@" "$test"
	report "$(figures_bad)" "$test $*: figures" "$WORK/out"
}

# figures_bad: 0 if there is a figure "name = number", and each is above zero; else 1.
figures_bad() {
	awk '$2 == "=" { n++; if (!($3 + 0 > 0)) bad = 1 } END { print !(n && !bad) }' "$WORK/out"
}

# A Send to which no receive is posted ends an iWARP connection, and qperf sends without asking: no more
# than the 1024 receives it begins with. rc_bi_bw knows no such limit, so it is left out.
for size in 1 1429 65536; do
	measure rc_bw -m $size --no_msgs 1000
	measure rc_lat -m $size
	measure rc_rdma_write_bw -m $size
done
# It posts 1024 reads before it looks for completions: large ones would take all of its time here.
measure rc_rdma_read_bw -m 1
measure rc_rdma_read_bw -m 512
measure rc_rdma_read_bw -m 512 -nr 1
measure rc_rdma_read_lat -m 65536
measure rc_rdma_write_lat -m 4096
measure rc_rdma_write_poll_lat -m 4096
# polling instead of sleeping, data looked at, roles exchanged
measure rc_bw -m 4096 --no_msgs 1000 -cp1
measure rc_lat -m 4096 -cp1 -ar1
measure rc_bw -m 4096 --no_msgs 1000 -f1

measure rc_compare_swap_mr
measure rc_fetch_add_mr
measure ver_rc_compare_swap
measure ver_rc_fetch_add

stop qperf
done_testing
