#!/bin/bash
# cm: tests/verbs, part "cm": how connections begin and end, under each policy.
. "$(dirname "$0")/lib.sh"

hosts_up
# neighbours are known: who waits for an address is not what is tested
on_a ping -qc 1 $IP_B >"$WORK/ping"
on_a ping -qc 1 $IP6_B >"$WORK/ping"
timeout -k 5 380 "$(dirname "$0")/../../build/verbs/cm" "$@"
