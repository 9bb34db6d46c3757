#!/bin/bash
# kernel: tests/kernel, a kernel consumer that tests itself from one device to the other.
. "$(dirname "$0")/lib.sh"

# consumer NAME [PARAMETER...]: load it, which runs its cases, and report them
consumer() {
	local line wanted
	echo "ktest: $$ $1 begins" >/dev/kmsg
	LIMIT=150 ok "$1: module runs" modprobe kwarp_ktest \
		client_ip=$IP_A server_ip=$IP_B "${@:2}"
	dmesg | sed "0,/ktest: $$ $1 begins/d" >"$WORK/log"
	sed -nE 's/^.*ktest: (ok|not ok) [0-9]+ - (.*)$/\1 \2/p' "$WORK/log" | sed 's/^not ok/bad/' >"$WORK/cases"
	wanted=$(sed -nE 's/^.*ktest: 1\.\.([0-9]+)$/\1/p' "$WORK/log" | tail -n 1)
	while read -r line; do
		report "$([ "${line%% *}" = ok ]; echo $?)" "$1: ${line#* }"
	done <"$WORK/cases"
	is "$1: all cases were run" "$(wc -l <"$WORK/cases")" "$wanted"
	ok "$1: module goes" rmmod kwarp_ktest
}

hosts_here
# neighbours are known: who waits for an address is not what is tested
on_a ping -qc 1 $IP_B >"$WORK/ping"
consumer verbs
# each write is one copy, and nothing but the copy takes time
policy fpdu large
policy crc off
consumer races races=1
for device in "$DEV_A" "$DEV_B"; do
	is "nothing is left on $device" \
		"$(rdma resource show "$device" | tr ' ' '\n' | paste -sd' ' | grep -oE '(qp|mr|srq) [0-9]+' | paste -sd' ')" \
		'qp 0 mr 0 srq 0'
done
done_testing
