#!/bin/bash
# removal: the part "removal" of tests/verbs: devices that are removed while programs use them.
# (nvme-removal does the same to kernel consumers.)
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
PROGRAM=$(dirname "$0")/../../build/verbs/removal
# These have peers of their own, which speak TCP.
not=
[ "${LLP:-tcp}" != sctp ] || not='*.connecting__peer_says_nothing:*.refused__peers_stay'
RDMAV_ALLOW_DISASSOC_DESTROY=1 timeout -k 5 "$(patience 1100)" \
	"$PROGRAM" ${not:+"--gtest_filter=-$not"} "$@"
