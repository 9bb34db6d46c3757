#!/bin/bash
# observe: what administrators see: tracepoints, the kernel log, `rdma resource` and `rdma
# statistic`, compared with the negotiated parameters.
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
TRACEFS=/sys/kernel/tracing
[ -e "$TRACEFS"/events ] || must mount -t tracefs tracefs "$TRACEFS"
VERBS=$(dirname "$0")/../../build/verbs/verbs

policy() { echo "$3" >"/sys/class/infiniband/$1/kwarp/$2"; }

# connection: starts rping from A to B, which runs until disconnect(); sets $QPN to the QP of A
connection() {
	PORT=7174 server rping on_b rping -s -a "$IP_B" -P
	server client on_a rping -c -a $IP_B
	wait_for connected
	QPN=$(value lqpn)
}
connected() {
	rdma -jdd resource show qp link "$DEV_A/1" >"$WORK/json" && [ "$(value emss)" ]
}
disconnect() {
	stop client
	stop rping
	wait_for no_qp
}
no_qp() { ! rdma resource show qp link "$DEV_A/1" | grep -q lqpn; }

# ---- tracepoints -----------------------------------------------------------

traced() {
	: >"$TRACEFS"/trace
	echo 1 >"$TRACEFS"/events/kwarp/enable
	"$@" >"$WORK/out" 2>&1 </dev/null
	local rc=$?
	echo 0 >"$TRACEFS"/events/kwarp/enable
	grep -a 'kwarp_' "$TRACEFS"/trace >"$WORK/trace"
	return "$rc"
}
# trace_has NAME REGEX: passes if the last traced command caused a matching event
trace_has() {
	local rc=0
	grep -aEq -- "$2" "$WORK/trace" || rc=1
	[ $rc -eq 0 ] || {
		echo "no event matches: $2"
		cut -c 1-200 "$WORK/trace" | head -n 25
	} >"$WORK/missing"
	report $rc "$1" "$WORK/missing"
}

one_rping() {
	PORT=7174 server rping on_b rping -s -a "$IP_B" -C 3 -S 4000
	timeout "$(patience 60)" ip netns exec hostA rping -c -a "$IP_B" -C 3 -S 4000 &&
		finish rping
}
# pages_for_connections: records the flags of each page that workers allocate for connections
pages_for_connections() {
	local event=$TRACEFS/events/kmem/mm_page_alloc rc
	: >"$TRACEFS/trace"
	echo 'comm ~ "kworker*"' >"$event/filter"
	echo 'stacktrace if comm ~ "kworker*"' >"$event/trigger"
	echo 1 >"$event/enable"
	one_rping >"$WORK/out" 2>&1 </dev/null
	rc=$?
	echo 0 >"$event/enable"
	echo '!stacktrace' >"$event/trigger"
	echo 0 >"$event/filter"
	awk '/mm_page_alloc:/ { flags = $NF }
		/ kwarp_ep_work/ { print flags; n++ }
		END { exit !n }' "$TRACEFS/trace" >"$WORK/pages" &&
		return "$rc"
}
# A disk may depend on the connection, so reclaim for these pages must not write to disks.
no_page_by_io() { ! grep -E 'GFP_KERNEL|GFP_USER|__GFP_IO|__GFP_FS' "$WORK/pages"; }

ok 'pages of connection set-up are seen' pages_for_connections
ok 'pages of connection set-up are allocated without I/O' no_page_by_io
ok 'traced: rping' traced one_rping
A="dev=$DEV_A" B="dev=$DEV_B"
trace_has 'endpoint: connecting' "kwarp_ep_state: $A .* qpn=[1-9][0-9]* from=CONNECTING to=WAIT_REP"
trace_has 'endpoint: established' "kwarp_ep_state: $B .* to=ESTABLISHED"
trace_has 'endpoint: closed' "kwarp_ep_state: $A .* to=CLOSED"
request='type=request rev=2 markers=0 crc=1 reject=0 s=1 p2p=1'
trace_has 'request sent' "kwarp_mpa_sent: $A .*$request rtr=0x7 ird=[1-9]"
trace_has 'request received' "kwarp_mpa_received: $B .*$request"
trace_has 'reply sent' "kwarp_mpa_sent: $B .*type=reply rev=2"
trace_has 'reply received' "kwarp_mpa_received: $A .*type=reply rev=2"
attached='rev=2 crc=1 tx_markers=0 rx_markers=0 ird=[0-9]+ ord=[0-9]+ initiator=1'
trace_has 'attached' "kwarp_qp_attach: $A qpn=[0-9]+ $attached"
trace_has 'QP: OPEN' "kwarp_qp_state: $A qpn=[0-9]+ from=(IDLE|READY) to=OPEN"
trace_has 'QP: ERROR' "kwarp_qp_state: $B qpn=[0-9]+ from=(OPEN|CLOSING) to=ERROR"
trace_has 'detached' "kwarp_qp_detach: $A qpn="
trace_has 'batch sent' "kwarp_tx_batch: $B qpn=[0-9]+ fpdus=[1-9][0-9]* octets=[1-9]"
fpdu='qpn=[0-9]+ pos=[0-9]+ len=1448 ulpdu_len=1442 opcode=READ_RESPONSE last=0'
trace_has 'FPDU sent: 1442 of 4000 bytes' "kwarp_tx_fpdu: $A $fpdu"
trace_has 'the same received' "kwarp_rx_fpdu: $B $fpdu"
trace_has 'batch received' "kwarp_rx_batch: $B qpn=[0-9]+ fpdus=[1-9]"
trace_has 'Send received: first message' "kwarp_rx_fpdu: .*opcode=SEND last=1 msn=1 mo=0"
trace_has 'completion' \
	"kwarp_cqe: $B cqn=[0-9]+ qpn=[0-9]+ wr_id=0x[0-9a-f]+ opcode=[0-9]+ status=0"
trace_has 'flushed completion' "kwarp_cqe: $A .*status=5 "
trace_has 'completion event' "kwarp_cq_event: $A cqn="

# contiguous DEVICE: true if the position and the length of each FPDU give the position of the next
# one, so that each byte of the stream belongs to exactly one FPDU. The events are sorted, because
# each processor has its own trace buffer, and their clocks may differ.
contiguous() {
	awk -v dev="$1" '/kwarp_tx_fpdu:/ && index($0, "dev=" dev " ") {
		match($0, /pos=[0-9]+/); pos = substr($0, RSTART + 4, RLENGTH - 4)
		match($0, / len=[0-9]+/); print pos, substr($0, RSTART + 5, RLENGTH - 5)
	}' "$WORK/trace" | sort -n | awk '
		$1 != next_pos + 0 { print "at", $1, "instead of", next_pos + 0; bad = 1; exit 1 }
		{ next_pos = $1 + $2 }
		END { print NR, "FPDUs"; exit bad || NR < 3 }'
}
ok 'FPDUs of A have no gaps' contiguous "$DEV_A"
ok 'FPDUs of B have no gaps' contiguous "$DEV_B"

ok 'traced: a Write with a wrong STag' traced timeout "$(patience 60)" "$VERBS" \
	--gtest_filter='remote_error.write__no_such_region'
trace_has 'error found by the target' \
	"kwarp_error: $B qpn=[0-9]+ layer=1 etype=1 code=0 .*ulpdu_len=[1-9]"
trace_has 'Terminate sent' "kwarp_terminate_sent: $B qpn=[0-9]+ layer=1 etype=1 code=0"
trace_has 'Terminate received' "kwarp_terminate_received: $A qpn=[0-9]+ layer=1 etype=1 code=0"

# ---- the kernel log -----------------------------------------------------------

# logged NAME REGEX: passes if the kernel log has a matching message about a peer
logged() {
	run dmesg
	has "$1" "$2"
}
address='\[?[0-9a-f.:]+\]?:[0-9]+'
logged 'log: Terminate sent' "$DEV_B: peer $address: QP [0-9]+: Terminate sent: DDP: invalid STag"
logged 'log: Terminate received' \
	"$DEV_A: peer $address: QP [0-9]+: Terminate received: DDP: invalid STag"

refused() {
	policy "$DEV_A" crc required
	policy "$DEV_B" crc off
	PORT=7174 server rping on_b rping -s -a "$IP_B" -C 1
	timeout "$(patience 60)" ip netns exec hostA rping -c -a "$IP_B" -C 1
	stop rping
	policy "$DEV_A" crc preferred
	policy "$DEV_B" crc preferred
	policy "$DEV_A" rendezvous_port 4242
	policy "$DEV_A" rendezvous_port 0
	policy "$DEV_B" paths off
	return 0
}
ok 'traced: policy' traced refused
trace_has 'policy: crc=required' "kwarp_policy: $A key=crc value=2"
trace_has 'policy: crc=off' "kwarp_policy: $B key=crc value=0"
trace_has 'policy: rendezvous_port=4242' "kwarp_policy: $A key=rendezvous_port value=4242"
trace_has 'policy: paths=off' "kwarp_policy: $B key=paths value=0"

garbage() {
	# a client of another protocol
	PORT=7174 server rping on_b rping -s -a "$IP_B" -P
	timeout "$(patience 20)" ip netns exec hostA bash \
		-c "exec 3<>/dev/tcp/$IP_B/7174; echo GET / HTTP/1.0 >&3; cat <&3 >/dev/null"
	wait_for mpa_error_seen
	stop rping
}
mpa_error_seen() { grep -q kwarp_mpa_error: "$TRACEFS"/trace; }
ok 'traced: not MPA' traced garbage
trace_has 'startup error: key' "kwarp_mpa_error: $B reason=key"
logged 'log: failed startup' "$DEV_B: peer $IP_A:[0-9]+: startup: no startup frame of MPA"

link_events() {
	ip -n hostA link set vA down && ip -n hostA link set vA up &&
		rdma link delete "$DEV_A" && rdma_link hostA "$DEV_A" kwarp vA
}
ok 'traced: link' traced link_events
trace_has 'link: down' "kwarp_link: $A netdev=vA what=down"
trace_has 'link: up' "kwarp_link: $A netdev=vA what=up"
trace_has 'link: removed' "kwarp_link: $A netdev=vA what=removed"
trace_has 'link: added' "kwarp_link: $A netdev=vA what=added"
ip -n hostA addr replace $IP6_A/64 dev vA nodad
wait_for on_a ping -qc 1 -W 1 $IP_B

# ---- rdma resource ----------------------------------------------------------

connection
is 'rping: QP is shown' "$(value state)" RTS
is 'revision' "$(value mpa_rev)" 2
is 'CRC' "$(value crc)" 1
is 'markers sent' "$(value tx_markers)" 0
is 'role' "$(value role)" initiator
is 'remote' "$(value remote)" $IP_B:7174
is 'EMSS is TCP'"'"'s' "$(value emss)" \
	"$(on_a ss -Htin "dport = :7174" | grep -oE 'mss:[0-9]+' | head -n 1 | cut -d: -f2)"
is 'MULPDU: EMSS less 6 (RFC 5044 4.5)' "$(value mulpdu)" $(($(value emss) - 6))
# Any number is right: TCP also retransmits if the peer gets no processor to acknowledge.
ok 'retransmits' [ "$(value retransmits)" -ge 0 ]
json_of() { rdma -jdd resource show "$1" | python3 -m json.tool; }
for object in qp cq mr srq cm_id pd; do
	ok "$object: valid JSON" json_of $object
done
rdma -jdd resource show cq >"$WORK/json"
ok 'CQ: size' test "$(value size)" -ge 1
is 'CQ: no overflow' "$(value overflow)" 0
is 'CQ: moderation' "$(value mod_count)/$(value mod_period)" 0/0
rdma -jdd resource show mr >"$WORK/json"
is 'MR: kind' "$(value kind)" user
is 'MR: valid' "$(value valid)" 1
ok 'MR: rkey for administrators' test -n "$(value rkey)"
ok 'MR: lkey for administrators' test -n "$(value lkey)"
# unprivileged: a process without CAP_NET_ADMIN sees neither STags nor addresses
unprivileged() {
	setpriv --reuid 65534 --clear-groups --bounding-set=-all rdma -jdd resource show mr
}
ok 'MR: without privilege' unprivileged
cp "$WORK/out" "$WORK/json"
is 'MR: shown without privilege' "$(value kind)" user
is 'MR: no STag without privilege' "$(value rkey)$(value lkey)$(value iova)" ''

# ---- rdma statistic ---------------------------------------------------------

# qp_counter NAME: prints a value of the counter to which the QP of A is bound
qp_counter() {
	rdma -j statistic qp show link "$DEV_A/1" >"$WORK/json" && value "$1"
}
grown() { [ "$(qp_counter tx_fpdus)" -gt "$1" ]; }

ok 'counter: bind' rdma statistic qp bind link "$DEV_A/1" lqpn "$QPN"
ok 'counter: counts' wait_for grown 0
ok 'counter: keeps counting' wait_for grown "$(qp_counter tx_fpdus)"
run qp_counter tx_fpdus # $WORK/json then has all values, taken at the same time
ok 'counter: tx_octets' test "$(value tx_octets)" -gt "$(value tx_fpdus)"
received() { [ "$(qp_counter rx_fpdus)" -gt 0 ]; }
ok 'counter: received' wait_for received
is 'counter: valid JSON' "$(rdma -j statistic show | python3 -m json.tool >/dev/null && echo yes)" \
	yes
CNTN=$(qp_counter cntn)

# The counter of the port includes the FPDUs of the QP exactly once, whether the QP is bound or not;
# the device has no other traffic. While both programs are stopped, the device only answers requests
# that are already outstanding, with a few FPDUs; the QP's own counter is larger than that.
port_fpdus() { counter "$DEV_A" tx_fpdus; }
ok 'counter: a hundred' wait_for grown 100
kill -STOP "${SERVERS[client]}" "${SERVERS[rping]}"
bound=$(port_fpdus)
ok 'counter: unbind' rdma statistic qp unbind link "$DEV_A/1" cntn "$CNTN" lqpn "$QPN"
unbound=$(port_fpdus)
ok "port: the same sum without the counter ($bound, $unbound)" \
	test "$unbound" -ge "$bound" -a "$unbound" -lt $((bound + 100))
bound=$unbound
kill -CONT "${SERVERS[client]}" "${SERVERS[rping]}"
port_grown() { [ "$(port_fpdus)" -gt "$bound" ]; }
ok 'port: keeps counting' wait_for port_grown
disconnect

ok 'counter: auto' rdma statistic qp set link "$DEV_A/1" auto type on
connection
ok 'auto: QP is bound' wait_for grown 0
is 'auto: to this QP' "$(value lqpn)" "[$QPN]"
disconnect
sum=$(port_fpdus)
ok 'auto: off' rdma statistic qp set link "$DEV_A/1" auto off
is 'port: the sum stays when counters are removed' "$(port_fpdus)" "$sum"

# ---- other negotiated parameters ----------------------------------------------

policy "$DEV_A" crc off
policy "$DEV_B" crc off
policy "$DEV_B" markers 1
connection
is 'CRC: off' "$(value crc)" 0
is 'markers sent: requested by B' "$(value tx_markers)/$(value rx_markers)" 1/0
emss=$(value emss)
is 'MULPDU: less a marker per 512 bytes (RFC 5044 4.5)' "$(value mulpdu)" \
	$((emss - (6 + 4 * ((emss + 511) / 512) + emss % 4)))
disconnect
policy "$DEV_A" mpa_rev 1
policy "$DEV_A" fpdu large
connection
is 'revision 1' "$(value mpa_rev)" 1
is 'MULPDU: MPA'"'"'s limit' "$(value mulpdu)" 64768
disconnect

# ---- dumps while objects come and go ----------------------------------------

# come_and_go: runs cases about objects until a dump has shown some of their objects
come_and_go() {
	local rc=0
	until [ -e "$WORK/shown" ] || [ $rc -ne 0 ]; do
		"$VERBS" --gtest_filter='srq.*:cq.*:qp.*' || rc=$?
	done >"$WORK/come_and_go" 2>&1
	: >"$WORK/over"
	return $rc
}
dumps() {
	local object n=0
	until [ -e "$WORK/over" ]; do
		for object in qp cq srq mr; do
			rdma -dd resource show "$object" >"$WORK/dump" || return 1
			! grep -q "comm $(basename "$VERBS")" "$WORK/dump" || : >"$WORK/shown"
		done
		n=$((n + 1))
	done
	echo "$n rounds"
}
come_and_go &
ok 'dumps while objects come and go' dumps
ok 'a dump has shown an object of the program' [ -e "$WORK/shown" ]
: >"$WORK/shown"
wait $!
report $? 'objects come and go' "$WORK/come_and_go"
done_testing
