#!/bin/bash
# faults: the part "faults" of tests/verbs: memory runs out at each point of each call. For the
# debug kernel; others have no fault injection and skip it. KWARP_THOROUGH=1 adds each point of
# "rdma link add", which takes 15 minutes.
# Timeout: 1800
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
timeout -k 5 "$(patience 1780)" "$(dirname "$0")/../../build/verbs/faults" "$@"
