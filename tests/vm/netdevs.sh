# shellcheck shell=bash
# Functions for suites about kinds of network interfaces; source this file after lib.sh.

# fresh: removes the hosts, and makes two namespaces that have only lo. Of stacked interfaces, only
# the one that has an address answers ARP for the address, because a SYN to the MAC address of the
# lower interface would meet no listener.
fresh() {
	local host
	hosts_down
	for host in hostA hostB; do
		must ip netns add $host
		must ip netns exec $host sysctl -qw net.ipv4.conf.all.arp_ignore=1
	done
}

# wire A B: makes a veth pair that is up and has no addresses
wire() {
	must ip link add "$1" netns hostA type veth peer name "$2" netns hostB
	must ip -n hostA link set "$1" up
	must ip -n hostB link set "$2" up
}

# addressed NETDEV_A NETDEV_B [MTU]: gives both hosts their addresses and resolves the neighbours
addressed() {
	must end_up hostA "$1" "$IP_A" "$IP6_A" "${3:-1500}"
	must end_up hostB "$2" "$IP_B" "$IP6_B" "${3:-1500}"
	reached "$IP_B"
}

# reached ADDRESS: waits until A reaches the address; a carrier or a neighbour may take some time
reached() { must wait_for on_a ping -qc 1 -W 1 "$1"; }

links() {
	must rdma_link hostA "$DEV_A" "$DRIVER_A" "$1"
	must rdma_link hostB "$DEV_B" "$DRIVER_B" "$2"
}

# pings NAME SERVER_HOST CLIENT_HOST ADDRESS [OPTION...]: runs rping with data verified on both
# sides
pings() {
	local name=$1 server=$2 client=$3 address=$4
	shift 4
	PORT=7174 server rping "$server" rping -s -a "$address" -v -V -C 5 "$@"
	ok "$name: rping" "$client" rping -c -a "$address" -v -V -C 5 "$@"
	ok "$name: rping, server" finish rping
}

# streams NAME ADDRESS [OPTION...]: runs ib_send_bw from A to B
streams() {
	local name=$1 address=$2
	shift 2
	ok "$name: ib_send_bw" perftest_pair on_b on_a "$address" ib_send_bw -n 20 -s 65536 "$@"
	ok "$name: ib_send_bw, server" finish perftest
}

# deleted NAME: deletes both devices and checks that no other exists
deleted() {
	ok "$1: link delete" rdma link delete "$DEV_A"
	ok "$1: link delete, B" rdma link delete "$DEV_B"
	is "$1: RDMA devices" "$(ls /sys/class/infiniband)" ''
}

# serves NAME NETDEV_A NETDEV_B: makes devices on the netdevs and runs all of these cases
serves() {
	links "$2" "$3"
	pings "$1, IPv4" on_b on_a "$IP_B"
	pings "$1, IPv6" on_a on_b "$IP6_A"
	streams "$1" "$IP_B"
	deleted "$1"
}
