# shellcheck shell=bash
# For ring-fuzz and command-fuzz: one of the fuzzers of tests/verbs/local_fuzz, behind lib.sh.

# nothing_left: not of the bystander's either
nothing_left() {
	local device
	for device in "$DEV_A" "$DEV_B"; do
		rdma resource show | grep -q " $device: pd 0 cq 0 qp 0 cm_id 0 mr 0 ctx 0" || return 1
	done
}

# delayed NETNS NETDEV
delayed() { tc -n "$1" qdisc add dev "$2" root netem delay 1ms; }

# local_fuzz PROGRAM [COMMAND...]: the command when the hosts are there
local_fuzz() {
	local seconds=${KWARP_FUZZ_SECONDS:-60} status limits end
	limits=(--seconds "$seconds")
	[ -z "${KWARP_FUZZ_SEED:-}" ] || limits+=(--seed "$KWARP_FUZZ_SEED")
	[ -z "${KWARP_FUZZ_ROUNDS:-}" ] || limits=(--rounds "$KWARP_FUZZ_ROUNDS" --seed "${KWARP_FUZZ_SEED:-1}" --verbose)
	# an emulated processor has a tenth of the speed
	grep -q 'User Mode Linux' /proc/cpuinfo || limits+=(--limit 1000)

	hosts_up
	[ -d /sys/module/sch_netem ] || modprobe -q sch_netem || bail 'no netem'
	# neighbours are known: who waits for an address is not what is tested
	on_a ping -qc 1 "$IP_B" >"$WORK/ping"
	# a moment in which requests are under way
	for end in 'hostA vA' 'hostB vB'; do
		# shellcheck disable=SC2086 # two words
		must delayed $end
	done
	[ $# -eq 1 ] || must "${@:2}"
	# a line for each round: so that a complaint stands behind its seed
	must sysctl -qw kernel.printk_devkmsg=on
	# said at once: a thread that hangs in the kernel keeps the program from ending
	timeout -k 5 $((seconds + 600)) "$(dirname "$0")/../../build/verbs/$1" "${limits[@]}" 2>&1 </dev/null |
		tee "$WORK/fuzz" | grep -av --line-buffered '^1\.\.'
	status=${PIPESTATUS[0]}
	# shellcheck disable=SC2034 # of lib.sh
	TESTS=$(grep -acE '^(not )?ok ' "$WORK/fuzz")
	report "$status" "$1 runs to its end"
	ok 'no object is left' wait_for nothing_left
}
