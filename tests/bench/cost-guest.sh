#!/bin/bash
# bench/cost-guest.sh: inside QEMU with -icount, the drivers in turn: instructions per message.
# Leaves /results/cost.tsv and the report's cost.md and bench.json.
. "$(dirname "$0")/../vm/lib.sh"

# A function, so that run() sets no limit of time: the clock that counts instructions leaps while the guest has
# none to execute, hundreds of seconds for one page from the disk of a busy host. The host's limit holds.
program() { /src/build/bench/cost "$@"; }

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
wire_up 1500
on_a ping -qc 1 $IP_B >"$WORK/ping"
for driver in kwarp siw rxe; do
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
done
/src/build/bench/report /results/cost.tsv /results >/results/cost.md
