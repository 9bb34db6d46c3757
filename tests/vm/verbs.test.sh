#!/bin/bash
# verbs: the program "verbs" of tests/verbs: devices, ports, PDs, MRs, CQs, QPs and data transfer.
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
on_a ping -qc 1 $IP6_B >"$WORK/ping"
timeout -k 5 "$(patience 1100)" "$(dirname "$0")/../../build/verbs/verbs" "$@"
