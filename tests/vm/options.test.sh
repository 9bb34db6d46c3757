#!/bin/bash
# options: the program "options" of tests/verbs: rdma_set_option(), and the end of a connection
# whose peer no longer answers.
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
on_a ping -qc 1 $IP6_B >"$WORK/ping"
timeout -k 5 "$(patience 1100)" "$(dirname "$0")/../../build/verbs/options" "$@"
