#!/bin/bash
# ib-style: queue pairs brought up by modify_qp with a number and a GID, without rdma_cm: the
# program "ib_style" of tests/verbs, and other programs that work this way.
. "$(dirname "$0")/lib.sh"

top=$(dirname "$0")/../..

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
on_a ping -qc 1 $IP6_B >"$WORK/ping"

timeout -k 5 "$(patience 1100)" "$top/build/verbs/ib_style" "$@" || FAILED=$((FAILED + 1))
[ $# -eq 0 ] || done_testing

must rendezvous on

# pair PROGRAM OPTION...: runs the server on B and the client on A, each on its own device
pair() {
	PORT=18515 server pair on_b "$1" -d "$DEV_B" "${@:2}" ||
		{ report 1 "$*: server listens" "$WORK/pair.log"; return; }
	ok "$*" on_a "$1" -d "$DEV_A" "${@:2}" $IP_B
	ok "$*: server" finish pair
	# with -c: the exit status does not depend on the data
	wrong_data "$WORK/pair.log" >"$WORK/out"
	[ ! -s "$WORK/out" ] || report 1 "$*: data" "$WORK/out"
}

two_devices() {
	ip -n hostB link add dB type dummy && end_up hostB dB 10.0.1.2 fd01::2 1500 &&
		rdma_link hostB "${DRIVER_B}C" "$DRIVER_B" dB &&
		echo 7600 >"/sys/class/infiniband/${DRIVER_B}C/kwarp/rendezvous_port" &&
		[ "$(on_b ss -Htln 'sport = :7600' | wc -l)" -eq 2 ]
}

port_in_use() {
	echo 7601 >"/sys/class/infiniband/${DRIVER_B}C/kwarp/rendezvous_port"
}

# The listener in the kernel must not keep the namespace alive: its devices are removed, one by one,
# and the wire with them.
namespace_ends() {
	stop taken
	echo 7600 >"/sys/class/infiniband/${DRIVER_B}C/kwarp/rendezvous_port" &&
		ip netns del hostB &&
		wait_for test ! -d "/sys/class/infiniband/$DEV_B" &&
		wait_for test ! -d "/sys/class/infiniband/${DRIVER_B}C" &&
		wait_for no_netdev hostA vA
}

no_netdev() {
	! ip -n "$1" link show "$2"
}

v4=$(gid_index "$DEV_A" "$GID_A")
v6=$(gid_index "$DEV_A" fd00:0000:0000:0000:0000:0000:0000:0001)
there4=$(gid_index "$DEV_B" "$GID_B")
there6=$(gid_index "$DEV_B" fd00:0000:0000:0000:0000:0000:0000:0002)
is 'both devices have their GIDs in the same order' "$v4 $v6" "$there4 $there6"

for index in "$v4" "$v6" 0; do
	pair ibv_rc_pingpong -g "$index" -n 200
done
pair ibv_rc_pingpong -g "$v4" -n 100 -e
pair ibv_rc_pingpong -g "$v4" -n 100 -c -s 1
pair ibv_rc_pingpong -g "$v4" -n 20 -c -s 1000000
pair ibv_srq_pingpong -g "$v4" -n 100 -q 8
pair ibv_srq_pingpong -g "$v6" -n 100 -e

# perftest without -R. -x: perftest selects an IPv6 address by itself only for RoCE.
pair ib_write_bw -F -x "$v4" -n 200 -s 65536
pair ib_write_bw -F -x "$v4" -n 100 -q 4 -b
pair ib_read_bw -F -x "$v6" -n 100 -s 8192
pair ib_send_bw -F -x "$v4" -n 200 -s 4096
pair ib_send_bw -F -x "$v4" -n 100 -r 64
# With events, except ib_send_bw: that program never posts more receives than messages, whatever -r
# says, so the sender needs a credit before its last message, the only one that completes. If the
# sender waits for an event before, it waits for ever.
pair ib_read_bw -F -x "$v4" -n 100 -e
pair ib_send_lat -F -x "$v4" -n 100 -e
pair ib_write_lat -F -x "$v4" -n 100
pair ib_read_lat -F -x "$v4" -n 100
pair ib_send_lat -F -x "$v4" -n 100
pair ib_atomic_bw -F -x "$v4" -n 100

# Without the policy, modify_qp of the server fails, and the server closes the TCP connection on
# which both exchange addresses. The errno that the client prints then comes from a much earlier
# call of libibverbs.
must rendezvous off
before=$(counter "$DEV_B" rendezvous_disabled)
PORT=18515 server refused on_b ibv_rc_pingpong -d "$DEV_B" -g "$v4"
fails 'policy off: client' on_a ibv_rc_pingpong -d "$DEV_A" -g "$v4" $IP_B
has 'policy off: error of the client' "Couldn't read/write remote address"
fails 'policy off: server' finish refused
cp "$WORK/refused.log" "$WORK/out"
has 'policy off: error of the server' 'Failed to modify QP to RTR'
is 'policy off: counted' "$(counter "$DEV_B" rendezvous_disabled)" $((before + 1))
must rendezvous on

# The listener serves both families whatever the default of new sockets is.
must rendezvous off
must on_b sysctl -qw net.ipv6.bindv6only=1
must on_a sysctl -qw net.ipv6.bindv6only=1
must rendezvous on
pair ibv_rc_pingpong -g "$v4" -n 20
pair ibv_rc_pingpong -g "$v6" -n 20
must on_b sysctl -qw net.ipv6.bindv6only=0
must on_a sysctl -qw net.ipv6.bindv6only=0

# Neither open connections nor listeners keep devices or the module.
PORT=18515 server alone on_b ibv_rc_pingpong -d "$DEV_B" -g "$v4"
is 'the policy can be read' "$(cat "/sys/class/infiniband/$DEV_A/kwarp/rendezvous_port")" 7600
ok 'two devices of one namespace have the same port' two_devices
PORT=7601 must server taken on_b python3 -c \
	'import signal,socket; s=socket.create_server(("", 7601)); signal.pause()'
fails 'a port that is in use is refused' port_in_use
has 'a port that is in use: the reason' 'Address already in use'
stop alone
ok 'a namespace with a listener ends' namespace_ends
hosts_down
ok 'nothing holds the module' wait_for rmmod kwarp
done_testing
