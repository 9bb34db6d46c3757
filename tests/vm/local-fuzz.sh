# shellcheck shell=bash
# For ring-fuzz and command-fuzz: runs a fuzzer of tests/verbs/local_fuzz. Source this file after
# lib.sh.

# nothing_left: true if no object is left, including those of the bystander
nothing_left() {
	local device
	for device in "$DEV_A" "$DEV_B"; do
		rdma resource show | grep -q " $device: pd 0 cq 0 qp 0 cm_id 0 mr 0 ctx 0" ||
			return 1
	done
}

# delayed NETNS NETDEV: adds a delay of 1 ms
delayed() { tc -n "$1" qdisc add dev "$2" root netem delay 1ms; }

# local_fuzz PROGRAM ROUNDS [COMMAND...]: sets up the hosts, runs COMMAND, then PROGRAM for
# KWARP_FUZZ_SECONDS (60), or with KWARP_SHORT for ROUNDS rounds from a fixed seed
local_fuzz() {
	local seconds=${KWARP_FUZZ_SECONDS:-60} status limits end
	limits=(--seconds "$seconds")
	[ -z "${KWARP_SHORT:-}" ] || limits=(--rounds "$2" --seed 1)
	[ -z "${KWARP_FUZZ_SEED:-}" ] || limits+=(--seed "$KWARP_FUZZ_SEED")
	[ -z "${KWARP_FUZZ_ROUNDS:-}" ] ||
		limits=(--rounds "$KWARP_FUZZ_ROUNDS" --seed "${KWARP_FUZZ_SEED:-1}" --verbose)

	hosts_up
	[ -d /sys/module/sch_netem ] || modprobe -q sch_netem || bail 'no netem'
	# Resolve the neighbours first: waiting for address resolution is not under test.
	on_a ping -qc 1 "$IP_B" >"$WORK/ping"
	# Delay packets, so that requests are in flight for a while.
	for end in 'hostA vA' 'hostB vB'; do
		# shellcheck disable=SC2086 # two words
		must delayed $end
	done
	[ $# -eq 2 ] || must "${@:3}"
	# Do not rate-limit the line that each round logs, so that each complaint follows its seed.
	must sysctl -qw kernel.printk_devkmsg=on
	# Print at once, because a thread that hangs in the kernel keeps the program from ending.
	timeout -k 5 "$(patience $((seconds + 500)))" \
		"$(dirname "$0")/../../build/verbs/$1" "${limits[@]}" 2>&1 </dev/null |
		tee "$WORK/fuzz" | grep -av --line-buffered '^1\.\.'
	status=${PIPESTATUS[0]}
	# shellcheck disable=SC2034 # of lib.sh
	TESTS=$(grep -acE '^(not )?ok ' "$WORK/fuzz")
	report "$status" "$1 runs to its end"
	ok 'no object is left' wait_for nothing_left
}
