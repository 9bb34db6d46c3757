#!/bin/bash
# link: "rdma link add" and its errors, and how a device follows changes of its netdev.
. "$(dirname "$0")/lib.sh"

hosts_up
on_a ping -qc 1 $IP_B >"$WORK/ping"

# refuses NAME REGEX COMMAND...: passes if COMMAND fails with a message that matches
refuses() {
	local name=$1 why=$2
	shift 2
	fails "$name" "$@"
	has "$name: $why" "$why"
}

ifnames() {
	python3 -c 'import json, sys; print(*sorted(d["ifname"] for d in json.load(sys.stdin)))'
}
devices() { rdma -j dev show | ifnames; }
port() { ibv_devinfo -v -d "$DEV_A" | sed -n "s/.*$1:[[:space:]]*//p" | head -n 1; }

works() {
	PORT=7174 server rping on_b rping -s -a $IP_B -v -V -C 5
	ok "$1: rping" on_a rping -c -a $IP_B -v -V -C 5
	finish rping
}

# ---- errors, some of them found by the RDMA core ----

refuses 'second device on one netdev' 'File exists' on_a rdma link add kwarpX type kwarp netdev vA
refuses 'name that is taken' 'Too many open files in system' on_b rdma link add "$DEV_A" type \
	kwarp netdev lo
refuses 'no such netdev' 'No such device' on_a rdma link add kwarpX type kwarp netdev nosuch
refuses "another namespace's netdev" 'No such device' on_a rdma link add kwarpX type kwarp netdev vB
refuses 'name with a pattern' 'Invalid argument' on_a rdma link add 'kwarp%d' type kwarp netdev lo
refuses 'no such type' 'Invalid argument' on_a rdma link add kwarpX type nosuch netdev lo
bad=
for type in nlmon vcan; do
	ip link add bad0 type $type 2>/dev/null && bad=$type && break
done
if [ -n "$bad" ]; then
	refuses "netdev that carries no IP ($bad)" 'Operation not supported' rdma link add kwarpX \
		type kwarp netdev bad0
	ip link del bad0
else
	skip 'netdev that carries no IP' 'no such netdev type here'
fi
is 'no device was made' "$(devices)" "$DEV_A $DEV_B"
works 'devices unchanged'

# two at once on one netdev: exactly one succeeds
on_a ip link add dummy1 type dummy
both() {
	local first=0 second=0
	rdma link add kwarpX type kwarp netdev dummy1 &
	rdma link add kwarpY type kwarp netdev dummy1 || second=1
	wait $! || first=1
	[ $((first + second)) -eq 1 ]
}
in_a() { ip netns exec hostA bash -c "$(declare -f both); $*"; }
for round in 1 2 3 4 5; do
	ok "two at once, $round: one is made" in_a both
	rdma link delete kwarpX 2>/dev/null || must rdma link delete kwarpY
done
on_a ip link del dummy1

# ---- names ----

# renamed FROM TO: renames the netdev while it is down, which removes its IPv6 addresses
renamed() {
	must ip -n hostA link set "$1" down
	must ip -n hostA link set "$1" name "$2"
	must ip -n hostA link set "$2" up
	must ip -n hostA addr replace $IP6_A/64 dev "$2" nodad
	must wait_for on_a ping -qc 1 -W 1 $IP_B
}

renamed vA wire0
run on_a rdma link show "$DEV_A/1"
has 'netdev renamed: rdma link show' 'netdev wire0'
works 'netdev renamed'
refuses 'netdev renamed: still one device on it' 'File exists' on_a rdma link add kwarpX type \
	kwarp netdev wire0
renamed wire0 vA

must rdma dev set "$DEV_A" name kwarpN
is 'device renamed' "$(devices)" "$DEV_B kwarpN"
works 'device renamed'
must rdma dev set kwarpN name "$DEV_A"

# ---- MTU: that of the port, in InfiniBand's steps; and FPDUs, which must fill TCP segments ----

packets() { on_a cat /sys/class/net/vA/statistics/tx_packets; }

# frames: prints the number of FPDUs that A sends for 20 messages of 64 KiB, and of packets, of
# which each may have many segments
frames() {
	local fpdus packets
	fpdus=$(counter "$DEV_A" tx_fpdus)
	packets=$(packets)
	perftest_pair on_b on_a $IP_B ib_write_bw -n 20 -s 65536 >/dev/null
	finish perftest
	echo $(($(counter "$DEV_A" tx_fpdus) - fpdus)) $(($(packets) - packets))
}

# With an MTU of 1499 or 1501, the MSS is no multiple of 4, but the length of an FPDU always is.
for mtu in 1500:1024 9000:4096 4000:2048 600:512 1499:1024 1501:1024 1500:1024; do
	# below 1280 there is no IPv6, and no neighbour discovery
	must ip -n hostA link set vA mtu ${mtu%:*}
	must ip -n hostB link set vB mtu ${mtu%:*}
	is "MTU ${mtu%:*}: active_mtu" "$(port active_mtu | cut -d' ' -f1)" ${mtu#*:}
	must wait_for on_a ping -qc 1 -W 1 $IP_B
	# A busy machine may need tries.
	for _ in {1..5}; do
		read -r sent packets < <(frames)
		[ "$packets" -gt $((sent * 3 / 4)) ] || break
	done
	# 52: headers of IP and of TCP with time stamps; 20: those of MPA and DDP, and CRC. The sum
	# is above the least number by the short FPDUs at the end of each message, and those of
	# connection set-up.
	least=$((20 * 65536 / (${mtu%:*} - 52 - 20)))
	ok "MTU ${mtu%:*}: FPDUs fill segments ($sent for $least)" test "$sent" -ge $least \
		-a "$sent" -le $((least * 13 / 10 + 100))
	ok "MTU ${mtu%:*}: packets of several FPDUs ($packets)" test "$packets" -le \
		$((sent * 3 / 4))
done

# ---- speed ----

# The speed of InfiniBand that is the next one and not lower, by width and generation.
must on_a ip tuntap add mode tap name tapA
must on_a rdma link add kwarpS type kwarp netdev tapA
while read -r speed rate; do
	must on_a ethtool -s tapA speed "$speed" duplex full
	is "netdev of $speed Mb/s" "$(cat /sys/class/infiniband/kwarpS/ports/1/rate)" "$rate"
done <<-END
	100 2.5 Gb/sec (1X SDR)
	2500 2.5 Gb/sec (1X SDR)
	2501 5 Gb/sec (1X DDR)
	5000 5 Gb/sec (1X DDR)
	10000 10 Gb/sec (1X FDR10)
	25000 25 Gb/sec (1X EDR)
	40000 40 Gb/sec (4X FDR10)
	50000 50 Gb/sec (1X HDR)
	100000 100 Gb/sec (4X EDR)
	200000 200 Gb/sec (4X HDR)
	400000 400 Gb/sec (4X NDR)
	800000 800 Gb/sec (4X XDR)
	900000 800 Gb/sec (4X XDR)
END
must rdma link delete kwarpS
must ip -n hostA link delete tapA

# ---- addresses ----

# The RDMA core reports changes of the GID table by an event only for RoCE, so we poll.
gids() { cat "/sys/class/infiniband/$DEV_A/ports/1/gids/"*; }
GID_NEW=${GID_A%:*:*}:0a09:0001
no_gid() { ! has_gid "$DEV_A" "$GID_NEW"; }
new_address() {
	ip -n hostA addr "$1" 10.9.0.1/24 dev vA && ip -n hostB addr "$1" 10.9.0.2/24 dev vB
}
before=$(gids)
guid=$(port node_guid)
must ip -n hostA link set vA address 02:00:00:00:0a:07
is 'MAC changed: the GUID of the device stays' "$(port node_guid)" "$guid"
must wait_for on_a ping -qc 1 -W 1 $IP_B
works 'MAC changed'
must new_address add
must wait_for on_a ping -qc 1 -W 1 10.9.0.2
PORT=7174 server rping on_b rping -s -a 10.9.0.2 -v -V -C 5
ok 'new address: rping' on_a rping -c -a 10.9.0.2 -v -V -C 5
finish rping
# Each change of the table is dangerous for rdma_cm: see kwarp_addr_follow().
is 'no rendezvous: the GIDs stay' "$(gids)" "$before"
must rendezvous on
ok 'rendezvous: the address appears as a GID' wait_for has_gid "$DEV_A" "$GID_NEW"
must new_address del
ok 'removed address: no longer a GID' wait_for no_gid
must new_address add
ok 'new address: appears as a GID' wait_for has_gid "$DEV_A" "$GID_NEW"
gid=$(port 'GID\[  0\]')
must ip -n hostA link set vA address 02:00:00:00:0a:08
is 'MAC changed: the GID stays' "$(port 'GID\[  0\]')" "$gid"
must new_address del
must wait_for no_gid
must rendezvous off
ok 'removed address: cannot be used' ends_in_error on_b rping -s -a 10.9.0.2
has 'removed address: the reason' 'rdma_bind_addr: Cannot assign requested address'
done_testing
