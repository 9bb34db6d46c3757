#!/bin/bash
# races: tests/verbs, part "races": memory that is closed under traffic, numbers that several change.
. "$(dirname "$0")/lib.sh"

hosts_up
# neighbours are known: who waits for an address is not what is tested
on_a ping -qc 1 $IP_B >"$WORK/ping"
# threads that hold a socket's lock; user-mode Linux has no kprobes, and the case is skipped there
if grep -qw register_kprobe /proc/kallsyms; then
	modprobe kwarp_ktest hold=1 || bail 'no kwarp_ktest'
fi
timeout -k 5 380 "$(dirname "$0")/../../build/verbs/races" "$@"
rc=$?
[ ! -d /sys/module/kwarp_ktest ] || rmmod kwarp_ktest
exit $rc
