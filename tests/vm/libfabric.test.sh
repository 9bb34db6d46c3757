#!/bin/bash
# libfabric: its provider verbs finds the device; fi_pingpong runs over connected endpoints and,
# with ofi_rxm, over reliable datagram endpoints, and compares every byte.
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
on_a ping -qc 1 $IP6_B >"$WORK/ping"

ok 'fi_info: verbs' on_a fi_info -p verbs
has 'fi_info: lists the device' "domain: $DEV_A"
has 'fi_info: protocol is iWARP' 'protocol: FI_PROTO_IWARP'
ok 'fi_info: verbs;ofi_rxm' on_a fi_info -p 'verbs;ofi_rxm' -t FI_EP_RDM
has 'fi_info: reliable datagrams on the device' "domain: $DEV_A"
ok 'fi_info: capabilities' on_a fi_info -p verbs -t FI_EP_MSG -c 'FI_RMA|FI_ATOMIC|FI_MSG'

# results FILE: prints the size, the messages sent and the messages acknowledged, for each size of
# which all messages were compared
results() {
	awk '$2 ~ /^[0-9]+$/ && $3 ~ /^=/ { print $1, $2, $3 }' "$1"
}

# over_or_left SIDE: true if the program has ended, or rxm has closed its endpoint
over_or_left() {
	! kill -0 "${SERVERS[$1]}" 2>/dev/null || left "$1"
}

left() {
	grep -q rxm_process_shutdown "$WORK/$1.log"
}

# side_right SIDE: true if the program ends by itself, or hangs after it has printed its results and
# rxm has closed its endpoint. After the results, each side waits for a "fin" of the other, which
# then disconnects. If rxm handles the disconnect first, it destroys the queue pair and with it the
# completion of "fin", which is already in the completion queue, and the program waits for ever. We
# saw this in its log and in rx_fpdus; other drivers drop these completions, too.
side_right() {
	local side=$1 patience=60 rc=0
	wait_for over_or_left "$side"
	! left "$side" || patience=5
	finish "$side" $patience 2>/dev/null || rc=$?
	[ $rc -ne 0 ] || return 0
	echo "exit status $rc"
	[ $rc -eq 124 ] && left "$side" && [ -n "$(results "$WORK/$side.log")" ]
}

# pingpong PROVIDER ENDPOINT ADDRESS [OPTION...]: -c compares the data
pingpong() {
	local provider=$1 endpoint=$2 address=$3 side
	local program=(env FI_LOG_LEVEL=info FI_LOG_SUBSYS=ep_ctrl stdbuf -oL
		       fi_pingpong -p "$provider" -e "$endpoint" -c "${@:4}")
	PORT=47592 server server on_b "${program[@]}"
	server client on_a "${program[@]}" "$address"
	for side in client server; do
		side_right $side >>"$WORK/$side.log" 2>&1
		report $? "$provider $endpoint ${*:4}: $side" "$WORK/$side.log"
	done
	is 'both sides agree' "$(results "$WORK/server.log")" "$(results "$WORK/client.log")"
	cp "$WORK/client.log" "$WORK/out"
}

for over in 'verbs msg' 'verbs;ofi_rxm rdm'; do
	# every size from 64 bytes to 1 MiB; then a small one, one of several FPDUs, and IPv6
	pingpong "${over% *}" "${over#* }" $IP_B -I 5
	has 'includes the largest size' '^1m '
	pingpong "${over% *}" "${over#* }" $IP_B -I 50 -S 1
	pingpong "${over% *}" "${over#* }" $IP_B -I 20 -S 1429
	pingpong "${over% *}" "${over#* }" $IP6_B -I 20 -S 5000 -6
done
pingpong 'verbs;ofi_rxm' rdm $IP_B -I 20 -S 5000 -m tagged
pingpong 'verbs;ofi_rxm' rdm $IP_B -I 3 -S 4000000
done_testing
