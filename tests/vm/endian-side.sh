#!/bin/bash
# endian-side.sh a|b: one of the two guests of tests/run.d/endian, which are joined by a wire. Each
# guest runs servers for the other one; first host A runs its clients, then host B.
side=$1
. "$(dirname "$0")/lib.sh"

case $side in
a) host=hostA device=$DEV_A own=$IP_A own6=$IP6_A peer=$IP_B peer6=$IP6_B gid=$GID_A ;;
b) host=hostB device=$DEV_B own=$IP_B own6=$IP6_B peer=$IP_A peer6=$IP6_A gid=$GID_B ;;
*) bail 'usage: endian-side.sh a|b' ;;
esac
here=on_$side

drivers_load
must modprobe virtio_net
must ip netns add $host
must wait_for ip link show eth0
must ip link set eth0 netns $host
must end_up $host eth0 "$own" "$own6" 1500
must rdma_link $host "$device" kwarp eth0
echo 7600 >"/sys/class/infiniband/$device/kwarp/rendezvous_port" || bail 'no rendezvous_port'
index=$(gid_index "$device" "$gid")

PORT=7174 server rping "$here" rping -s -P -v -V
PORT=7176 server rping6 "$here" rping -s -P -v -V -a "$own6" -p 7176
PORT=7175 server long "$here" rping -s -P -v -V -S 65535 -p 7175
PORT=7471 server rstream "$here" rstream -T v -S 5000 -I 5 -C 10
PORT=18515 server pingpong "$here" ibv_rc_pingpong -d "$device" -g "$index" -n 20 -c

# gate PORT: waits until the other guest calls pass PORT
gate() {
	server gate "$here" rping -s -p "$1" -C 1
	finish gate 600
}
pass() {
	PATIENCE=600 wait_for "$here" rping -c -a "$peer" -p "$1" -C 1
}

clients() {
	ok 'rping' "$here" rping -c -a "$peer" -v -V -C 20
	ok 'rping, IPv6' "$here" rping -c -a "$peer6" -v -V -C 20 -p 7176
	ok 'rping, 65535 bytes' "$here" rping -c -a "$peer" -v -V -C 20 -S 65535 -p 7175
	ok 'rstream, both ends compare' "$here" rstream -T v -S 5000 -I 5 -C 10 -s "$peer"
	ok 'ibv_rc_pingpong, without rdma_cm' \
		"$here" ibv_rc_pingpong -d "$device" -g "$index" -n 20 -c "$peer"
}

if [ "$side" = a ]; then
	ok 'the other guest is there' pass 7190
	clients
	ok 'the other guest begins its clients' pass 7191
	ok 'the other guest has ended its clients' gate 7192
else
	ok 'the other guest is there' gate 7190
	ok 'the other guest has ended its clients' gate 7191
	clients
	ok 'the other guest knows that ours have ended' pass 7192
fi
done_testing
