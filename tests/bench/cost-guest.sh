#!/bin/bash
# bench/cost-guest.sh: runs inside QEMU with -icount and measures instructions per message for each
# driver in turn (KWARP_DRIVERS, default all), KWARP_ROUNDS times (1). Leaves /results/cost.tsv and
# the report's cost.md and bench.json. KWARP_BENCH: the folder of the programs.
. "$(dirname "$0")/../vm/lib.sh"

# The file system is the host's. While the guest waits for it, its clock, which counts instructions,
# leaps forward, by hundreds of seconds for one page from a busy host's disk, and so do all time
# limits. So nothing is read from it later on, and this is a function, to which run() applies no
# limit; the host's limit remains.
programs=${KWARP_BENCH:-/src/build/bench}
cp "$programs/cost" "$WORK/cost"
program() { "$WORK/cost" "$@"; }

# cost DRIVER VARIANT MTU
cost() {
	run program "$1" "$2" "$3" && cat "$WORK/out" &&
		cat "$WORK/out" >>/results/cost.tsv && return
	echo "cost $*:"
	tail -n 3 "$WORK/out"
	return 1
}

: >/results/cost.tsv
# CUBIC's HyStart ends slow start when acknowledgments come late, by microseconds of a clock that
# counts instructions: with a window of 54 segments in one run out of eight, of 225 in the others,
# and a smaller window costs up to 3 % less for each Send. Without it every run has the same window.
echo 0 >/sys/module/tcp_cubic/parameters/hystart || exit 1
drivers_load
modprobe -q siw
modprobe -q rdma_rxe
for driver in ${KWARP_DRIVERS:-kwarp siw rxe}; do
	# rxe has its socket in the initial namespace, whatever the netdev's namespace
	if [ "$driver" = rxe ]; then wire_up_here 1500; else wire_up 1500; fi
	on_a ping -qc 1 $IP_B >"$WORK/ping"
	DEV_A=${driver}A DEV_B=${driver}B
	must rdma_link hostA "$DEV_A" "$driver" vA
	must rdma_link hostB "$DEV_B" "$driver" vB
	for ((round = 0; round < ${KWARP_ROUNDS:-1}; round++)); do
		if [ "$driver" = kwarp ]; then
			policy crc required
			cost kwarp crc 1500
			policy crc off
			policy markers 1
			cost kwarp markers 1500
			policy markers 0
		fi
		cost "$driver" plain 1500
	done
	must rdma link delete "$DEV_A"
	must rdma link delete "$DEV_B"
	wire_down
done
"$programs/report" /results/cost.tsv /results >/results/cost.md
