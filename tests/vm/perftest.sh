# shellcheck shell=bash
# For the suites of perftest, after lib.sh.

# perf PROGRAM OPTION...: server on B, client on A; the client's table must have plausible figures.
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

# perf_ended NAME: the server has ended, too, and the client's figures are plausible
perf_ended() {
	cp "$WORK/out" "$WORK/client"
	ok "$1: server" finish perftest
	grep -aE 'Correlation|^ *#bytes|^ *[0-9]+ +[0-9]+ ' "$WORK/client" "$WORK/perftest.log" \
		>"$WORK/figures"
	report "$(figures_bad "$WORK/perftest.log" "$WORK/client")" "$1: figures" "$WORK/figures"
}

# figures_bad SERVER_LOG CLIENT_LOG: prints 0 if the client's table has a line, and each has a
# bandwidth, message rate or typical latency above zero (few large messages on a slow machine are
# 0.000000 million a second); else 1. If other load disturbs perftest's measurement of the
# processor's clock, perftest reports it and prints 0 or inf; then any line passes. This also holds
# for the server's measurement: with bidirectional traffic the client adds the server's figures to
# its own.
figures_bad() {
	awk '/Correlation coefficient/ { no_clock = 1 }
		FILENAME == ARGV[2] && $1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+$/ && NF >= 5 {
			n++
			if (!no_clock && (!($4 > 0 || $5 > 0) || $4 == "inf" || $5 == "inf"))
				bad = 1
		}
		END { print !(n && !bad) }' "$1" "$2"
}
