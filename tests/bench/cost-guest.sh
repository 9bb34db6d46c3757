#!/bin/bash
# bench/cost-guest.sh: runs inside QEMU with -icount and measures instructions per message for each
# driver in turn (KWARP_DRIVERS, default all), KWARP_ROUNDS times (1). Writes /results/cost.tsv and
# the report, cost.md and bench.json. KWARP_BENCH is the folder of the programs.
. "$(dirname "$0")/../vm/lib.sh"

# The file system is that of the host. While the guest waits for the file system, the clock of the
# guest, which counts instructions, leaps from timer to timer: by hundreds of seconds for one page
# from the disk of a busy host, past all time limits. Therefore no file is read later on, and cost()
# is a function, to which run() applies no limit; the limit of the host remains.
programs=${KWARP_BENCH:-/src/build/bench}
cp "$programs/cost" "$WORK/cost"
program() { "$WORK/cost" "$@"; }

# cost DRIVER VARIANT MTU: runs the program cost
cost() {
	run program "$1" "$2" "$3" && cat "$WORK/out" &&
		cat "$WORK/out" >>/results/cost.tsv && return
	echo "cost $*:"
	tail -n 3 "$WORK/out"
	return 1
}

: >/results/cost.tsv
# CUBIC's HyStart ends slow start when acknowledgments are late by microseconds, of a clock that
# counts instructions. In one run out of eight the window is then 54 segments, in the others 225; a
# smaller window costs up to 3 % less for each Send. Without HyStart every run has the same window.
echo 0 >/sys/module/tcp_cubic/parameters/hystart || exit 1
drivers_load
modprobe -q siw
modprobe -q rdma_rxe
for driver in ${KWARP_DRIVERS:-kwarp siw rxe}; do
	# rxe opens its socket in the initial namespace, not in that of the netdev
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
