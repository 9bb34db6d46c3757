#!/bin/bash
# qperf: its RDMA tests over rdma_cm, for a short time each, and the two that verify the atomics'
# results.
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
# qperf 0.4.11 announces its port before it listens there (fixed after that release: "Fix rdmacm
# race").
must patient hostB vB
PORT=19765 server qperf on_b qperf

# client OPTION...
client() {
	run on_a qperf "$IP_B" -cm1 -to "$(patience 30)" "$@"
}

# measure TEST [OPTION...]: runs for two seconds; it ends, and each figure that it prints is above
# zero. These tests end by the clock only; a guest that gets no processor time meanwhile has done
# nothing, and gets ten times as long.
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

# figures_bad: prints 0 if there is a figure "name = number" and each is above zero; else 1.
figures_bad() {
	awk '$2 == "=" { n++; if (!($3 + 0 > 0)) bad = 1 } END { print !(n && !bad) }' "$WORK/out"
}

# sends SIZE [OPTION...]: a thousand Sends, which must arrive. A Send without a posted receive ends
# an iWARP connection, and qperf sends without flow control: so no more than the 1024 receives it
# begins with. It may end before the receiver looks at its clock, and the figure is zero then, so
# the device's counter is checked. rc_bi_bw knows no such limit and is left out.
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
# Writes with immediate data, as many as possible, each of which takes one of the server's 1024
# receives. There is no flow control here either, and the server's program may get no processor: so
# they are so large that nothing makes 1024 of them in the time. Those that were posted when it is
# over still have to go, and SCTP carries a tenth of what TCP does.
large=1048576
[ "${LLP:-tcp}" != sctp ] || large=131072
measure rc_rdma_write_bw -m $large
# It posts 1024 reads before it looks for completions: large ones would take all of the time.
measure rc_rdma_read_bw -m 1
measure rc_rdma_read_bw -m 512
measure rc_rdma_read_bw -m 512 -nr 1
measure rc_rdma_read_lat -m 65536
measure rc_rdma_write_lat -m 4096
measure rc_rdma_write_poll_lat -m 4096
# polling instead of sleeping, data checked, roles exchanged
sends 4096 -cp1
measure rc_lat -m 4096 -cp1 -ar1
sends 4096 -f1

measure rc_compare_swap_mr
measure rc_fetch_add_mr
measure ver_rc_compare_swap
measure ver_rc_fetch_add

stop qperf
done_testing
