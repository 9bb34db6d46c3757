#!/bin/bash
# faults: tests/verbs, part "faults": memory runs out at each point of each call. For the debug kernel; others have no
# fault injection, and skip it. KWARP_THOROUGH=1: at each point of "rdma link add", too, which takes 15 minutes.
# Timeout: 1800
. "$(dirname "$0")/lib.sh"

hosts_up
# neighbours are known: who waits for an address is not what is tested
on_a ping -qc 1 $IP_B >"$WORK/ping"
timeout -k 5 1780 "$(dirname "$0")/../../build/verbs/faults" "$@"
