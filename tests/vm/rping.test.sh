#!/bin/bash
# rping: the standard test of a connection, in both directions, over IPv4 and IPv6, with data
# verified at both ends.
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
on_a ping -qc 1 $IP6_B >"$WORK/ping"
ROUNDS=20

# rping_over SERVER_HOST CLIENT_HOST ADDRESS OPTION...: rping with verified data
rping_over() {
	local server=$1 client=$2 address=$3
	shift 3
	PORT=7174 server rping "$server" rping -s -a "$address" -v -V -C $ROUNDS "$@"
	ok "$client to $address: client $*" "$client" rping -c -a "$address" -v -V -C $ROUNDS "$@"
	ok "$client to $address: server $*" finish rping
	is "$client to $address: data of the last round $*" \
		"$(grep -ac "rdma-ping-$((ROUNDS - 1)): " "$WORK/rping.log")" 1
	# The server prints the data that it has read in each round.
	ok "$client to $address: data of each round $*" each_right ||
		echo '# wrong data: what the server of rping has read'
}

# each_right: true if the server has printed the data of all rounds, and they are right
each_right() {
	cat "$WORK/rping.log"
	[ "$(grep -ac '^server ping data: rdma-ping-' "$WORK/rping.log")" -eq "$ROUNDS" ]
}

rping_over on_b on_a $IP_B
rping_over on_a on_b $IP_A
rping_over on_b on_a $IP6_B
rping_over on_a on_b $IP6_A
for size in 1429 65535; do
	rping_over on_b on_a $IP_B -S $size
done
# Both ends on one device, over lo, whose segments have room for more than the longest ULPDU, 64768.
for size in 64754 64755 65024; do
	rping_over on_b on_b $IP_B -S $size
done

# the default of rping: the wildcard address, one server for several clients
PORT=7174 server rping on_b rping -s -P
for round in 1 2 3; do
	ok "persistent server, client $round" on_a rping -c -a $IP_B -v -V -C 5
done
run on_a rping -c -a $IP_B -p 7175 -C 1
has 'no listener on the port: rejected' 'RDMA_CM_EVENT_REJECTED, error -111'

# overflows: prints the number of connections that were dropped because a listener's queue was full
overflows() { on_b nstat -asz TcpExtListenOverflows | awk '$1 ~ /Overflows/ { print $2 }'; }

# connected CLIENTS: true if that many clients have a TCP connection
connected() { [ "$(on_a ss -Htn state established dport = :7174 | wc -l)" -eq "$1" ]; }

# crowd CLIENTS: starts that many clients while the server is stopped, and continues the server when
# all have a TCP connection. Each client compares its data and must succeed. The time limit begins
# when the server continues, because the clients may take long to start.
crowd() {
	local i rc log status=0
	kill -STOP "${SERVERS[rping]}"
	for ((i = 0; i < $1; i++)); do
		server "client.$i" on_a rping -c -a "$IP_B" -v -V -C "$ROUNDS"
	done
	wait_for connected "$1" || status=1
	kill -CONT "${SERVERS[rping]}"
	for ((i = 0; i < $1; i++)); do
		rc=0 log=$WORK/client.$i.log
		finish "client.$i" || rc=$?
		[ "$(grep -ac '^ping data: rdma-ping-' "$log")" -eq "$ROUNDS" ] || rc=1
		[ "$rc" -eq 0 ] || { status=1; echo "client $i: $rc"; cat "$log"; }
	done
	return "$status"
}

# The server asks for a backlog of 3. The other clients must wait; none may be refused, and none may
# need to send its request again. The first client waits for the start of the last one.
before=$(overflows)
echo 600000 >"/sys/class/infiniband/$DEV_B/kwarp/answer_timeout_ms"
echo 600000 >"/sys/class/infiniband/$DEV_A/kwarp/answer_timeout_ms"
ok '32 clients at once' crowd 32
is "32 clients at once: the listener's queue had room for all" "$(overflows)" "$before"
stop rping

# Workers that make or accept a connection, with rdma_cm or without, must not allocate memory in a
# way that could wait for a disk.
must modprobe kwarp_ktest reclaim=1
rping_over on_b on_a $IP_B
must rendezvous on
index=$(gid_index "$DEV_A" "$GID_A")
PORT=18515 server pingpong on_b ibv_rc_pingpong -d "$DEV_B" -g "$index" -n 20
ok 'without rdma_cm' on_a ibv_rc_pingpong -d "$DEV_A" -g "$index" -n 20 $IP_B
ok 'without rdma_cm: server' finish pingpong
watched=/sys/module/kwarp_ktest/parameters
is 'allocations of connect, accept, both kinds of work: seen' \
	"$(tr ',' '\n' <$watched/seen | grep -c '^[1-9]')" 4
is 'no allocation may wait for a disk' "$(cat $watched/with_io)" 0,0,0,0
must rmmod kwarp_ktest
done_testing
