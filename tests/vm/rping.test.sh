#!/bin/bash
# rping: the standard connection test: both directions, IPv4 and IPv6, data verified at both ends.
. "$(dirname "$0")/lib.sh"

hosts_up
# neighbours are known: who waits for an address is not what is tested
on_a ping -qc 1 $IP_B >"$WORK/ping"
on_a ping -qc 1 $IP6_B >"$WORK/ping"
ROUNDS=20

# rping_over SERVER_HOST CLIENT_HOST ADDRESS OPTION...
rping_over() {
	local server=$1 client=$2 address=$3
	shift 3
	PORT=7174 server rping "$server" rping -s -a "$address" -v -V -C $ROUNDS "$@"
	ok "$client to $address: client $*" "$client" rping -c -a "$address" -v -V -C $ROUNDS "$@"
	ok "$client to $address: server $*" finish rping
	is "$client to $address: data of the last round $*" "$(grep -ac "rdma-ping-$((ROUNDS - 1)): " "$WORK/rping.log")" 1
}

rping_over on_b on_a $IP_B
rping_over on_a on_b $IP_A
rping_over on_b on_a $IP6_B
rping_over on_a on_b $IP6_A
for size in 1429 65535; do
	rping_over on_b on_a $IP_B -S $size
done

# the default: any address, one server for several clients
PORT=7174 server rping on_b rping -s -P
for round in 1 2 3; do
	ok "persistent server, client $round" on_a rping -c -a $IP_B -v -V -C 5
done
run on_a rping -c -a $IP_B -p 7175 -C 1
has 'nobody listens there: rejected' 'RDMA_CM_EVENT_REJECTED, error -111'
stop rping
done_testing
