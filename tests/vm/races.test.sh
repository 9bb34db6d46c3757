#!/bin/bash
# races: the program "races" of tests/verbs: memory regions and windows that are invalidated while
# the peer accesses them, and values that several threads change.
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
timeout -k 5 "$(patience 1100)" "$(dirname "$0")/../../build/verbs/races" "$@"
