#!/bin/bash
# removal: tests/verbs, part "removal": devices that go while programs use them. Then the same to the
# kernel's own consumers, with a disk over NVMe-oF in use.
# Timeout: 600
. "$(dirname "$0")/lib.sh"

hosts_up
# neighbours are known: who waits for an address is not what is tested
on_a ping -qc 1 $IP_B >"$WORK/ping"
PROGRAM=$(dirname "$0")/../../build/verbs/removal
RDMAV_ALLOW_DISASSOC_DESTROY=1 timeout -k 5 380 "$PROGRAM" "$@"
