#!/bin/bash
# netdevs: a device on every kind of network interface that carries IP, by IPv4 and IPv6.
# Timeout: 240
. "$(dirname "$0")/lib.sh"

RELAY=$(realpath "$(dirname "$0")/../../build/verbs/relay")
drivers_load

# ---- helpers ----

# fresh: two namespaces with nothing but lo, whatever was there before
fresh() {
	hosts_down
	must ip netns add hostA
	must ip netns add hostB
}

# wire A B: a veth pair, up, without addresses
wire() {
	must ip link add "$1" netns hostA type veth peer name "$2" netns hostB
	must ip -n hostA link set "$1" up
	must ip -n hostB link set "$2" up
}

# addressed NETDEV_A NETDEV_B [MTU]: the addresses of both hosts, and neighbours that know each other
addressed() {
	must end_up hostA "$1" $IP_A $IP6_A "${3:-1500}"
	must end_up hostB "$2" $IP_B $IP6_B "${3:-1500}"
	reached $IP_B
}

# reached ADDRESS: from A; a carrier or a neighbour may take its time
reached() { must wait_for 20 on_a ping -qc 1 -W 1 "$1"; }

links() {
	must rdma_link hostA "$DEV_A" "$DRIVER_A" "$1"
	must rdma_link hostB "$DEV_B" "$DRIVER_B" "$2"
}

# pings NAME SERVER_HOST CLIENT_HOST ADDRESS [OPTION...]: rping, its data verified on both sides
pings() {
	local name=$1 server=$2 client=$3 address=$4
	shift 4
	PORT=7174 server rping "$server" rping -s -a "$address" -v -V -C 5 "$@"
	ok "$name: rping" "$client" rping -c -a "$address" -v -V -C 5 "$@"
	ok "$name: rping, server" finish rping
}

# streams NAME ADDRESS [OPTION...]: perftest moves data from A to B
streams() {
	local name=$1 address=$2
	shift 2
	ok "$name: ib_send_bw" perftest_pair on_b on_a "$address" ib_send_bw -n 20 -s 65536 "$@"
	ok "$name: ib_send_bw, server" finish perftest 20
}

# deleted NAME: both devices, and no other was there
deleted() {
	ok "$1: link delete" rdma link delete "$DEV_A"
	ok "$1: link delete, B" rdma link delete "$DEV_B"
	is "$1: RDMA devices" "$(ls /sys/class/infiniband)" ''
}

# serves NAME NETDEV_A NETDEV_B: all of it
serves() {
	links "$2" "$3"
	pings "$1, IPv4" on_b on_a $IP_B
	pings "$1, IPv6" on_a on_b $IP6_A
	streams "$1" $IP_B
	deleted "$1"
}

# octets NETDEV: sent by A
octets() { on_a cat "/sys/class/net/$1/statistics/tx_bytes"; }

# ---- one wire, and what can be put on it ----

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

# Devices on both: rdma_cm takes a device on the real netdev for one of the VLAN's, too, whichever is first.
for host in A:1 B:2; do
	must ip -n host${host%:*} addr add 10.7.0.${host#*:}/24 dev v${host%:*}
done
reached 10.7.0.2
links tA tB
must rdma_link hostA kwarpR "$DRIVER_A" vA
must rdma_link hostB kwarpS "$DRIVER_B" vB
pings 'VLAN and its real netdev: VLAN' on_b on_a $IP_B
pings 'VLAN and its real netdev: real netdev' on_b on_a 10.7.0.2
PORT=7174 server rping on_b rping -s -P -d
ok 'VLAN and its real netdev: any address, VLAN' on_a rping -c -a $IP_B -v -V -C 5
ok 'VLAN and its real netdev: any address, real netdev' on_a rping -c -a 10.7.0.2 -v -V -C 5 || sed 's/^/#  /' "$WORK/rping.log"
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
moves() { [ "$(octets "$1")" -gt "$2" ]; }
ok 'bond: traffic' wait_for 20 moves "$first" $(($(octets "$first") + 1000000))
before=$(octets $other)
must ip -n hostA link set "$first" down
ok 'bond: the other link takes over' wait_for 40 moves $other $((before + 1000000))
ok 'bond: the connection goes on' kill -0 "${SERVERS[client]}"
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

# ---- no link layer: tun, GRE, IP in IP ----

fresh
[ -c /dev/net/tun ] || must modprobe tun
server relay on_a "$RELAY" hostA tunA hostB tunB
must wait_for 20 grep -q ready "$WORK/relay.log"
addressed tunA tunB
serves tun tunA tunB
stop relay

# tunnels between the ends of a wire
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
if grep -qi 'user mode linux' /proc/cpuinfo; then
	skip 'GRE, IP in IP' 'scripts/uml.config has none'
else
	tunnels
fi

# ---- a host that talks to itself ----

fresh
must ip -n hostA link set lo up
must rdma_link hostA "$DEV_A" "$DRIVER_A" lo
pings 'lo, IPv4' on_a on_a 127.0.0.1
pings 'lo, IPv6' on_a on_a ::1
ok 'lo: ib_send_bw' perftest_pair on_a on_a 127.0.0.1 ib_send_bw -n 20 -s 65536
ok 'lo: ib_send_bw, server' finish perftest 20
PORT=7174 server rping on_a rping -s -P
ok 'lo: any address' on_a rping -c -a 127.0.0.1 -v -V -C 5
stop rping
ok 'lo: link delete' rdma link delete "$DEV_A"

wire vA vB
must end_up hostA vA $IP_A $IP6_A 1500
must rdma_link hostA "$DEV_A" "$DRIVER_A" vA
pings 'own address, IPv4' on_a on_a $IP_A
pings 'own address, IPv6' on_a on_a $IP6_A
PORT=7174 server rping on_a rping -s -P
ok 'own address: listener of any address' on_a rping -c -a $IP_A -v -V -C 5
ok 'own address: listener of any address, IPv6' on_a rping -c -a $IP6_A -v -V -C 5
stop rping
ok 'own address: link delete' rdma link delete "$DEV_A"
done_testing
