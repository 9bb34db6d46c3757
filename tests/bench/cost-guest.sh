#!/bin/bash
# bench/cost-guest.sh: runs inside QEMU with -icount and measures instructions per message for each
# driver in turn (KWARP_DRIVERS, default all), KWARP_ROUNDS times (1), and those of Writes and of
# TCP over each of the paths KWARP_PATHS (default all). Writes /results/cost.tsv and
# the report, cost.md and bench.json. KWARP_BENCH is the folder of the programs.
. "$(dirname "$0")/../vm/lib.sh"
. "$(dirname "$0")/../vm/encrypted.sh"

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
# Such a window is also longer than the queue of IPsec's transport mode (1000 packets), and then a
# run has as many losses as chance wants: a Write took 1500000 to 2960000 instructions.
must sysctl -qw net.core.netdev_max_backlog=100000
drivers_load
modprobe -q siw
modprobe -q rdma_rxe
# The kernel waits 60 seconds for the modules of an algorithm, which a leap of the clock exceeds.
modprobe -qa esp4 crypto_null authenc echainiv
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

# lay PATH: lays the path between the hosts, and sets NETDEV_A and NETDEV_B to its ends
lay() {
	NETDEV_A=vA NETDEV_B=vB
	case $1 in
	direct | mtu1492) ;;
	# The EMSS is 1438, not a multiple of four. The null cipher encrypts nothing, otherwise the
	# emulated processor would do little else than encrypt.
	esp) ipsec_up enc 'ecb(cipher_null)' '' auth digest_null '' ;;
	wireguard)
		NETDEV_A=wgA NETDEV_B=wgB
		wireguard_up 10.8.0.1 10.8.0.2
		;;
	vlan)
		NETDEV_A=vlanA NETDEV_B=vlanB
		ip -n hostA link add vlanA link vA type vlan id 5 &&
			ip -n hostB link add vlanB link vB type vlan id 5
		;;
	esac
}

# along PATH MTU: measures Writes of 64 KiB, and TCP, over the path
along() (
	trap wire_down EXIT
	wire_up "$2"
	lay "$1" || return
	if [ $NETDEV_A != vA ]; then
		IP_A=10.8.0.1 IP_B=10.8.0.2
		end_up hostA $NETDEV_A $IP_A fd08::1 "$2" &&
			end_up hostB $NETDEV_B $IP_B fd08::2 "$2" || return
	fi
	on_a ping -qc 1 $IP_B >"$WORK/ping" || return
	DEV_A=kwarpA DEV_B=kwarpB
	export IP_A IP_B DEV_A DEV_B
	rdma_link hostA $DEV_A kwarp $NETDEV_A && rdma_link hostB $DEV_B kwarp $NETDEV_B &&
		policy crc off || return
	for driver in kwarp tcp; do
		run program $driver plain "$2" write_cost 65536 || {
			tail -n 3 "$WORK/out"
			return 1
		}
		sed "s/write_cost/write_$1_cost/" "$WORK/out" | tee -a /results/cost.tsv
	done
	rdma link delete $DEV_A && rdma link delete $DEV_B
)

for path in ${KWARP_PATHS:-direct esp wireguard vlan mtu1492}; do
	case $path in
	wireguard) mtu=1420 ;;
	mtu1492) mtu=1492 ;; # as PPPoE's
	*) mtu=1500 ;;
	esac
	along "$path" $mtu || echo "path $path: failed"
done
"$programs/report" /results/cost.tsv /results >/results/cost.md
