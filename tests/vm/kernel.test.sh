#!/bin/bash
# kernel: runs tests/kernel, a kernel module that uses both devices as a consumer of verbs.
. "$(dirname "$0")/lib.sh"

# consumer NAME MODULE [PARAMETER...]: loads the module, which runs its cases when it is loaded, and
# reports the cases
consumer() {
	local line wanted
	echo "ktest: $$ $1 begins" >/dev/kmsg
	LIMIT=150 ok "$1: module runs" modprobe "${@:2}"
	dmesg | sed "0,/ktest: $$ $1 begins/d" >"$WORK/log"
	sed -nE 's/^.*ktest: (ok|not ok) [0-9]+ - (.*)$/\1 \2/p' "$WORK/log" |
		sed 's/^not ok/bad/' >"$WORK/cases"
	wanted=$(sed -nE 's/^.*ktest: 1\.\.([0-9]+)$/\1/p' "$WORK/log" | tail -n 1)
	while read -r line; do
		report "$([ "${line%% *}" = ok ]; echo $?)" "$1: ${line#* }"
	done <"$WORK/cases"
	is "$1: all cases were run" "$(wc -l <"$WORK/cases")" "$wanted"
	ok "$1: module unloads" rmmod "$2"
}

hosts_here
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
consumer verbs kwarp_ktest client_ip=$IP_A server_ip=$IP_B
# The room rdmap on a mock lower layer; only in the debug kernel, where kwarp is built with
# KWARP_TEST=y.
if [ -e /sys/kernel/debug/kmemleak ]; then
	seed=${KWARP_FUZZ_SEED:-${KWARP_SHORT:+1}}
	seed=${seed:-$((RANDOM * 32768 + RANDOM))}
	echo "# seed: $seed"
	consumer seam kwarp_seam netdev=vA "seed=$seed"
fi
# The search at the end of each guest finds the leaks of a module that has been unloaded. They are
# then freed, because the search at the end of this guest must find nothing.
if [ -e /sys/kernel/debug/kmemleak ]; then
	fails 'leaks are planted' modprobe kwarp_ktest leak=1
	leaked=$(dmesg | sed -n 's/.*ktest: leaked //p' | paste -sd,)
	ok 'leaks are searched for' "$(dirname "$0")/../../scripts/guest/guest-init" --leaks "$WORK"
	ok 'the planted leaks are found' grep -q 'size 100000)' "$WORK/leaks"
	fails 'the leaks are freed' modprobe kwarp_ktest "leaked=$leaked"
fi
# one copy of the data per write, and no other work that takes time
must policy fpdu large
must policy crc off
consumer races kwarp_ktest client_ip=$IP_A server_ip=$IP_B races=1
consumer unread kwarp_ktest client_ip=$IP_A server_ip=$IP_B unread=1
for device in "$DEV_A" "$DEV_B"; do
	rdma resource show "$device" | grep -oE '(qp|mr|srq) [0-9]+' >"$WORK/left"
	is "nothing is left on $device" "$(paste -sd' ' "$WORK/left")" 'qp 0 mr 0 srq 0'
done
done_testing
