#!/bin/bash
# races: the program "races" of tests/verbs: memory regions and windows that are invalidated while
# the peer accesses them, and values that several threads change; and packets of one segment.
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
timeout -k 5 "$(patience 1100)" "$(dirname "$0")/../../build/verbs/races" "$@" ||
	FAILED=$((FAILED + 1))

[ $# -eq 0 ] && [ "${LLP:-tcp}" = tcp ] || exit $((FAILED > 0))

# 64 KiB are 45 packets, some of which TCP would free while the engine runs in TCP's send loop, if
# it processed the backlog there.
for host in a b; do
	must "on_$host" ip link set "v${host^}" gso_max_segs 1
	must "on_$host" sysctl -qw net.ipv4.tcp_wmem='4096 65536 262144'
done
must policy crc 0
for test in ib_write_bw ib_read_bw; do
	ok "one segment per packet, both ways: $test" \
		perftest_pair on_b on_a "$IP_B" $test -D 3 -s 65536 -b -q 4
	ok "one segment per packet, both ways: $test ends" finish perftest
done
done_testing
