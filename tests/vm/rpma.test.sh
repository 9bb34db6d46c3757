#!/bin/bash
# rpma: a client of librpma writes a file into the memory of its peer in pieces of 1 byte to 1 MiB,
# flushes the data and reads them back. Both ends must have the same data.
# Machine: programs
. "$(dirname "$0")/lib.sh"

program=$(dirname "$0")/../../build/programs/rpma_copy

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
head -c $((4 << 20)) /dev/urandom >"$WORK/sent"
PORT=7700 server rpma on_b "$program" $IP_B "$WORK/got" server
ok 'client: read back' on_a "$program" $IP_B "$WORK/sent"
has 'client: compared' '^compared 4194304 bytes'
ok 'server' finish rpma
ok 'the server has the same data' same_data "$WORK/sent" "$WORK/got"
ok 'the data went over RDMA' test "$(counter "$DEV_B" rx_octets)" -gt $((4 << 20))
done_testing
