#!/bin/bash
# live-fuzz: random sessions, mostly valid, with random deviations, between the device of host A and
# a peer on plain sockets (tests/peer/fuzz). Runs for KWARP_FUZZ_SECONDS (default: 60); the first
# seed is KWARP_FUZZ_SEED (default: random). KWARP_FUZZ_SESSIONS limits the number of sessions: to
# repeat a failed session, set its seed and 1. KWARP_SHORT runs 300 sessions from a fixed seed. With
# LLP=sctp the sessions use DDP over SCTP.
. "$(dirname "$0")/lib.sh"

binary=${LIVE_FUZZ:-build/peer/live_fuzz}
[ -x "$binary" ] || bail "no $binary: make -C tests/peer O=build/peer, in the tree"
hosts_up

nothing_left() {
	rdma resource show | grep -q " $DEV_A: pd 0 cq 0 qp 0 cm_id 0 mr 0 ctx 0"
}

seconds=${KWARP_FUZZ_SECONDS:-60}
limits=(--seconds "$seconds")
[ -z "${KWARP_SHORT:-}" ] || limits=(--sessions 300 --seed 1)
[ -z "${KWARP_FUZZ_SEED:-}" ] || limits+=(--seed "$KWARP_FUZZ_SEED")
[ -z "${KWARP_FUZZ_SESSIONS:-}" ] ||
	limits=(--sessions "$KWARP_FUZZ_SESSIONS" --seed "${KWARP_FUZZ_SEED:-1}" --verbose)

# Not "ip netns exec": sysfs of the namespace has no kwarp directory.
nsenter --net=/run/netns/hostA env DEVICE="$DEV_A" VICTIM_ADDR=$IP_A PEER_ADDR=$IP_B \
	PEER_NETNS=/run/netns/hostB timeout -k 5 "$(patience $((seconds + 250)))" \
	"$binary" "${limits[@]}" >"$WORK/fuzz" 2>&1 </dev/null
status=$?
grep -av '^1\.\.' "$WORK/fuzz"
TESTS=$(grep -acE '^(not )?ok ' "$WORK/fuzz")
report $status "the fuzzer runs to its end"
ok 'no object is left' wait_for nothing_left
done_testing
