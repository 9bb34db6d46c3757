#!/bin/bash
# namespaces: devices in network namespaces, in both modes of the RDMA core: shared (the default)
# and exclusive. Devices move, and namespaces are removed, with and without programs that use them.
. "$(dirname "$0")/lib.sh"

HOLD=$(realpath "$(dirname "$0")/../../build/verbs/hold")
PORT_HOLD=7500
drivers_load

# ---- helpers ----

ifnames() {
	python3 -c 'import json, sys; print(*sorted(d["ifname"] for d in json.load(sys.stdin)))'
}
# sees HOST: prints the RDMA devices that "rdma dev" shows on the host
sees() { ip netns exec "$1" rdma -j dev show | ifnames; }
sees_init() { rdma -j dev show | ifnames; }
# anywhere DEVICE: true if the device exists in some namespace
anywhere() { grep -qx "$1" /sys/class/infiniband_verbs/uverbs*/ibdev 2>/dev/null; }
nowhere() { ! anywhere "$1"; }
prints() { wait_for grep -Eq "$2" "$WORK/$1.log"; }

# holds NAME COMMAND...: as ok; a failure also shows the output of the programs
holds() {
	local name=$1 rc=0
	shift
	"$@" >"$WORK/out" 2>&1 || { rc=1; tail -n 20 "$WORK"/hold?.log >>"$WORK/out" 2>&1; }
	report $rc "$name" "$WORK/out"
}

# connected: starts a server on B and a client on A, which hold a connection
connected() {
	PORT=$PORT_HOLD server holdB on_b "$HOLD" server "$IP_B" "$PORT_HOLD"
	server holdA on_a "$HOLD" client "$IP_B" "$PORT_HOLD"
	prints holdA '^ready' && prints holdB '^ready'
}

hosts() {
	wire_up
	must rdma_link hostA "$DEV_A" "$DRIVER_A" vA
	must rdma_link hostB "$DEV_B" "$DRIVER_B" vB
	must wait_for on_a ping -qc 1 -W 1 $IP_B
}

no_hosts() {
	# Connections whose peer is gone hold their namespace for a dozen of these periods.
	local key=kwarp/startup_timeout_ms
	on_a sh -c "echo 1000 >/sys/class/infiniband/$DEV_A/$key" 2>/dev/null
	on_b sh -c "echo 1000 >/sys/class/infiniband/$DEV_B/$key" 2>/dev/null
	ip netns del hostA 2>/dev/null
	ip netns del hostB 2>/dev/null
	wait_for nowhere "$DEV_A" && wait_for nowhere "$DEV_B"
}

works() {
	PORT=7174 server rping on_b rping -s -a $IP_B -v -V -C 5
	ok "$1: rping" on_a rping -c -a $IP_B -v -V -C 5
	ok "$1: rping, server" finish rping
	PORT=7174 server rping on_a rping -s -a $IP6_A -v -V -C 5
	ok "$1: rping, IPv6" on_b rping -c -a $IP6_A -v -V -C 5
	ok "$1: rping, IPv6, server" finish rping
}

# each_serves MODE: two servers with the same port and the wildcard address, each in its own
# namespace
each_serves() {
	PORT=7174 server rpingA on_a rping -s -P
	PORT=7174 server rpingB on_b rping -s -P
	ok "$1: any address, A to B" on_a rping -c -a $IP_B -v -V -C 5
	ok "$1: any address, B to A" on_b rping -c -a $IP_A -v -V -C 5
	stop rpingA
	ok "$1: any address, one server has ended: the other does not answer for it" \
		ends_in_error on_b rping -c -a $IP_A -C 1
	ok "$1: any address, the other keeps serving" on_a rping -c -a $IP_B -v -V -C 5
	stop rpingB
}

# loopback_listeners: a server on a loopback address has one socket, which belongs to the device on
# lo in the server's namespace
loopback_listeners() {
	local address
	listeners() {
		if [ "${LLP:-tcp}" = sctp ]; then
			ip netns exec "$1" awk '$6 == 7174' /proc/net/sctp/eps | grep -c .
		else
			ip netns exec "$1" ss -Htln "sport = :7174" | grep -c .
		fi
	}
	listens() { [ "$(listeners hostA)" = 1 ]; }
	silent() { [ "$(listeners hostA)" = 0 ]; }
	known() { rdma resource show cm_id | grep -q ':7174'; }
	must ip -n hostA link set lo up
	must ip -n hostB link set lo up
	# a program in a namespace without a device
	must ip netns add hostC
	must ip -n hostC link set lo up
	for address in 127.0.0.1 ::1; do
		ip netns exec hostC rping -s -a "$address" -P </dev/null \
			>"$WORK/elsewhere.log" 2>&1 &
		elsewhere=$!
		# asked: true if the program has tried to listen
		asked() { rdma resource show cm_id | grep -q ':7174' || exited "$elsewhere"; }
		wait_for asked >"$WORK/asked"
		is "loopback: $address, server in a namespace without a device" \
			"$(listeners hostA) $(listeners hostB)" '0 0'
		kill $elsewhere 2>/dev/null
		wait $elsewhere 2>/dev/null
	done
	must ip netns del hostC
	must ip -n hostA link add loX type veth peer name loY
	must ip -n hostA link set loX up
	must rdma_link hostA kwarpX kwarp loX
	for address in 127.0.0.1 ::1; do
		server loopback on_a rping -s -a "$address" -P
		wait_for known >"$WORK/known"
		is "loopback: $address, no device on lo" "$(listeners hostA)" 0
		must rdma_link hostA kwarpL kwarp lo
		must rdma_link hostB kwarpM kwarp lo
		ok "loopback: $address, devices on lo" wait_for listens
		is "loopback: $address, the other namespace" "$(listeners hostB)" 0
		ok "loopback: $address, the device on lo came later" \
			on_a rping -c -a "$address" -v -V -C 5
		must rdma link delete kwarpL
		must rdma link delete kwarpM
		ok "loopback: $address, the device on lo has gone" wait_for silent
		stop loopback
	done
	must rdma link delete kwarpX
	must ip -n hostA link del loX
}

# loopback_connections: for a loopback address rdma_cm takes any device, here that of A, but the
# connection must stay in the namespace of the program
loopback_connections() {
	must rdma_link hostA kwarpL kwarp lo
	must rdma_link hostB kwarpM kwarp lo
	for address in 127.0.0.1 ::1; do
		PORT=7174 server rpingA on_a rping -s -a "$address" -P
		ok "loopback: $address, in A" on_a rping -c -a "$address" -v -V -C 5
		rejected "loopback: $address, in B: A's server is not reached" on_b "$address"
		PORT=7174 server rpingB on_b rping -s -a "$address" -P
		stop rpingA
		ok "loopback: $address, in B" on_b rping -c -a "$address" -v -V -C 5
		rejected "loopback: $address, in A: B's server is not reached" on_a "$address"
		stop rpingB
	done
	must rdma link delete kwarpL
	must rdma link delete kwarpM
}

# removals MODE: devices that are removed with their namespace or netdev; MODE is shared or
# exclusive
removals() {
	# Programs in a namespace keep the namespace alive until they end.
	holds "$1: connection" connected
	must ip netns del hostA
	holds "$1: namespace deleted with a program inside: its connection stays" refuses_to_end \
		holdA holdB
	killed holdA
	ok "$1: last program gone: the device is removed" wait_for nowhere "$DEV_A"
	holds "$1: last program gone: peer is notified" prints holdB 'cm RDMA_CM_EVENT_DISCONNECTED'
	finish holdB
	ok "$1: the other namespace is removed" no_hosts

	hosts
	holds "$1: connection, again" connected
	must ip -n hostA link set vA netns hostB
	ok "$1: netdev moved: the device is removed" wait_for nowhere "$DEV_A"
	holds "$1: netdev moved: its program is notified" prints holdA \
		'async local catastrophic error|cm RDMA_CM_EVENT_(DEVICE_REMOVAL|DISCONNECTED)'
	# The peer gets no notification, because the wire no longer joins the two hosts.
	holds "$1: netdev moved: the program ends" finish holdA
	stop holdB
	ok "$1: netdev moved: a device in its new namespace" \
		on_b rdma link add "$DEV_A" type kwarp netdev vA
	ok "$1: netdev moved: and removed" no_hosts

	hosts
	holds "$1: connection, once more" connected
	must ip -n hostA link set vA netns hostB
	ok "$1: netdev moved: a device of the same name on it at once" on_b rdma link add "$DEV_A" \
		type kwarp netdev vA
	ok "$1: netdev moved: the new device exists" wait_for anywhere "$DEV_A"
	holds "$1: netdev moved: the old device's program has ended" finish holdA
	stop holdB
	ok "$1: netdev moved: the new device is removed" no_hosts

	hosts
	ip netns del hostA
	ok "$1: namespace deleted, idle: the device is removed" wait_for nowhere "$DEV_A"
	ok "$1: namespace deleted, idle: so is the peer's, with its end of the wire" \
		wait_for nowhere "$DEV_B"
	ok "$1: nothing is left" no_hosts
}

# moves_while_made: a device is made while its netdev moves to another namespace, at different
# moments. True if no device is left behind.
moves_while_made() {
	local i add
	for ((i = 0; i < 40; i++)); do
		ip -n hostA link add moving type dummy || return
		on_a rdma link add moving type kwarp netdev moving 2>/dev/null &
		add=$!
		sleep ".00$((i % 10))"
		ip -n hostA link set moving netns hostB || return
		wait "$add"
		wait_for nowhere moving || return
		ip -n hostB link del moving || return
	done
}

both_end() { finish holdA && finish holdB; }
killed() { kill -9 "${SERVERS[$1]}"; finish "$1" 2>/dev/null; }
refuses_to_end() {
	local name
	sleep 1
	for name; do
		kill -0 "${SERVERS[$name]}" || return 1
		! grep -q '^\(cm\|async\)' <(sed '1,/^ready/d' "$WORK/$name.log") || return 1
	done
}

refused() { ! "$@"; }

# refuses NAME REGEX COMMAND...: passes if COMMAND fails with a message that matches
refuses() {
	local name=$1 why=$2
	shift 2
	fails "$name" "$@"
	has "$name: $why" "$why"
}

# ---- who may write policy ----

# stranger WHO KEY VALUE: writes a policy of device A as uid 0, but without the capability over its
# netdev. True if the write is refused for lack of the capability, not for the value or the mode of
# the file.
stranger() {
	local file=/sys/class/infiniband/$DEV_A/kwarp/$2 \
		command=(setpriv --bounding-set=-net_admin --inh-caps=-net_admin)
	[ "$1" = 'without capability' ] || command=(unshare -Urn)
	# shellcheck disable=SC2016 # expanded inside
	! "${command[@]}" sh -c 'test "$(id -u)" = 0 -a -w "$1" && echo "$2" | tee "$1"' sh \
		"$file" "$3" >"$WORK/stranger" 2>&1 &&
		grep -q 'Operation not permitted' "$WORK/stranger"
}

# strangers WHO: tries each key with a valid value
strangers() {
	local file key
	for file in /sys/class/infiniband/"$DEV_A"/kwarp/*; do
		key=$(basename "$file")
		stranger "$1" "$key" "$(cat "$file")" ||
			{ echo "$key"; cat "$WORK/stranger"; return 1; }
	done
	stranger "$1" rendezvous_port 7600 &&
		[ "$(cat "/sys/class/infiniband/$DEV_A/kwarp/rendezvous_port")" = 0 ]
}

# again: writes the current values once more
again() {
	local file
	for file in /sys/class/infiniband/"$DEV_A"/kwarp/*; do
		cat "$file" >"$WORK/value" && cat "$WORK/value" >"$file" || return 1
	done
}

# ---- shared ----

run rdma system show netns
has 'shared is the default' '^netns shared'
hosts
ok 'policy: without the capability' strangers 'without capability'
ok 'policy: from another user namespace' strangers 'user namespace'
ok 'policy: written by its owner' again
is 'shared: seen from inside' "$(sees hostA)" "$DEV_A $DEV_B"
is 'shared: seen from outside' "$(sees_init)" "$DEV_A $DEV_B"
refuses 'shared: a device does not move' 'not supported' on_a rdma dev set "$DEV_A" netns hostB
refuses 'shared: no change of mode with namespaces' 'busy' rdma system set netns exclusive
ok 'shared: no device for a namespace that its netdev has left' moves_while_made
works shared
each_serves shared
loopback_listeners
loopback_connections
# A program of another namespace has opened the device that is removed.
server holdX on_b "$HOLD" open "$DEV_A"
must prints holdX '^ready'
removals shared
holds "shared: a program elsewhere that had it open was notified" prints holdX \
	'async local catastrophic error'
finish holdX

# ---- exclusive ----

must rdma system set netns exclusive
hosts
is 'exclusive: made in a namespace, seen there' "$(sees hostA)" "$DEV_A"
is 'exclusive: seen in the other' "$(sees hostB)" "$DEV_B"
is 'exclusive: not seen anywhere else' "$(sees_init)" ''
ok 'exclusive: opened from inside' on_a ibv_devinfo -d "$DEV_A"
ok 'exclusive: not opened from outside' refused ibv_devinfo -d "$DEV_A"
ok 'exclusive: not opened from elsewhere' refused on_b ibv_devinfo -d "$DEV_A"
ok 'exclusive: policy from inside' on_a test -w "/sys/class/infiniband/$DEV_A/kwarp/mpa_rev"
ok 'exclusive: statistic from inside' on_a rdma statistic show link "$DEV_A/1"
# sysfs is still that of another namespace
inside() { nsenter --net=/run/netns/hostA kwarpctl "$@"; }
ok 'exclusive: kwarpctl by nsenter: policy' inside policy set "$DEV_A" ird 8
ok 'exclusive: kwarpctl by nsenter: status' inside status "$DEV_A"
inside status >"$WORK/status"
ok 'exclusive: kwarpctl by nsenter: status of all devices' grep -q "^$DEV_A" "$WORK/status"
on_a ip link add dumA type dummy
ok 'exclusive: kwarpctl by nsenter: up' inside up kwarpD netdev dumA ird 8
ok 'exclusive: kwarpctl by nsenter: down' inside down kwarpD
is 'exclusive: kwarpctl by nsenter: down removes the device' "$(sees hostA)" "$DEV_A"
on_a ip link del dumA
refuses 'exclusive: names are unique across namespaces' \
	'Too many open files in system' on_b rdma link add "$DEV_A" type kwarp netdev lo
refuses 'exclusive: a device of another namespace is not deleted' \
	'Wrong device name|No such device' on_b rdma link delete "$DEV_A"
is 'exclusive: that device exists' "$(sees hostA)" "$DEV_A"
works exclusive
each_serves exclusive

server holdA on_a "$HOLD" open "$DEV_A"
must prints holdA '^ready'
must on_a rdma dev set "$DEV_A" netns hostB
is 'moved: seen in the new namespace' "$(sees hostB)" "$DEV_A $DEV_B"
is 'moved: not seen in the old namespace' "$(sees hostA)" ''
holds 'moved: a program receives an event' prints holdA 'async local catastrophic error'
holds 'moved: verbs fail afterwards' prints holdA 'alloc_pd afterwards: Input/output error'
finish holdA
ok 'moved: opened in the new namespace' on_b ibv_devinfo -d "$DEV_A"
PORT=7174 server rping on_b rping -s -a $IP_B
ok 'moved: unusable for the namespace of its netdev' \
	ends_in_error on_a rping -c -a $IP_B -C 1
stop rping
must on_b rdma dev set "$DEV_A" netns hostA
works 'moved back'
holds 'moved with a connection: connection' connected
must on_a rdma dev set "$DEV_A" netns hostB
holds 'moved with a connection: program and peer end' both_end
must on_b rdma dev set "$DEV_A" netns hostA
works 'moved back again'
removals exclusive

must rdma system set netns shared
hosts
works 'shared again'
ok 'nothing is left' no_hosts
ok 'module unloads' wait_for rmmod "$DRIVER"
done_testing
