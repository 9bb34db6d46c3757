#!/bin/bash
# netdevs: devices on every kind of network interface that has a link layer, by IPv4 and IPv6.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/netdevs.sh"

drivers_load

# bytes NETDEV: prints the number of bytes that the netdev of A has sent
bytes() { on_a cat "/sys/class/net/$1/statistics/tx_bytes"; }

# ---- a wire, and interfaces stacked on it ----

fresh
wire vA vB
addressed vA vB
serves veth vA vB

# ---- VLAN ----

fresh
wire vA vB
for host in A B; do
	must ip -n host$host link add link v$host name t$host type vlan id 7
done
addressed tA tB
serves VLAN tA tB

# With devices on both: for an address of the VLAN, rdma_cm also accepts a device on the real
# netdev, and takes the first that it finds.
for host in A:1 B:2; do
	must ip -n host${host%:*} addr add 10.7.0.${host#*:}/24 dev v${host%:*}
done
reached 10.7.0.2
links tA tB
must rdma_link hostA kwarpR "$DRIVER_A" vA
must rdma_link hostB kwarpS "$DRIVER_B" vB
pings 'VLAN and its real netdev: VLAN' on_b on_a $IP_B
pings 'VLAN and its real netdev: real netdev' on_b on_a 10.7.0.2
# A wildcard server listens on the older device only, because rdma_cm also passes it the requests
# that arrive on the other device.
PORT=7174 server rping on_b rping -s
ok 'VLAN and its real netdev: any address, VLAN' on_a rping -c -a $IP_B -v -V -C 5
stop rping
deleted_real() { rdma link delete kwarpR && rdma link delete kwarpS; }
ok 'VLAN and its real netdev: link delete' deleted_real
deleted 'VLAN and its real netdev'

links vA vB
pings 'device on the real netdev only, VLAN' on_b on_a $IP_B
deleted 'device on the real netdev only'

# ---- bond ----

fresh
wire a1 b1
wire a2 b2
for host in A:a B:b; do
	ns=host${host%:*} end=${host#*:}
	must ip -n "$ns" link add bond0 type bond mode active-backup miimon 50
	for n in 1 2; do
		must ip -n "$ns" link set "$end$n" down
		must ip -n "$ns" link set "$end$n" master bond0
	done
	# Both ends must use the same wire, whichever comes up first.
	must ip -n "$ns" link set bond0 type bond primary "${end}1"
	must ip -n "$ns" link set bond0 up
done
addressed bond0 bond0
serves bond bond0 bond0

links bond0 bond0
active() { on_a cat /sys/class/net/bond0/bonding/active_slave; }
first=$(active)
other=a1
[ "$first" = a2 ] || other=a2
PORT=7174 server rping on_b rping -s -a $IP_B -V -S 65535
server client on_a rping -c -a $IP_B -V -S 65535
moves() { [ "$(bytes "$1")" -gt "$2" ]; }
ok 'bond: traffic' wait_for moves "$first" $(($(bytes "$first") + 1000000))
before=$(bytes $other)
must ip -n hostA link set "$first" down
ok 'bond: the other link takes over' wait_for moves $other $((before + 1000000))
ok 'bond: the connection survives' kill -0 "${SERVERS[client]}"
stop client
stop rping
deleted 'bond, one link down'

# ---- bridge, macvlan ----

fresh
wire vA vB
for host in A B; do
	must ip -n host$host link add br0 type bridge
	must ip -n host$host link set v$host master br0
done
addressed br0 br0
serves bridge br0 br0

fresh
wire vA vB
for host in A B; do
	must ip -n host$host link add m$host link v$host type macvlan mode bridge
done
addressed mA mB
serves macvlan mA mB

# ---- VRF ----

# A socket that is not bound to the VRF has neither the addresses nor the routes, so a client names
# its source address, by which rdma_cm finds the netdev.
fresh
wire vA vB
for host in A B; do
	must ip -n host$host link add vrf0 type vrf table 7
	must ip -n host$host link set vrf0 up
	must ip -n host$host link set v$host master vrf0
done
must end_up hostA vA "$IP_A" "$IP6_A" 1500
must end_up hostB vB "$IP_B" "$IP6_B" 1500
must wait_for on_a ping -qc 1 -W 1 -I vrf0 "$IP_B"
links vA vB
pings 'VRF, IPv4' on_b on_a "$IP_B" -I "$IP_A"
pings 'VRF, IPv6' on_a on_b "$IP6_A" -I "$IP6_B"
PORT=7174 server rping on_b rping -s
ok 'VRF, any address: rping' on_a rping -c -a "$IP_B" -I "$IP_A" -v -V -C 5
stop rping
deleted VRF
done_testing
