#!/bin/bash
# faults: the program "faults" of tests/verbs: in each call, each allocation of memory fails once.
# Only the debug kernel has fault injection; other kernels skip the suite. KWARP_THOROUGH=1 adds
# each allocation of "rdma link add", which takes 15 minutes.
# Timeout: 1800
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
timeout -k 5 "$(patience 1780)" "$(dirname "$0")/../../build/verbs/faults" "$@"
