#!/bin/bash
# loss: the program "loss" of tests/verbs: transfers in both directions over a network that loses,
# reorders, duplicates and delays packets, with segment sizes that change during the transfer, and
# with memory that is reclaimed. Each byte is compared.
. "$(dirname "$0")/lib.sh"

modprobe -q sch_netem || [ -d /sys/module/sch_netem ] || bail 'no netem'
hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
on_a ping -qc 1 $IP6_B >"$WORK/ping"
not='*/ooo:*.early__*:soak.*:*failover.*'
# Over SCTP, leave out the cases about markers and those that set options of TCP.
[ "${LLP:-tcp}" != sctp ] || not+=':*/markers:*.tcp__*:*.buffers__small/*'
timeout -k 5 "$(patience 1100)" "$(dirname "$0")/../../build/verbs/loss" \
	--gtest_filter="-$not" "$@" || {
	rc=$?
	counted | sed 's/^/# /'
	exit $rc
}
