# shellcheck shell=bash
# For the suites of perftest, after lib.sh.

# perf PROGRAM OPTION...: server on B, client on A; the client must print a table.
perf() {
	ok "$*" perftest_pair on_b on_a "${ADDRESS:-$IP_B}" "$@"
	perf_ended "$*"
}

# perf_by_number PROGRAM OPTION...: the same without rdma_cm. For ib_send_bw with several queue
# pairs: each end takes the other's Nth connection for its own Nth and sends the credits of queue
# pair N there, so both stall for ever if connections arrive in an order other than that in which
# the client began them. They may, since the RDMA core resolves addresses in parallel (ib_addr is an
# ordered queue in 6.12 and not in 7.2).
perf_by_number() {
	local gid
	gid=$(gid_index "$DEV_A" 0000:0000:0000:0000:0000:ffff:0a00:0001) || bail 'no GID'
	must rendezvous on
	PORT=18515 server perftest on_b "$1" -d "$DEV_B" -F -x "$gid" "${@:2}"
	ok "$*" on_a "$1" -d "$DEV_A" -F -x "$gid" "${@:2}" "$IP_B"
	perf_ended "$*"
	rendezvous off
}

# perf_ended NAME: the server has ended, too, and the client has figures. How large they are is up
# to the machine, and on a busy one perftest may not find out how fast the processor's clock is.
perf_ended() {
	cp "$WORK/out" "$WORK/client"
	ok "$1: server" finish perftest
	grep -aE '^ *[0-9]+ +[0-9]+( +[^ ]+){3}' "$WORK/client" >"$WORK/figures"
	report $? "$1: figures" "$WORK/client"
	sed 's/^/# /' "$WORK/figures"
}
