#!/bin/bash
# options: the part "options" of tests/verbs: rdma_set_option(), and how a connection with a silent
# peer ends.
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
on_a ping -qc 1 $IP6_B >"$WORK/ping"
timeout -k 5 "$(patience 1100)" "$(dirname "$0")/../../build/verbs/options" "$@"
