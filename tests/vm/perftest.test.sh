#!/bin/bash
# perftest: each program in its different uses of queue pairs, with few iterations. Each program
# must complete its transfers and exit; speed is not tested. perftest does not compare data; rping,
# qperf, libfabric and tests/verbs do.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perftest.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
on_a ping -qc 1 $IP6_B >"$WORK/ping"

# ---- every operation ----

for size in 1 65536; do
	perf ib_write_bw -n 50 -s $size
	perf ib_read_bw -n 50 -s $size
	perf ib_send_bw -n 50 -s $size
	perf ib_write_bw -n 50 -s $size --write_with_imm
done
perf ib_write_lat -n 50 -s 2
perf ib_write_lat -n 50 -s 64 --write_with_imm
perf ib_read_lat -n 50 -s 64
perf ib_send_lat -n 50 -s 4096
perf ib_atomic_bw -n 50 -A FETCH_AND_ADD
perf ib_atomic_bw -n 50 -A CMP_AND_SWAP
perf ib_atomic_lat -n 50

# every size from 2 bytes to 8 MiB
export LIMIT=120
perf ib_write_bw -n 5 -a
perf ib_read_bw -n 5 -a
perf ib_send_bw -n 5 -a
perf ib_write_lat -n 5 -s 8388608
unset LIMIT

# ---- queue pairs and queues ----

perf ib_write_bw -n 10 -s 512 -q 64 -t 16
perf ib_read_bw -n 10 -s 512 -q 64 -t 16
perf_by_number ib_send_bw -n 10 -s 512 -q 64 -t 16
# bidirectional
perf ib_write_bw -n 20 -s 65536 -q 4 -b
perf_by_number ib_send_bw -n 20 -s 65536 -q 4 -b
perf ib_read_bw -n 20 -s 8192 -q 4 -b
perf ib_atomic_bw -n 20 -q 4 -b
# Both ends read as fast as they can. Neither program may be stuck in the doorbell call, where it
# answers the requests of the other end, so that its own reads make no progress. A program that got
# no processor in two seconds gets ten times as long.
both_read() {
	[ "$(awk '$1 == 65536 { print ($2 > 0) }' "$WORK/client" "$WORK/perftest.log" |
		paste -sd' ')" = '1 1' ]
}
perf ib_read_bw -D 2 -s 65536 -Q 10 -b
both_read || {
	echo '# retry: ib_read_bw -b: no read of one end in two seconds'
	perf ib_read_bw -D "$(patience 20)" -s 65536 -Q 10 -b
}
both_read
report $? "each end's own reads progress" "$WORK/perftest.log"
# a shared receive queue with one queue pair; see Documentation/consumers.rst
perf ib_send_bw -n 50 -s 4096 --use-srq
perf ib_send_lat -n 50 -s 64 --use-srq
# one request at a time, many requests, lists of requests; a short receive queue
perf ib_write_bw -n 50 -s 4096 -t 1
perf ib_write_bw -n 600 -s 64 -t 512
perf ib_write_bw -n 64 -s 4096 -l 16
perf ib_read_bw -n 64 -s 4096 -l 16
perf ib_send_bw -n 64 -s 4096 -l 16 --recv_post_list=8
perf ib_read_bw -n 50 -s 4096 -o 1
perf ib_send_bw -n 50 -s 4096 -r 8
# for a duration instead of a number
perf ib_send_bw -D 1 -s 4096

# ---- ways to post and to wait ----

# Sleep instead of polling. Not ib_send_bw: its credits are RDMA Writes, which raise no event, so a
# sleeping sender does not notice the last one.
perf ib_read_bw -n 50 -s 8192 -b -e
perf ib_send_lat -n 50 -s 64 -e
# inline
perf ib_write_bw -n 50 -s 512 -I 512
perf ib_send_lat -n 50 -s 64 -I 64
perf ib_write_bw -n 20 -s 65536 -q 2 --mr_per_qp

ADDRESS=$IP6_B perf ib_write_bw -n 50 -s 65536 --ipv6-addr
done_testing
