#!/bin/bash
# interop-siw: kwarp on A and Linux's siw on B, each as client and as server, with CRC on and off.
export DRIVER_A=kwarp DRIVER_B=siw
. "$(dirname "$0")/lib.sh"

HOLD=$(realpath "$(dirname "$0")/../../build/verbs/hold")
hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
on_a ping -qc 1 $IP6_B >"$WORK/ping"

policy() {
	echo "$2" >"/sys/class/infiniband/$DEV_A/kwarp/$1"
}

TRACE=/sys/kernel/tracing
[ -e $TRACE/events ] || must mount -t tracefs tracefs $TRACE
for event in kwarp_mpa_received kwarp_qp_attach; do
	must sh -c "echo 1 >$TRACE/events/kwarp/$event/enable"
done

# traced NAME EVENT REGEX: passes if kwarp has traced this event since the last call, and each of
# these lines matches
traced() {
	local rc=0
	grep -a "$2: " $TRACE/trace >"$WORK/out"
	: >$TRACE/trace
	[ -s "$WORK/out" ] && ! grep -avEq -- "$3" "$WORK/out" || rc=1
	report $rc "$1" "$WORK/out"
}

# siw_unread: prints the non-empty TCP receive queues of siw's host
siw_unread() {
	on_b ss -Htn state established | awk '$1 > 0'
}

# watch_siw: ends the programs if siw leaves the same bytes unread for patience(10) seconds
watch_siw() {
	local now last='' same=0 most
	most=$(patience 10)
	while sleep 1; do
		now=$(siw_unread)
		if [ -z "$now" ] || [ "$now" != "$last" ]; then
			same=0 last=$now
		elif [ $((same += 1)) -eq "$most" ]; then
			echo "$now" >"$WORK/unread"
			ip netns pids hostA | xargs -r kill
			ip netns pids hostB | xargs -r kill
		fi
	done
}

# pair SERVER COMMAND...: runs COMMAND, which starts SERVER and runs a client. siw's data-ready
# callback does nothing while another thread holds the state lock of the queue pair for writing, and
# is not called again (siw_qp_llp_data_ready(), Linux 6.12). Therefore siw sometimes does not read
# our first Send, which TCP has acknowledged, and both programs wait for ever. We detect this fault
# by the receive queue, and retry only then.
pair() {
	local server=$1 try rc watch
	shift
	for try in 1 2 3; do
		rm -f "$WORK/unread"
		watch_siw &
		watch=$!
		rc=0
		"$@" || rc=$?
		kill $watch
		wait $watch 2>/dev/null
		[ -e "$WORK/unread" ] || return $rc
		sed "s/^/# retry: siw left this unread, attempt $try: /" "$WORK/unread"
		stop "$server"
	done
	return $rc
}

ping_once() {
	local server=$1 client=$2 address=$3
	shift 3
	PORT=7174 server rping "$server" rping -s -a "$address" -v -V -C 10 "$@" || return 1
	run "$client" rping -c -a "$address" -v -V -C 10 "$@"
}

# ping NAME SERVER_HOST CLIENT_HOST ADDRESS [OPTION...]: rping with verified data
ping() {
	local name=$1 rc=0
	shift
	pair rping ping_once "$@" || rc=$?
	report $((rc != 0)) "$name: rping ${*:4}, client" "$WORK/out"
	ok "$name: rping ${*:4}, server" finish rping
}

# perf NAME SERVER_HOST CLIENT_HOST ADDRESS PROGRAM [OPTION...]: perftest's PROGRAM
perf() {
	local name=$1 rc=0
	shift
	pair perftest perftest_pair "$@" -n 50 || rc=$?
	report $((rc != 0)) "$name: ${*:4}, client" "$WORK/out"
	ok "$name: ${*:4}, server" finish perftest
}

# agreed NAME SERVER_HOST CLIENT_HOST ADDRESS KEY VALUE: passes if kwarp reports VALUE as the
# parameter KEY of the connection. Runs without RTR message: siw requests its data-ready callback
# only after it has sent its reply (siw_accept(), Linux 6.12). If the RTR message arrives before,
# siw does not read it until the next segment arrives. If the next segment is our FIN, siw may
# report the end of a connection before its establishment, which is a BUG() in iw_cm.
agreed() {
	local name=$1 server=$2 client=$3 address=$4
	must policy p2p 0
	PORT=7500 server holdS "$server" "$HOLD" server "$address" 7500
	server holdC "$client" "$HOLD" client "$address" 7500
	wait_for grep -q '^ready' "$WORK/holdC.log"
	is "$name: $5 is $6" "$(rdma -j -dd resource show qp link "$DEV_A" | python3 -c "
import json, sys
print([q['drv_$5'] for q in json.load(sys.stdin)])")" "[$6]"
	wait_for grep -q '^ready' "$WORK/holdS.log"
	stop holdC
	stop holdS
	must policy p2p 1
}

# between NAME SERVER_HOST CLIENT_HOST ADDRESS: runs all programs
between() {
	ping "$@" -S 65535
	perf "$@" ib_write_bw -s 65536
	perf "$@" ib_read_bw -s 65536
	perf "$@" ib_send_bw -s 1429
}

for crc in 1 0; do
	must policy crc $crc
	agreed "crc $crc, kwarp to siw" on_b on_a $IP_B crc $crc
	between "crc $crc, kwarp to siw" on_b on_a $IP_B
	agreed "crc $crc, siw to kwarp" on_a on_b $IP_A crc $crc
	between "crc $crc, siw to kwarp" on_a on_b $IP_A
done
must policy crc 1
perf 'kwarp to siw' on_b on_a $IP_B ib_write_lat -s 64
# siw never asks for peer-to-peer mode, so kwarp as responder may not send first (RFC 5044 7.1.2).
# In ib_write_lat the server sends first, so the program would hang with kwarp as server.
perf 'siw to kwarp' on_a on_b $IP_A ib_send_lat -s 64
ping 'IPv6, kwarp to siw' on_b on_a $IP6_B
ping 'IPv6, siw to kwarp' on_a on_b $IP6_A

# other forms of startup with siw
must policy p2p 0
: >$TRACE/trace
ping 'client-server model, kwarp to siw' on_b on_a $IP_B
traced 'client-server model, kwarp to siw: no reply has flag A' kwarp_mpa_received \
	'type=reply rev=2 .* s=1 p2p=0 '
must policy p2p 1
must policy mpa_rev 1
# siw echoes the S bit of the request without interpreting it, so our request must not set the bit.
must policy p2p 'send write read'
# Only Writes, because siw then reports no read depth to its consumer, on which rping and ib_read_bw
# rely.
: >$TRACE/trace
perf 'revision 1, kwarp to siw' on_b on_a $IP_B ib_write_bw -s 4096
perf 'revision 1, kwarp to siw' on_b on_a $IP_B ib_send_bw -s 4096
traced 'revision 1, kwarp to siw: agreed' kwarp_qp_attach ' rev=1 '
must policy mpa_rev 2
must policy p2p 1

# siw does not support markers: connection set-up fails at once on both sides.
must policy markers 1
PORT=7174 server rping on_b rping -s -a $IP_B -C 1
run on_a rping -c -a $IP_B -C 1
has 'markers requested from siw: refused, no hang' 'RDMA_CM_EVENT_(REJECTED|CONNECT_ERROR)'
stop rping
must policy markers 0
done_testing
