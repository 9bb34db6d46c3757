#!/bin/bash
# removal: the program "removal" of tests/verbs: devices are removed while programs use them. The
# suite nvme-removal does the same with consumers in the kernel.
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
PROGRAM=$(dirname "$0")/../../build/verbs/removal
# Over SCTP, leave out the cases with a peer that uses a plain TCP socket.
not=
[ "${LLP:-tcp}" != sctp ] || not='*.connecting__peer_says_nothing:*.refused__peers_stay'
RDMAV_ALLOW_DISASSOC_DESTROY=1 timeout -k 5 "$(patience 1100)" \
	"$PROGRAM" ${not:+"--gtest_filter=-$not"} "$@"
