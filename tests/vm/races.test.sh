#!/bin/bash
# races: tests/verbs, part "races": memory that is closed under traffic, numbers that several change.
. "$(dirname "$0")/lib.sh"

hosts_up
# neighbours are known: who waits for an address is not what is tested
on_a ping -qc 1 $IP_B >"$WORK/ping"
timeout -k 5 380 "$(dirname "$0")/../../build/verbs/races" "$@"
