#!/bin/bash
# sctp-session: the part "sctp" of tests/verbs: sessions of the independent peer with a device.
LLP=sctp
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
timeout -k 5 "$(patience 1100)" "$(dirname "$0")/../../build/verbs/sctp" "$@"
