#!/bin/bash
# sctp-session: the program "sctp" of tests/verbs: sessions between a device and the peer of
# tests/peer, an independent implementation of DDP over SCTP.
LLP=sctp
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"

# cases OPTION...: runs the program with these options
cases() {
	timeout -k 5 "$(patience 1100)" "$(dirname "$0")/../../build/verbs/sctp" "$@" ||
		FAILED=$((FAILED + 1))
}
[ $# -eq 0 ] || { cases "$@"; exit $((FAILED > 0)); }
cases --gtest_filter=-sctp_hold.*
# Cases with a thread that is held in SCTP's send function.
if has_kprobes register_kprobe sctp_hold; then
	must modprobe kwarp_ktest hold=1
	cases --gtest_filter=sctp_hold.*
	must rmmod kwarp_ktest
fi
exit $((FAILED > 0))
