#!/bin/bash
# qperf: its RDMA tests by rdma_cm, for a short time each, and the two that verify what the atomics did.
. "$(dirname "$0")/lib.sh"

hosts_up
# neighbours are known: who waits for an address is not what is tested
on_a ping -qc 1 $IP_B >"$WORK/ping"
# qperf 0.4.11 names its port before it listens there (mended behind that release: "Fix rdmacm race")
must patient hostB vB
PORT=19765 server qperf on_b qperf

# client OPTION...
client() {
	run on_a qperf "$IP_B" -cm1 -to 30 "$@"
}

# measure TEST [OPTION...]: for two seconds; it ends, and each figure that it prints is above zero. These tests have no
# other end than the clock's; a guest that gets no processor meanwhile has not done anything, and gets ten times as much.
measure() {
	local test=$1
	shift
	ok "$test $*" client -t 2 -uu -un "$@" "$test"
	if [ "$(figures_bad)" -ne 0 ]; then
		echo "# retry: $test $*: not one message in two seconds"
		run client -t 20 -uu -un "$@" "$test"
	fi
	report "$(figures_bad)" "$test $*: figures" "$WORK/out"
}

# figures_bad: 0 if there is a figure "name = number", and each is above zero; else 1.
figures_bad() {
	awk '$2 == "=" { n++; if (!($3 + 0 > 0)) bad = 1 } END { print !(n && !bad) }' "$WORK/out"
}

# sends SIZE [OPTION...]: a thousand Sends, which arrive. A Send to which no receive is posted ends an iWARP
# connection, and qperf sends without asking: no more than the 1024 receives it begins with. It may be over before
# the receiver looks at its clock, and the figure is zero then; so the device is asked. rc_bi_bw knows no such
# limit and is left out.
sends() {
	local size=$1 before
	shift
	sleep 0.05
	before=$(cat "/sys/class/infiniband/$DEV_B/ports/1/hw_counters/rx_octets")
	ok "rc_bw $size $*" client -m "$size" --no_msgs 1000 "$@" rc_bw
	ok "rc_bw $size $*: they arrived" wait_for arrived $((before + 1000 * size))
}
arrived() { [ "$(cat "/sys/class/infiniband/$DEV_B/ports/1/hw_counters/rx_octets")" -ge "$1" ]; }

for size in 1 1429 65536; do
	sends $size
	measure rc_lat -m $size
	measure rc_rdma_write_lat -m $size
done
# Writes with immediate data, as many as it can, and each takes one of the server's 1024 receives. It asks no more than
# with Sends: the server's program may be without a processor for as long as 1024 of them take, so they have to be large.
measure rc_rdma_write_bw -m 65536
# It posts 1024 reads before it looks for completions: large ones would take all of its time here.
measure rc_rdma_read_bw -m 1
measure rc_rdma_read_bw -m 512
measure rc_rdma_read_bw -m 512 -nr 1
measure rc_rdma_read_lat -m 65536
measure rc_rdma_write_lat -m 4096
measure rc_rdma_write_poll_lat -m 4096
# polling instead of sleeping, data looked at, roles exchanged
sends 4096 -cp1
measure rc_lat -m 4096 -cp1 -ar1
sends 4096 -f1

measure rc_compare_swap_mr
measure rc_fetch_add_mr
measure ver_rc_compare_swap
measure ver_rc_fetch_add

stop qperf
done_testing
