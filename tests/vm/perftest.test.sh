#!/bin/bash
# perftest: each program through its ways of using a queue pair, with few iterations. It moves what it
# says, and ends; how fast is another question.
# Timeout: 600
. "$(dirname "$0")/lib.sh"

hosts_up
# neighbours are known: who waits for an address is not what is tested
on_a ping -qc 1 $IP_B >"$WORK/ping"
on_a ping -qc 1 $IP6_B >"$WORK/ping"

# perf PROGRAM OPTION...: server on B, client on A, and the client's table has sensible figures.
perf() {
	ok "$*" perftest_pair on_b on_a "${ADDRESS:-$IP_B}" "$@"
	cp "$WORK/out" "$WORK/client"
	ok "$*: server" finish perftest 20
	cp "$WORK/client" "$WORK/out"
	report "$(figures_bad)" "$*: figures" "$WORK/out"
}

# figures_bad: 0 if the table has a line, and each has a message rate or typical latency above zero; else 1.
figures_bad() {
	awk '$1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+$/ && NF >= 5 { n++; if (!($5 > 0) || $5 == "inf") bad = 1 }
		END { print !(n && !bad) }' "$WORK/out"
}

perf ib_write_bw -n 50 -s 1
perf ib_write_bw -n 50 -s 65536
perf ib_write_bw -n 10 -s 1048576
for size in 1429 65536; do
	perf ib_send_bw -n 50 -s $size
	perf ib_read_bw -n 50 -s $size
done
perf ib_write_lat -n 100 -s 2
perf ib_read_lat -n 100 -s 64
perf ib_send_lat -n 50 -s 4096

# several queue pairs, both directions at once, sleeping instead of polling, small messages inline,
# one request at a time, a short receive queue. Not ib_send_bw with events: over iWARP its credits are RDMA
# Writes, of which no event tells, so its sleeping sender misses the last one by design.
for program in ib_write_bw ib_read_bw ib_send_bw; do
	perf $program -n 20 -s 8192 -q 8
done
perf ib_write_bw -n 20 -s 65536 -q 4 -b
perf ib_send_bw -n 20 -s 65536 -q 4 -b
perf ib_read_bw -n 50 -s 8192 -e
perf ib_read_bw -n 50 -s 8192 -b -e
perf ib_send_lat -n 50 -s 64 -e
perf ib_write_bw -n 50 -s 128 -I 128
perf ib_send_lat -n 50 -s 64 -I 64
perf ib_write_bw -n 50 -s 4096 -t 1
perf ib_read_bw -n 50 -s 4096 -o 1
perf ib_send_bw -n 50 -s 4096 -r 8

# every size from 2 octets to 8 MiB
perf ib_write_bw -n 5 -a
perf ib_send_bw -n 5 -a
ADDRESS=$IP6_B perf ib_write_bw -n 50 -s 65536 --ipv6-addr
done_testing
