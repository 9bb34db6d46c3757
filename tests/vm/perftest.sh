# shellcheck shell=bash
# Functions for the suites of perftest; source this file after lib.sh.

# perf PROGRAM OPTION...: runs the server on B and the client on A; the client must print figures
perf() {
	ok "$*" perftest_pair on_b on_a "${ADDRESS:-$IP_B}" "$@"
	perf_ended "$*"
}

# perf_by_number PROGRAM OPTION...: as perf, without rdma_cm. For ib_send_bw with several queue
# pairs: each end assumes that its Nth connection is the Nth of the other end, and sends the credits
# of queue pair N there. Both ends hang if connections arrive in another order than the client began
# them, which is possible since the RDMA core resolves addresses in parallel (ib_addr is an ordered
# queue in 6.12, but not in 7.2).
perf_by_number() {
	local gid
	must rendezvous on
	gid=$(gid_index "$DEV_A" "$GID_A")
	PORT=18515 server perftest on_b "$1" -d "$DEV_B" -F -x "$gid" "${@:2}"
	ok "$*" on_a "$1" -d "$DEV_A" -F -x "$gid" "${@:2}" "$IP_B"
	perf_ended "$*"
	rendezvous off
}

# perf_ended NAME: passes if the server has exited, too, and the client has printed figures. The
# values depend on the machine, and perftest may fail to measure the processor's clock on a busy
# one, so we do not check them.
perf_ended() {
	cp "$WORK/out" "$WORK/client"
	ok "$1: server" finish perftest
	grep -aE '^ *[0-9]+ +[0-9]+( +[^ ]+){3}' "$WORK/client" >"$WORK/figures"
	report $? "$1: figures" "$WORK/client"
	sed 's/^/# /' "$WORK/figures"
}
