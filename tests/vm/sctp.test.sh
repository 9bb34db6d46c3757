#!/bin/bash
# sctp: DDP over SCTP (RFC 5043): the policy llp, what administrators see, chunks on the wire, a
# network that loses and reorders packets.
. "$(dirname "$0")/lib.sh"

# ---- the policy, before any device uses SCTP ----

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
on_a ping -qc 1 $IP6_B >"$WORK/ping"
llp() { cat "/sys/class/infiniband/$1/kwarp/llp"; }
is 'policy: tcp is the default' "$(llp "$DEV_A")" '[tcp] tcp+sctp sctp+tcp sctp'
fails 'policy: another word' kwarpctl policy set "$DEV_A" llp udp
fails 'policy: two words' kwarpctl policy set "$DEV_A" llp 'tcp sctp'
is 'policy: nothing has changed' "$(llp "$DEV_A")" '[tcp] tcp+sctp sctp+tcp sctp'
ok 'policy: sctp' kwarpctl policy set "$DEV_A" llp sctp
is 'policy: sctp is shown' "$(llp "$DEV_A")" 'tcp tcp+sctp sctp+tcp [sctp]'
ok 'policy: sctp can be used, and is loaded if it is a module' [ -e /proc/net/sctp ]
fails 'policy: no privilege' setpriv --reuid 65534 --clear-groups --bounding-set=-all \
	kwarpctl policy set "$DEV_A" llp tcp

# ---- one end only ----

PORT=7174 server rping on_b rping -s -a $IP_B -v -C 1
run on_a rping -c -a $IP_B -C 1
has 'a listener of TCP does not serve SCTP: rejected' 'RDMA_CM_EVENT_REJECTED, error -111'
ok 'policy: tcp again' kwarpctl policy set "$DEV_A" llp tcp
ok 'policy: tcp again: a connection' on_a rping -c -a $IP_B -C 1
ok 'policy: tcp again: server' finish rping

# ---- both kinds on one port ----

# connects KIND: runs a client with policy KIND; the server goes on
connects() {
	must kwarpctl policy set "$DEV_A" llp "$1"
	run on_a rping -c -a "$IP_B" -v -C 3
}
# listeners [PORT]: prints the numbers of TCP and of SCTP listeners of host B on the port
listeners() {
	echo "$(on_b ss -Htln "sport = :${1:-7174}" | wc -l)" \
		"$(on_b awk -v port="${1:-7174}" '$6 == port' /proc/net/sctp/eps | wc -l)"
}
# listen NUMBERS [PORT]: true if listeners prints NUMBERS
listen() { [ "$(listeners "${2:-}")" = "$1" ]; }
for both in tcp+sctp sctp+tcp; do
	ok "$both: policy" kwarpctl policy set "$DEV_B" llp $both
	PORT=7174 server rping on_b rping -s -a $IP_B -P
	ok "$both: a listener of each" wait_for listen '1 1'
	for kind in tcp sctp tcp+sctp sctp+tcp; do
		ok "$both: a client of $kind" connects $kind
	done
	stop rping
	ok "$both: both listeners end" wait_for listen '0 0'
done
# A connection uses the lower layer that the policy names first.
PORT=7174 server rping on_b rping -s -a $IP_B -P
for kind in tcp+sctp sctp+tcp; do
	must kwarpctl policy set "$DEV_A" llp $kind
	ip netns exec hostA rping -c -a $IP_B >"$WORK/client.log" 2>&1 </dev/null &
	client=$!
	used() { rdma -jdd resource show qp link "$DEV_A/1" >"$WORK/json" && [ "$(value llp)" ]; }
	ok "$kind: a connection" wait_for used
	is "$kind: the connection uses the first" "$(value llp)" ${kind%+*}
	kill $client
	wait $client 2>/dev/null
	unused() { ! used; }
	ok "$kind: the connection ends" wait_for unused
done
stop rping
# If the port number is taken in TCP or in SCTP, the device listens on neither.
for kind in tcp sctp; do
	server taken on_b python3 -c "
import signal, socket
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_${kind^^})
s.bind(('$IP_B', 7175))
s.listen()
signal.pause()"
	taken() { ! listen '0 0' 7175; }
	ok "$kind port taken: by another program" wait_for taken
	run on_b rping -s -a $IP_B -p 7175 -C 1
	has "$kind port taken: refused" 'rdma_listen: Address already in use'
	stop taken
	ok "$kind port taken: nothing is left" wait_for listen '0 0' 7175
done
# Both listeners end with the device, although the program still holds its id.
PORT=7174 server rping on_b rping -s -a $IP_B -P
ok 'removal: rdma link delete' rdma link delete "$DEV_B"
ok 'removal: both listeners end' wait_for listen '0 0'
stop rping
ok 'removal: the device is added again' rdma_link hostB "$DEV_B" "$DRIVER_B" vB

# ---- both ends ----

must kwarpctl policy set "$DEV_A" llp sctp
must kwarpctl policy set "$DEV_B" llp sctp
LLP=sctp
for address in $IP_B $IP6_B; do
	PORT=7174 server rping on_b rping -s -a "$address" -v -V -C 20 -S 65535
	ok "rping to $address" on_a rping -c -a "$address" -v -V -C 20 -S 65535
	ok "rping to $address: server" finish rping
done

# a wildcard server on a host with another netdev: RFC 5043 7.2
must ip -n hostB link add other0 type dummy
must ip -n hostB addr add 192.0.2.1/24 dev other0
must ip -n hostB link set other0 up
PORT=7174 server rping on_b rping -s -P
# The listener follows the addresses of its netdev.
addresses() { on_b awk '$6 == 7174 { for (i = 9; i <= NF; i++) print $i }' /proc/net/sctp/eps; }
address_there() { addresses | grep -qx "$1"; }
address_gone() { ! address_there "$1"; }
is 'wildcard: the addresses of the netdev' "$(addresses)" $IP_B
must ip -n hostA addr add 10.0.9.1/24 dev vA
must ip -n hostB addr add 10.0.9.2/24 dev vB
ok 'wildcard: an address is added' wait_for address_there 10.0.9.2
ok 'wildcard: a connection to the added address' on_a rping -c -a 10.0.9.2 -v -C 3
must ip -n hostB addr del $IP_B/24 dev vB
ok 'wildcard: the first address is removed' wait_for address_gone $IP_B
ok 'wildcard: a connection to the other address' on_a rping -c -a 10.0.9.2 -v -C 3
must ip -n hostB addr del 10.0.9.2/24 dev vB
ok 'wildcard: no address is left' wait_for address_gone 10.0.9.2
loopback() { [ "$(addresses | sed 's/\.[0-9]*$//')" = 127.128.0 ]; }
ok 'wildcard: the listener cannot be reached from outside' wait_for loopback
must ip -n hostB addr add $IP_B/24 dev vB
ok 'wildcard: the first address is added again' wait_for address_there $IP_B
only_address() { [ "$(addresses)" = "$1" ]; }
ok 'wildcard: the listener has no loopback address' wait_for only_address $IP_B
ok 'wildcard: a connection to the first address' on_a rping -c -a $IP_B -v -C 3

# over lo, whose MTU allows the largest segments
for test in ib_write_bw ib_read_bw ib_send_bw; do
	ok "local: $test" perftest_pair on_b on_b $IP_B $test -n 200 -s 65536
	ok "local: $test: server" finish perftest
done

# a client that does not end
ip netns exec hostA rping -c -a $IP_B >"$WORK/client.log" 2>&1 </dev/null &
client=$!
# connected: true if an association is in state ESTABLISHED
connected() { on_a awk 'NR > 1 && $5 == 3 && /10\.0\.0\.2/' /proc/net/sctp/assocs | grep -q .; }
ok 'an association' wait_for connected
is 'the association has the address of its netdev only' \
	"$(on_a sed -n 's/.*<-> *\(.*\)/\1/p' /proc/net/sctp/assocs | grep -c '192\.0\.2\.1')" 0
is 'a stream in each direction' \
	"$(on_a awk 'NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i }
		NR == 2 { print $col["INS"], $col["OUTS"] }' /proc/net/sctp/assocs)" '1 1'

# ---- what an administrator sees ----

shown() { rdma -jdd resource show qp link "$DEV_A/1" >"$WORK/json" && [ "$(value llp)" ]; }
ok 'rdma resource: the connection' wait_for shown
is 'rdma resource: lower layer' "$(value llp)" sctp
# 1500 minus the headers of IPv4, of SCTP and of a chunk, the DDP-SSN, and room for control chunks;
# rounded down to a multiple of 4
is 'rdma resource: mulpdu' "$(value mulpdu)" 1428
is 'rdma resource: remote' "$(value remote)" 10.0.0.2:7174
is 'rdma resource: local' "$(value local | cut -d: -f1)" 10.0.0.1
kill $client
wait $client 2>/dev/null
stop rping
gone() { ! connected; }
ok 'the association ends with its program' wait_for gone

# ---- on the wire ----

# captured FIELD: prints the values of the field in the packets captured so far, one per line
captured() {
	tshark -r "$WORK/wire.pcapng" -T fields -E separator=/s -e "$1" 2>/dev/null |
		tr ', ' '\n' | grep .
}
ip netns exec hostB tshark -q -i vB -w "$WORK/wire.pcapng" >"$WORK/tshark" 2>&1 </dev/null &
capture=$!
capturing() { [ -s "$WORK/wire.pcapng" ]; }
ok 'a capture' wait_for capturing
PORT=7174 server rping on_b rping -s -a $IP_B -v -V -C 5 -S 20000
ok 'a session' on_a rping -c -a $IP_B -v -V -C 5 -S 20000
ok 'a session: server' finish rping
# Wait for the end of the capture: the last chunk is SHUTDOWN COMPLETE or ABORT.
complete() { captured sctp.chunk_type | grep -qxE '14|6'; }
ok 'the session is captured' wait_for complete
kill -INT $capture
wait $capture 2>/dev/null
is 'PPIDs' "$(captured sctp.data_payload_proto_id | sort -u | paste -sd' ')" '16 17'
is 'every chunk is unordered' "$(captured sctp.data_u_bit | sort -u | paste -sd' ')" True
is 'no chunk is a fragment' \
	"$({ captured sctp.data_b_bit; captured sctp.data_e_bit; } | sort -u | paste -sd' ')" True
is 'stream 0' "$(captured sctp.data_sid | sort -u | paste -sd' ')" '0x0000'
is 'adaptation indication in INIT and INIT ACK' \
	"$(captured sctp.adaptation_layer_indication | sort -u)" 0x00000001

# ---- a bad network ----

# Several handshake packets in a row may be lost.
must policy startup_timeout_ms 120000
for fault in 'loss 1%' 'loss 5%' 'delay 1ms reorder 25%' 'duplicate 10%' 'corrupt 2%'; do
	# shellcheck disable=SC2086 # words
	must tc -n hostA qdisc replace dev vA root netem $fault
	# shellcheck disable=SC2086
	must tc -n hostB qdisc replace dev vB root netem $fault
	PORT=7174 server rping on_b rping -s -a $IP_B -v -V -C 30 -S 60000
	LIMIT=300 ok "$fault" on_a rping -c -a $IP_B -v -V -C 30 -S 60000
	ok "$fault: server" finish rping 300
done
must tc -n hostA qdisc del dev vA root
must tc -n hostB qdisc del dev vB root

done_testing
