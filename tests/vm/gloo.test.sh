#!/bin/bash
# gloo: allreduce of libgloo over its ibverbs transport. This transport brings up queue pairs by
# number and GID (policy rendezvous_port) and describes its buffers by Sends with immediate data
# (policy send_imm). Each element is compared.
# Machine: programs
. "$(dirname "$0")/lib.sh"

program=$(dirname "$0")/../../build/programs/gloo_exchange

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
must rendezvous on
must policy send_imm 1
index_a=$(gid_index "$DEV_A" "$GID_A")
index_b=$(gid_index "$DEV_B" "$GID_B")
mkdir "$WORK/store"
before=$(counter "$DEV_B" rx_octets)
server gloo on_b "$program" "$DEV_B" "$index_b" 1 "$WORK/store"
LIMIT=120 ok 'rank 0' on_a "$program" "$DEV_A" "$index_a" 0 "$WORK/store"
is 'rank 0 has compared' "$(grep -c '^rank 0: .* the same 20 times' "$WORK/out")" 4
ok 'rank 1' finish gloo
is 'rank 1 has compared' "$(grep -c '^rank 1: .* the same 20 times' "$WORK/gloo.log")" 4
ok 'the data went over RDMA' test "$(counter "$DEV_B" rx_octets)" -gt $((before + 90000000))
done_testing
