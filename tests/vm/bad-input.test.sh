#!/bin/bash
# bad-input: tests/peer's suite: input from a hostile peer, writes by a hostile user, and a correct
# peer's traffic for comparison. The victim is host A's device; the peer is plain sockets on host B.
# Expected outcomes come from the RFCs; each case names the section.
. "$(dirname "$0")/lib.sh"

binary=${BAD_INPUT:-build/peer/bad_input}
[ -x "$binary" ] || bail "no $binary: make -C tests/peer O=build/peer, in the tree"
hosts_up

# part PATTERN: runs the matching suites in their own process, so that one that hangs does not hide
# others. The totals are GoogleTest's.
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

# nothing_left: all objects of the programs are gone; the last ones go when their process ends
nothing_left() {
	rdma resource show | grep -q " $DEV_A: pd 0 cq 0 qp 0 cm_id 0 mr 0 ctx 0"
}

patterns=('modes/*:Conformance.*' 'request/*:Startup.*' 'reply/Active*:Active.*' 'Forms.*' '*Rtr*'
	'peer/*' 'fpdu/*' 'marker/*')
# Without what is about MPA alone: malformed frames, old forms of startup, FPDUs and markers. In the
# other parts: CRCs, segments of TCP, turns, the peer-to-peer model asked for, a count of sockets.
[ "${LLP:-tcp}" = tcp ] ||
	patterns=('modes/*:Conformance.*-*.crc_*:*.no_message_is_cut*:*.responder_waits*'
		'Active.*-*.rtr_mismatch*' '*Rtr*-*RtrReply*' 'peer/Leave*')
for pattern in "${patterns[@]}" 'tagged/*' 'untagged/*' 'read_request/*' 'read_response/*' \
	'terminate/*' 'Ring.*' 'Ends.*'; do
	part "$pattern"
done
ok 'no object is left' wait_for nothing_left

# The module logs ten messages about peers in a minute; such a minute begins with a message.
floods() {
	dmesg | grep -E "infiniband ($DEV_A|$DEV_B): peer " | tr -d '[]' | awk '
		{ at[NR] = $1 }
		NR > 20 && at[NR] - at[NR - 20] < 59 { flood = 1 }
		END { print NR, "messages"; exit !NR || flood }'
}
ok 'strangers do not flood the kernel log' floods
done_testing
