#!/bin/bash
# interop-siw: kwarp on A, Linux's siw on B; each as client and as server, CRC on and off.
export DRIVER_A=kwarp DRIVER_B=siw
. "$(dirname "$0")/lib.sh"

hosts_up

policy() {
	echo "$2" >"/sys/class/infiniband/$DEV_A/kwarp/$1"
}

# between NAME SERVER_HOST CLIENT_HOST ADDRESS: rping with verified data, and perftest
between() {
	local name=$1 server=$2 client=$3 address=$4 size program
	for size in 64 4096 65535; do
		PORT=7174 server rping "$server" rping -s -a "$address" -v -V -C 10 -S $size
		ok "$name: rping -S $size, client" "$client" rping -c -a "$address" -v -V -C 10 -S $size
		ok "$name: rping -S $size, server" finish rping
	done
	for program in 'ib_write_bw -s 65536' 'ib_read_bw -s 65536' 'ib_send_bw -s 65536' 'ib_write_bw -s 1429' \
		'ib_send_bw -s 1' 'ib_write_lat -s 64' 'ib_read_lat -s 64' 'ib_send_lat -s 64'; do
		# shellcheck disable=SC2086 # a program and its options
		PORT=18515 server perftest "$server" $program -n 50 -R -F
		# shellcheck disable=SC2086
		ok "$name: $program, client" "$client" $program -n 50 -R -F "$address"
		ok "$name: $program, server" finish perftest 20
	done
}

for crc in 1 0; do
	policy crc $crc
	between "crc $crc, kwarp to siw" on_b on_a $IP_B
	between "crc $crc, siw to kwarp" on_a on_b $IP_A
done

# siw's peers that ask for other things
policy crc 1
between 'IPv6, kwarp to siw' on_b on_a $IP6_B
between 'IPv6, siw to kwarp' on_a on_b $IP6_A
policy p2p 0
between 'client-server model, kwarp to siw' on_b on_a $IP_B
policy p2p 1
policy mpa_rev 1
between 'revision 1, kwarp to siw' on_b on_a $IP_B
policy mpa_rev 2

# siw has no markers: that is an error, at once and for both
policy markers 1
PORT=7174 server rping on_b rping -s -a $IP_B -C 1
fails 'markers asked of siw: refused, not stuck' on_a rping -c -a $IP_B -C 1
stop rping
policy markers 0
done_testing
