#!/bin/bash
# qperf: its RDMA tests over rdma_cm, each for a short time, and the two that verify the results of
# atomics.
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
# qperf 0.4.11 announces its port before it listens on the port (fixed later: "Fix rdmacm race").
must patient hostB vB
PORT=19765 server qperf on_b qperf

# client OPTION...: runs the client of qperf on A
client() {
	run on_a qperf "$IP_B" -cm1 -to "$(patience 30)" "$@"
}

# measure TEST [OPTION...]: runs a test for two seconds. The test must exit, and each figure that it
# prints must be above zero. These tests end after a fixed time, so a guest that got no processor in
# two seconds has no messages; then we repeat the test for ten times as long.
measure() {
	local test=$1
	shift
	ok "$test $*" client -t 2 -uu -un "$@" "$test"
	if [ "$(figures_bad)" -ne 0 ]; then
		echo "# retry: $test $*: no message in two seconds"
		run client -t "$(patience 20)" -uu -un "$@" "$test"
	fi
	report "$(figures_bad)" "$test $*: figures" "$WORK/out"
}

# figures_bad: prints 0 if there are figures "name = number" and all are above zero; else 1
figures_bad() {
	awk '$2 == "=" { n++; if (!($3 + 0 > 0)) bad = 1 } END { print !(n && !bad) }' "$WORK/out"
}

# sends SIZE [OPTION...]: 1000 Sends, which must all arrive. qperf has no flow control, and a Send
# without a posted receive ends an iWARP connection, so we send no more than the 1024 receives that
# qperf posts at its start. The figure may be zero if the test ends before the receiver reads its
# clock, so we check the counter of the device. rc_bi_bw cannot be limited and is left out.
sends() {
	local size=$1 before
	shift
	before=$(counter "$DEV_B" rx_octets)
	ok "rc_bw $size $*" client -m "$size" --no_msgs 1000 "$@" rc_bw
	ok "rc_bw $size $*: they arrived" wait_for arrived $((before + 1000 * size))
}
arrived() { [ "$(counter "$DEV_B" rx_octets)" -ge "$1" ]; }

for size in 1 1429 65536; do
	sends $size
	measure rc_lat -m $size
	measure rc_rdma_write_lat -m $size
done
# Writes with immediate data, as many as possible. Each takes one of the 1024 receives of the
# server, again without flow control, and the server may get no processor to post more. So the
# Writes are so large that no machine sends 1024 in two seconds. For SCTP, which is ten times as
# slow, they are smaller, because all that are posted at the end must still be sent.
large=1048576
[ "${LLP:-tcp}" != sctp ] || large=131072
measure rc_rdma_write_bw -m $large
# This test posts 1024 Reads before it polls for completions; large ones would take too long.
measure rc_rdma_read_bw -m 1
measure rc_rdma_read_bw -m 512
measure rc_rdma_read_bw -m 512 -nr 1
measure rc_rdma_read_lat -m 65536
measure rc_rdma_write_lat -m 4096
measure rc_rdma_write_poll_lat -m 4096
# polling instead of sleeping; comparison of data; exchanged roles
sends 4096 -cp1
measure rc_lat -m 4096 -cp1 -ar1
sends 4096 -f1

measure rc_compare_swap_mr
measure rc_fetch_add_mr
measure ver_rc_compare_swap
measure ver_rc_fetch_add

stop qperf
done_testing
