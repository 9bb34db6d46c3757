#!/bin/bash
# conformance: runs tests/peer/conformance, which checks the device of host A against the rules of
# the RFCs, one by one. The peer is a program with plain sockets on host B. Arguments are passed to
# the program, e.g. scripts/guest/vm.sh tests/vm/conformance.test.sh --gtest_filter='Marker/*'
. "$(dirname "$0")/lib.sh"

binary=${CONFORMANCE:-build/peer/conformance}
[ -x "$binary" ] || bail "no $binary: make -C tests/peer O=build/peer, in the tree"
hosts_up
# Without quickack, streams that arrive byte by byte would wait for delayed acknowledgements.
must ip -n hostA route replace 10.0.0.0/24 dev vA src "$IP_A" quickack 1

# Over SCTP, leave out the cases about MPA: markers, TCP segments, startup frames that are
# malformed, cut off, or of forms older than RFC 6581. For rows of the other tables see of_mpa().
mpa='Marker/*:*Stream/*:*/BadReply.*:*/MalformedRequest.*:*/LeaveEarly.*'
mpa+=':*/Rdmac*:*/RtrFrame*:StartupNonPermissive.*'
if [ "${LLP:-tcp}" = sctp ]; then
	set -- --gtest_filter="-$mpa" "$@"
	# SHUTDOWN would wait for them, too.
	must on_a sysctl -qw net.sctp.sack_timeout=1
	must on_b sysctl -qw net.sctp.sack_timeout=1
fi

# Not "ip netns exec": sysfs of the namespace has no hw_counters.
nsenter --net=/run/netns/hostA env DEVICE="$DEV_A" VICTIM_ADDR=$IP_A PEER_ADDR=$IP_B \
	PEER_NETNS=/run/netns/hostB timeout -k 5 "$(patience 1100)" \
	"$binary" --gtest_brief=1 "$@" 2>&1 |
	tee "$WORK/log"
rc=${PIPESTATUS[0]}
[ "$rc" -eq 0 ] || FAILED=$((FAILED + 1))
grep -aq '^\[==========\].* ran' "$WORK/log" || report 1 "the program runs to its end (status $rc)"

# nothing_left: true if no object of the program is left; the last objects disappear when the
# process ends
nothing_left() {
	rdma resource show | grep -q " $DEV_A: pd 0 cq 0 qp 0 cm_id 0 mr 0 ctx 0"
}
ok 'no object is left' wait_for nothing_left
done_testing
