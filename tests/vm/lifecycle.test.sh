#!/bin/bash
# lifecycle: devices, netdevs and processes are added and removed in every order. Nothing may hang,
# no object may be left, and the tools must show the actual state.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lifecycle.sh"

hosts_up
meet

# killed NAME: ends the server by SIGKILL, and waits for its end without the shell's message
killed() {
	kill -9 "${SERVERS[$1]}"
	finish "$1" 2>/dev/null
	[ $? -eq 137 ]
}

# ---- tools and provider ----

ok 'ibv_devinfo -v' ibv_devinfo -v -d "$DEV_A"
has 'ibv_devinfo: transport' 'transport:[[:space:]]*iWARP'
has 'ibv_devinfo: port' 'state:[[:space:]]*PORT_ACTIVE'
ok 'ibv_devinfo -v, the other device' ibv_devinfo -v -d "$DEV_B"
ok 'ibv_devices, provider by its driver file' ibv_devices
has 'ibv_devices: A' "$DEV_A"
has 'ibv_devices: B' "$DEV_B"
is 'ibv_devices: no device without a driver' \
	"$(grep -c 'no userspace device-specific driver' "$WORK/out")" 0

# no_driver_files COMMAND...: runs COMMAND without the driver files of libibverbs
no_driver_files() {
	unshare -m sh -c 'mount -t tmpfs none /etc/libibverbs.d && exec "$@"' sh "$@"
}
provider=$(echo /usr/lib/*/libibverbs/libkwarp-rdmav*.so)
run no_driver_files ibv_devinfo -d "$DEV_A"
is 'without driver files nothing is found' "$(grep -c PORT_ACTIVE "$WORK/out")" 0
run no_driver_files env RDMAV_DRIVERS="${provider%-rdmav*}" ibv_devinfo -d "$DEV_A"
has 'provider by RDMAV_DRIVERS and its path' PORT_ACTIVE

ok 'rdma link show' on_a rdma link show "$DEV_A/1"
has 'rdma link show: state and netdev' 'state ACTIVE .*netdev vA'

# ---- rdma link add and delete ----

ok 'second device on one netdev' refused on_a rdma link add kwarpX type kwarp netdev vA
ok 'name that is taken' refused on_b rdma link add "$DEV_A" type kwarp netdev lo
ok 'no such netdev' refused on_a rdma link add kwarpX type kwarp netdev nosuch
bad=
for type in nlmon vcan; do
	ip link add bad0 type $type 2>/dev/null && bad=$type && break
done
if [ -n "$bad" ]; then
	ip link set bad0 up
	ok "netdev that carries no IP ($bad)" refused rdma link add kwarpX type kwarp netdev bad0
	ip link del bad0
else
	skip 'netdev that carries no IP' 'no such netdev type here'
fi
ok 'on lo' on_a rdma link add kwarpL type kwarp netdev lo
ok 'on lo: delete' rdma link delete kwarpL
ok 'delete, unused' rdma link delete "$DEV_A"
ok 'delete: the device is gone' gone "$DEV_A"
ok 'delete: nothing to delete' refused rdma link delete "$DEV_A"
ok 'add again' link_a
again() { rdma link delete "$DEV_A" && link_a; }
for round in 1 2 3 4 5; do
	ok "delete and add, $round" again
done

# ---- what rdma shows ----

ok 'no objects are shown if none exist' nothing_left
holds 'connection is there' connected
is 'resources of A' "$(resources "$DEV_A")" '2 1 1 1 1 1'
is 'resource qp: state and owner' \
	"$(objects qp "$DEV_A" '[(q["state"], q["type"], q["comm"]) for q in all]')" \
	"[('RTS', 'RC', 'hold')]"
is 'resource mr: length' "$(objects mr "$DEV_A" '[m["mrlen"] for m in all]')" '[65536]'
is 'resource cq: entries and users' \
	"$(objects cq "$DEV_A" '[(c["cqe"], c["users"]) for c in all]')" '[(16, 2)]'
is 'resource cm_id: client' \
	"$(objects cm_id "$DEV_A" '[(c["state"], c["dst-addr"]) for c in all]')" \
	"[('CONNECT', '$IP_B:$PORT_HOLD')]"
is 'resource cm_id: server' \
	"$(objects cm_id "$DEV_B" '[(c["state"], c["src-addr"]) for c in all]')" \
	"[('CONNECT', '$IP_B:$PORT_HOLD')]"
is 'resource pd: of the process' "$(objects pd "$DEV_B" '{p["comm"] for p in all}')" "{'hold'}"
before=$(counter "$DEV_A" connects)
killed holdA
holds 'client is killed: the server ends' finish holdB
holds 'client is killed: the server receives an event' prints holdB 'cm RDMA_CM_EVENT_DISCONNECTED'
holds 'client is killed: the receive came back' prints holdB 'completion Work Request Flushed'
ok 'client is killed: nothing is left' wait_for nothing_left

holds 'connection is there again' connected
killed holdB
holds 'server is killed: the client ends' finish holdA
ok 'server is killed: nothing is left' wait_for nothing_left
ok 'rdma statistic' rdma -j statistic show link "$DEV_A/1"
has 'rdma statistic: has our counters' '"tx_fpdus"'
is 'rdma statistic: connects counts' "$(counter "$DEV_A" connects)" $((before + 1))
before=$(counter "$DEV_A" tx_octets)
ok 'traffic' perftest_pair on_b on_a $IP_B ib_write_bw -n 20 -s 65536
finish perftest
ok 'rdma statistic: tx_octets counts' \
	test $(($(counter "$DEV_A" tx_octets) - before)) -ge $((20 * 65536))

# load: runs perftest with four QPs, as "perftest" and "client", until it is stopped
load() {
	local before
	before=$(counter "$DEV_A" tx_octets)
	PORT=18515 server perftest on_b ib_write_bw -R -F -D 10000 -s 65536 -q 4 || return 1
	server client on_a ib_write_bw -R -F -D 10000 -s 65536 -q 4 "$IP_B"
	wait_for busy && wait_for moved $((before + 10000000))
}
busy() { [ "$(objects qp "$DEV_A" 'sum(q["state"] == "RTS" for q in all)')" -ge 4 ]; }
moved() { [ "$(counter "$DEV_A" tx_octets)" -gt "$1" ]; }
# ends NAME: true if the program exits by itself, successfully or not
ends() { finish "$1"; [ $? -ne 124 ]; }
ok 'load runs' load
killed client
idle() { [ "$(objects qp "$DEV_B" 'sum(q["state"] == "RTS" for q in all)')" -eq 0 ]; }
ok 'killed under load: the peer is notified' wait_for idle
stop perftest
ok 'killed under load: nothing is left' wait_for nothing_left

# ---- netdev down and up ----

server holdA on_a "$HOLD" open "$DEV_A"
held holdA
ip -n hostA link set vA down
ok 'netdev down: port is down' wait_for is_port "$DEV_A" DOWN
holds 'netdev down: event' prints holdA 'async port error'
ip -n hostA link set vA up
ip -n hostA addr replace $IP6_A/64 dev vA nodad
ok 'netdev up: port is active' wait_for is_port "$DEV_A" ACTIVE
holds 'netdev up: event' prints holdA 'async port active'
ip -n hostB link set vB down
ok 'no carrier: port is down' wait_for is_port "$DEV_A" DOWN
ip -n hostB link set vB up
ip -n hostB addr replace $IP6_B/64 dev vB nodad
ok 'carrier: port is active' wait_for is_port "$DEV_A" ACTIVE
stop holdA
meet

holds 'connection before netdev goes down' connected
ip -n hostA link set vA down
sleep 0.5 # time for something to go wrong
ip -n hostA link set vA up
ip -n hostA addr replace $IP6_A/64 dev vA nodad
sleep 0.5
is 'connection survives netdev down and up' "$(objects qp "$DEV_A" '[q["state"] for q in all]')" \
	"['RTS']"
stop holdA
holds 'connection survives netdev down and up: its end is notified' finish holdB

# ---- removal with programs attached ----

holds 'connection before rdma link delete' connected
ok 'rdma link delete with a connection' rdma link delete "$DEV_A"
ok 'rdma link delete with a connection: the device is gone' wait_for gone "$DEV_A"
holds 'rdma link delete: both programs end' both_end
# Either event may come first, since the end of the connection also ends the program.
holds 'rdma link delete: the owner receives an event' prints holdA \
	'async local catastrophic error|cm RDMA_CM_EVENT_(DEVICE_REMOVAL|DISCONNECTED)'
holds 'rdma link delete: the peer receives an event' prints holdB 'cm RDMA_CM_EVENT_DISCONNECTED'
ok 'rdma link delete: add again' link_a

server holdA on_a "$HOLD" open "$DEV_A"
held holdA
ok 'rdma link delete with a program attached' rdma link delete "$DEV_A"
holds 'rdma link delete: fatal event' prints holdA 'async local catastrophic error'
holds 'rdma link delete: verbs fail afterwards' prints holdA \
	'alloc_pd afterwards: Input/output error'
holds 'rdma link delete: the program ends' finish holdA
ok 'rdma link delete: add once more' link_a

ok 'load before rdma link delete' load
ok 'rdma link delete under load' rdma link delete "$DEV_A"
ok 'rdma link delete under load: the peer is notified' wait_for idle
ok 'rdma link delete under load: the client ends' ends client
ok 'rdma link delete under load: the server ends' ends perftest
ok 'rdma link delete under load: add again' link_a

holds 'connection before the netdev goes' connected
server open on_a "$HOLD" open "$DEV_A"
held open
ok 'ip link delete with programs attached' ip -n hostA link del vA
ok 'ip link delete: devices of both ends are gone' wait_for both_gone
holds 'ip link delete: the programs end' both_end
holds 'ip link delete: a program that has only opened the device ends, too' finish open
is 'ip link delete: RDMA devices' "$(ls /sys/class/infiniband)" ''
ip netns del hostA
ip netns del hostB
wire_up
meet
ok 'netdevs and devices again' links

ok 'load before the netdev goes' load
ok 'ip link delete under load' ip -n hostA link del vA
ok 'ip link delete under load: devices are gone' wait_for both_gone
ok 'ip link delete under load: the client ends' ends client
ok 'ip link delete under load: the server ends' ends perftest
ip netns del hostA
ip netns del hostB
wire_up
meet
ok 'netdevs and devices once more' links

holds 'connection before the netdev is replaced' connected
ip -n hostA link del vA
ip -n hostA link add vA type dummy
ok 'netdev replaced: a device of the same name at once' link_a
ok 'netdev replaced: the other end is gone' wait_for gone "$DEV_B"
holds 'netdev replaced: the programs end' both_end
ok 'netdev replaced: link delete' rdma link delete "$DEV_A"
ip netns del hostA
ip netns del hostB
wire_up
meet
ok 'netdevs and devices for another time' links

holds 'connection before the namespace goes' connected
stop holdA
stop holdB
ip netns del hostA
ok 'ip netns delete: devices are gone' wait_for both_gone
ip netns del hostB
wire_up
meet
ok 'netdevs and devices for the last time' links

ok 'no object is left' wait_for nothing_left
done_testing
