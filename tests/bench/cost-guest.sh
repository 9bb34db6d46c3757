#!/bin/bash
# bench/cost-guest.sh: inside QEMU with -icount, the drivers in turn: instructions per message.
# Leaves /results/cost.tsv and the report's cost.md and bench.json.
. "$(dirname "$0")/../vm/lib.sh"

# The file system is the host's. While it is waited for, the guest's clock, which counts instructions, leaps,
# hundreds of seconds for one page of a busy host's disk, and with it what limits time: nothing is read from there
# later on, and as a function it has no limit from run(). The host's limit holds.
cp /src/build/bench/cost "$WORK/cost"
program() { "$WORK/cost" "$@"; }

# cost DRIVER VARIANT MTU
cost() {
	run program "$1" "$2" "$3" && cat "$WORK/out" && cat "$WORK/out" >>/results/cost.tsv && return
	echo "cost $*:"
	tail -n 3 "$WORK/out"
	return 1
}

: >/results/cost.tsv
drivers_load
modprobe -q siw
modprobe -q rdma_rxe
for driver in kwarp siw rxe; do
	# rxe has its socket in the initial namespace, whichever that of the netdev is
	if [ $driver = rxe ]; then wire_up_here 1500; else wire_up 1500; fi
	on_a ping -qc 1 $IP_B >"$WORK/ping"
	DEV_A=${driver}A DEV_B=${driver}B
	must rdma_link hostA "$DEV_A" $driver vA
	must rdma_link hostB "$DEV_B" $driver vB
	if [ $driver = kwarp ]; then
		policy crc required
		cost kwarp crc 1500
		policy crc off
		policy markers 1
		cost kwarp markers 1500
		policy markers 0
	fi
	cost $driver plain 1500
	must rdma link delete "$DEV_A"
	must rdma link delete "$DEV_B"
	wire_down
done
/src/build/bench/report /results/cost.tsv /results >/results/cost.md
