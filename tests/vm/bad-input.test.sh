#!/bin/bash
# bad-input: input from a hostile peer, writes by a hostile user, and the traffic of a correct peer
# for comparison (tests/peer). The victim is the device of host A; the peer is a program with plain
# sockets on host B. Each case names the section of the RFC that defines its expected outcome.
. "$(dirname "$0")/lib.sh"

binary=${BAD_INPUT:-build/peer/bad_input}
[ -x "$binary" ] || bail "no $binary: make -C tests/peer O=build/peer, in the tree"
hosts_up

# part PATTERN: runs the matching test suites in a process of their own, so that a test that hangs
# does not hide the others. The totals are those of GoogleTest.
part() {
	local log rc=0
	log=$WORK/part.${1//[^a-z]/}
	# Not "ip netns exec": sysfs of the namespace has no hw_counters.
	nsenter --net=/run/netns/hostA env DEVICE="$DEV_A" VICTIM_ADDR=$IP_A PEER_ADDR=$IP_B \
		VICTIM_ADDR6=$IP6_A PEER_ADDR6=$IP6_B PEER_NETNS=/run/netns/hostB \
		timeout -k 5 "$(patience 1100)" "$binary" --gtest_brief=1 --gtest_filter="$1" \
		>"$log" 2>&1 || rc=$?
	[ $rc -eq 0 ] || FAILED=$((FAILED + 1))
	tr -cd '[:print:]\n\t' <"$log" | grep -v '^Note: Google Test filter'
	grep -aq '^\[==========\].* ran' "$log" || report 1 "$1 runs to its end (status $rc)"
}

# nothing_left: true if no object of the programs is left; the last objects disappear when their
# process ends
nothing_left() {
	rdma resource show | grep -q " $DEV_A: pd 0 cq 0 qp 0 cm_id 0 mr 0 ctx 0"
}

patterns=('modes/*:Conformance.*' 'request/*:Startup.*' 'reply/Active*:Active.*' 'Forms.*' '*Rtr*'
	'peer/*' 'fpdu/*' 'marker/*')
# Over SCTP, leave out the cases about MPA: malformed startup frames, old forms of startup, FPDUs
# and markers; and in the other parts: CRCs, TCP segments, lengths of FPDUs, the order in which the
# sides may send, the request for the peer-to-peer model, a reply of the request's revision without
# S, a count of sockets.
[ "${LLP:-tcp}" = tcp ] ||
	patterns=('modes/*:Conformance.*-*.crc_*:*.fpdus_*:*.no_message_is_cut*:*.responder_waits*'
		'Active.*-*.rtr_mismatch*:*.unenhanced_reply*' '*Rtr*-*RtrReply*' 'peer/Leave*')
for pattern in "${patterns[@]}" 'tagged/*' 'untagged/*' 'read_request/*' 'read_response/*' \
	'terminate/*' 'Ring.*' 'Ends.*'; do
	part "$pattern"
done
ok 'no object is left' wait_for nothing_left

# The module logs at most ten messages about peers per minute, counted from the first message.
floods() {
	dmesg | grep -E "($DEV_A|$DEV_B): peer " | tr -d '[]' | awk '
		{ at[NR] = $1 }
		NR > 20 && at[NR] - at[NR - 20] < 59 { flood = 1 }
		END { print NR, "messages"; exit !NR || flood }'
}
ok 'strangers do not flood the kernel log' floods
done_testing
