#!/bin/bash
# loss: tests/verbs, part "loss": a network that loses, reorders, doubles and chokes, and segment sizes
# that change under way; both directions, each octet compared.
# Timeout: 600
. "$(dirname "$0")/lib.sh"

modprobe -q sch_netem || [ -d /sys/module/sch_netem ] || bail 'no netem'
hosts_up
# neighbours are known: who waits for an address is not what is tested
on_a ping -qc 1 $IP_B >"$WORK/ping"
on_a ping -qc 1 $IP6_B >"$WORK/ping"
timeout -k 5 580 "$(dirname "$0")/../../build/verbs/loss" --gtest_filter='-*/ooo:*.early__*:soak.*' "$@"
