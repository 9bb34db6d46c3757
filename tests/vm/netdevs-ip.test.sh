#!/bin/bash
# netdevs-ip: devices on network interfaces without a link layer, and connections of a host to
# itself.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/netdevs.sh"

RELAY=$(realpath "$(dirname "$0")/../../build/verbs/relay")
drivers_load

# ---- tun, GRE, IP in IP ----

fresh
[ -c /dev/net/tun ] || must modprobe tun
server relay on_a "$RELAY" hostA tunA hostB tunB
must wait_for grep -q ready "$WORK/relay.log"
addressed tunA tunB
serves tun tunA tunB
stop relay

# tunnels: sets up tunnels between the ends of a wire
tunnels() {
	fresh
	wire vA vB
	must ip -n hostA addr add 10.7.0.1/24 dev vA
	must ip -n hostB addr add 10.7.0.2/24 dev vB
	must ip -n hostA link add gA type gre local 10.7.0.1 remote 10.7.0.2
	must ip -n hostB link add gB type gre local 10.7.0.2 remote 10.7.0.1
	addressed gA gB 1476
	serves GRE gA gB

	must ip -n hostA link add iA type ipip local 10.7.0.1 remote 10.7.0.2
	must ip -n hostB link add iB type ipip local 10.7.0.2 remote 10.7.0.1
	must ip -n hostA addr add 10.8.0.1/24 dev iA
	must ip -n hostB addr add 10.8.0.2/24 dev iB
	must ip -n hostA link set iA up
	must ip -n hostB link set iB up
	reached 10.8.0.2
	links iA iB
	pings 'IP in IP' on_b on_a 10.8.0.2
	deleted 'IP in IP'
}
tunnels

# ---- a host that talks to itself ----

fresh
must ip -n hostA link set lo up
must rdma_link hostA "$DEV_A" "$DRIVER_A" lo
guid=$(cat "/sys/class/infiniband/$DEV_A/node_guid")
must rdma link delete "$DEV_A"
must rdma_link hostA "$DEV_A" "$DRIVER_A" lo
is 'lo: the same GUID again' "$(cat "/sys/class/infiniband/$DEV_A/node_guid")" "$guid"
# For a loopback address rdma_cm takes the first active device.
for address in 127.0.0.1 ::1; do
	pings "lo: $address" on_a on_a "$address"
done
PORT=7174 server rping on_a rping -s -a :: -P
for address in 127.0.0.1 127.8.9.10 0.0.0.0 ::1; do
	ok "lo: $address, listener of any address" on_a rping -c -a "$address" -v -V -C 5
done
stop rping
must ip -n hostA addr add 10.9.0.1/32 dev lo
pings 'lo: an address of its own' on_a on_a 10.9.0.1
ok 'lo: ib_send_bw' perftest_pair on_a on_a 127.0.0.1 ib_send_bw -n 20 -s 65536
ok 'lo: ib_send_bw, server' finish perftest
rejected 'lo: nobody listens' on_a 127.0.0.1
is 'lo: P_Key, which rdma_cm asks for' \
	"$(cat "/sys/class/infiniband/$DEV_A/ports/1/pkeys/0")" 0xffff
ok 'lo: link delete' rdma link delete "$DEV_A"

wire vA vB
must end_up hostA vA $IP_A $IP6_A 1500
must rdma_link hostA "$DEV_A" "$DRIVER_A" vA
pings 'own address, IPv4' on_a on_a $IP_A
pings 'own address, IPv6' on_a on_a $IP6_A
PORT=7174 server rping on_a rping -s -P
ok 'own address: listener of any address' on_a rping -c -a $IP_A -v -V -C 5
stop rping
# rping's default is 0.0.0.0, which does not cover IPv6
PORT=7174 server rping on_a rping -s -a :: -P
ok 'own address: listener of any address, IPv6' on_a rping -c -a $IP6_A -v -V -C 5
stop rping
# Without a device on lo the attempt must be refused at once, with a hint.
PORT=7174 server rping on_a rping -s -P
rejected 'no device on lo' on_a 127.0.0.1
run dmesg
has 'no device on lo: the log has a hint' \
	"$DEV_A: 127.0.0.1:7174 needs: rdma link add NAME type kwarp netdev lo"
stop rping
ok 'own address: link delete' rdma link delete "$DEV_A"
done_testing
