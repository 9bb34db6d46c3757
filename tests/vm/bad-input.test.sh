#!/bin/bash
# bad-input: what a hostile peer sends and a hostile user writes, and a correct peer's traffic for
# comparison: tests/peer's suite. The victim is host A's device; the peer is plain sockets on host B.
# Expected outcomes come from the RFCs; each case names the section.
# Timeout: 600
. "$(dirname "$0")/lib.sh"

binary=${BAD_INPUT:-build/peer/bad_input}
[ -x "$binary" ] || bail "no $binary: make -C tests/peer O=build/peer, in the tree"
hosts_up

# part PATTERN: those suites in a process of their own, so that one that hangs hides nothing else.
# Its totals are GoogleTest's.
part() {
	local log rc=0
	log=$WORK/part.${1//[^a-z]/}
	# not "ip netns exec": the namespace's own sysfs has no hw_counters
	nsenter --net=/run/netns/hostA env DEVICE="$DEV_A" VICTIM_ADDR=$IP_A PEER_ADDR=$IP_B VICTIM_ADDR6=$IP6_A PEER_ADDR6=$IP6_B \
		PEER_NETNS=/run/netns/hostB timeout -k 5 200 "$binary" --gtest_brief=1 --gtest_filter="$1" >"$log" 2>&1 || rc=$?
	[ $rc -eq 0 ] || FAILED=$((FAILED + 1))
	tr -cd '[:print:]\n\t' <"$log" | grep -v '^Note: Google Test filter'
	grep -aq '^\[==========\].* ran' "$log" || report 1 "$1 runs to its end (status $rc)"
}

# nothing_left: every object that the programs made is gone; the last go with their process.
nothing_left() {
	rdma resource show | grep -q " $DEV_A: pd 0 cq 0 qp 0 cm_id 0 mr 0 ctx 0"
}

for pattern in 'modes/*:Conformance.*' 'request/*:Startup.*' 'reply/Active*:Active.*' 'Forms.*' '*Rtr*' 'peer/*' 'fpdu/*' 'marker/*' \
	'tagged/*' 'untagged/*' 'read_request/*' 'read_response/*' 'terminate/*' 'Ring.*' 'Ends.*'; do
	part "$pattern"
done
ok 'no object is left' wait_for nothing_left
done_testing
