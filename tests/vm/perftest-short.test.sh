#!/bin/bash
# perftest-short: runs each program of perftest once, for kernels in which vm-perftest takes too
# long.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/perftest.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"

for program in ib_write_bw ib_read_bw ib_send_bw; do
	perf $program -n 50 -s 65536
done
perf ib_write_bw -n 20 -s 4096 -q 8 -t 16
perf ib_read_bw -n 20 -s 4096 -q 8 -t 16
perf_by_number ib_send_bw -n 20 -s 4096 -q 8 -t 16
for program in ib_write_lat ib_read_lat ib_send_lat; do
	perf $program -n 50 -s 64
done
perf ib_atomic_bw -n 50 -A FETCH_AND_ADD
perf ib_atomic_lat -n 50
done_testing
