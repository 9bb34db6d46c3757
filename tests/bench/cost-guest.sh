#!/bin/bash
# bench/cost-guest.sh: runs inside QEMU with -icount and measures instructions per message for each
# driver in turn (KWARP_DRIVERS, default all), KWARP_ROUNDS times (1), and those of Writes and of
# TCP over each of the paths KWARP_PATHS (default all; none with "-"). Writes /results/cost.tsv and
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

# esp: IPsec between the hosts. The EMSS is 1438, not a multiple of four. The null cipher encrypts
# nothing, otherwise the emulated processor would do little else than encrypt.
esp() {
	local host from to spi pair
	for host in hostA hostB; do
		for pair in "$IP_A $IP_B 0x1001" "$IP_B $IP_A 0x1002"; do
			read -r from to spi <<<"$pair"
			ip -n $host xfrm state add src "$from" dst "$to" proto esp spi "$spi" \
				reqid 1 mode transport enc 'ecb(cipher_null)' '' auth digest_null ''
		done
	done
	for host in "hostA $IP_A $IP_B" "hostB $IP_B $IP_A"; do
		read -r host from to <<<"$host"
		ip -n "$host" xfrm policy add src "$from" dst "$to" dir out \
			tmpl proto esp src "$from" dst "$to" reqid 1 mode transport
		ip -n "$host" xfrm policy add src "$to" dst "$from" dir in \
			tmpl proto esp src "$to" dst "$from" reqid 1 mode transport
	done
}

# wireguard: a tunnel between the hosts, with addresses of its own
wireguard() {
	local host
	for host in a b; do
		(umask 077; wg genkey >"$WORK/$host.key")
		wg pubkey <"$WORK/$host.key" >"$WORK/$host.pub"
	done
	NET_A=wgA NET_B=wgB
	ip -n hostA link add wgA type wireguard
	ip -n hostB link add wgB type wireguard
	on_a wg set wgA listen-port 51820 private-key "$WORK/a.key" \
		peer "$(cat "$WORK/b.pub")" endpoint "$IP_B:51820" allowed-ips 10.8.0.2/32
	on_b wg set wgB listen-port 51820 private-key "$WORK/b.key" \
		peer "$(cat "$WORK/a.pub")" endpoint "$IP_A:51820" allowed-ips 10.8.0.1/32
}

# vlan: a VLAN between the hosts
vlan() {
	NET_A=vlanA NET_B=vlanB
	ip -n hostA link add vlanA link vA type vlan id 5
	ip -n hostB link add vlanB link vB type vlan id 5
}

# over PATH MTU: measures Writes of 64 KiB over kwarp, and TCP, over such a path
over() (
	path=$1 mtu=$2 NET_A=vA NET_B=vB
	wire_up "$mtu"
	$path || return
	if [ $NET_A != vA ]; then
		IP_A=10.8.0.1 IP_B=10.8.0.2
		must end_up hostA $NET_A $IP_A fd08::1 "$mtu"
		must end_up hostB $NET_B $IP_B fd08::2 "$mtu"
	fi
	on_a ping -qc 1 $IP_B >"$WORK/ping" || return
	DEV_A=kwarpA DEV_B=kwarpB
	export IP_A IP_B DEV_A DEV_B
	must rdma_link hostA $DEV_A kwarp $NET_A
	must rdma_link hostB $DEV_B kwarp $NET_B
	policy crc off
	for driver in kwarp tcp; do
		run program $driver plain "$mtu" write_cost 65536 || {
			echo "over $path $driver:"
			tail -n 3 "$WORK/out"
			continue
		}
		sed "s/write_cost/write_${path}_cost/" "$WORK/out" | tee -a /results/cost.tsv
	done
	must rdma link delete $DEV_A
	must rdma link delete $DEV_B
	wire_down
)

direct() { :; }
pppoe() { :; } # an MTU of 1492

for path in ${KWARP_PATHS:-direct esp wireguard vlan pppoe}; do
	case $path in
	wireguard) mtu=1420 ;;
	pppoe) mtu=1492 ;;
	*) mtu=1500 ;;
	esac
	[ "$path" = - ] || over "$path" $mtu
done
"$programs/report" /results/cost.tsv /results >/results/cost.md
