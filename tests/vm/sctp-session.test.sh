#!/bin/bash
# sctp-session: the part "sctp" of tests/verbs: sessions of the independent peer with a device.
LLP=sctp
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"

# cases OPTION...: runs the program
cases() {
	timeout -k 5 "$(patience 1100)" "$(dirname "$0")/../../build/verbs/sctp" "$@" ||
		FAILED=$((FAILED + 1))
}
[ $# -eq 0 ] || { cases "$@"; exit $((FAILED > 0)); }
cases --gtest_filter=-sctp_hold.*
# With a thread that stays inside SCTP's send function; user-mode Linux has no kprobes.
if grep -qw register_kprobe /proc/kallsyms; then
	must modprobe kwarp_ktest hold=1
	cases --gtest_filter=sctp_hold.*
	must rmmod kwarp_ktest
fi
exit $((FAILED > 0))
