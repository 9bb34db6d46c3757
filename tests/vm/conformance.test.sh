#!/bin/bash
# conformance: tests/peer/conformance on the device: what the RFCs say of an endpoint, case by case. The
# device under test is host A's; the peer is plain sockets on host B. Arguments go to the program, e.g.
#	scripts/guest/vm.sh tests/vm/conformance.test.sh --gtest_filter='Marker/*'
# Timeout: 600
. "$(dirname "$0")/lib.sh"

binary=${CONFORMANCE:-build/peer/conformance}
[ -x "$binary" ] || bail "no $binary: make -C tests/peer O=build/peer, in the tree"
hosts_up
# Streams that come octet by octet would wait for delayed acknowledgements otherwise.
must ip -n hostA route replace 10.0.0.0/24 dev vA src "$IP_A" quickack 1

# not "ip netns exec": the namespace's own sysfs has no hw_counters
nsenter --net=/run/netns/hostA env DEVICE="$DEV_A" VICTIM_ADDR=$IP_A PEER_ADDR=$IP_B PEER_NETNS=/run/netns/hostB \
	timeout -k 5 580 "$binary" --gtest_brief=1 "$@" 2>&1 | tee "$WORK/log"
rc=${PIPESTATUS[0]}
[ "$rc" -eq 0 ] || FAILED=$((FAILED + 1))
grep -aq '^\[==========\].* ran' "$WORK/log" || report 1 "the program runs to its end (status $rc)"

# nothing_left: every object that the program made is gone; the last go with the process.
nothing_left() {
	rdma resource show | grep -q " $DEV_A: pd 0 cq 0 qp 0 cm_id 0 mr 0 ctx 0"
}
ok 'no object is left' wait_for nothing_left
done_testing
