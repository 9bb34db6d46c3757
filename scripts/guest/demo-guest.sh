#!/bin/bash
# demo-guest.sh: the part of the demo that runs in the guest. Two network namespaces have two links
# between them, one with Linux's siw on both ends and one with kwarp. Each program runs over siw and
# then over kwarp, and a row with both figures is printed. Lines "@ TEXT" report steps to
# scripts/demo.sh. The table is left in /results/table, the description of the machine in
# /results/machine.
#
# KWARP_CLOCK=instructions: the clock counts instructions (ICOUNT of vm.sh), on one processor. Then
# a fixed number of messages is measured instead of SECONDS_EACH (1), and programs wait for events
# instead of polling, which would take the processor from the other end.
. "$(dirname "$0")/../../tests/vm/lib.sh"

declare -A server_of=([siw]=10.0.1.2 [kwarp]=$IP_B)
counted=
[ "${KWARP_CLOCK:-}" != instructions ] || counted=1

give_up() {
	echo "FAILED: $1"
	sed 's/^/    /' "$WORK/out" | tail -n 25
	echo 'the server said:'
	cat "$WORK/server.log" "$WORK/perftest.log" 2>/dev/null | sed 's/^/    /' | tail -n 15
	exit 1
}

# line PROGRAM BYTES WHAT SIW KWARP RATIO
line() {
	printf '%-24s %6s  %-21s %13s %9s %12s\n' "$@" | tee -a /results/table
}

# siw_up: makes the link with siw
siw_up() {
	[ -d /sys/module/siw ] || must modprobe siw
	must ip link add sA index 103 netns hostA type veth peer name sB index 104 netns hostB
	must end_up hostA sA 10.0.1.1 fd01::1 1500
	must end_up hostB sB "${server_of[siw]}" fd01::2 1500
	must rdma_link hostA siwA siw sA
	must rdma_link hostB siwB siw sB
}

# ---- programs: each sets $figure, and fails if the program fails ----

# data ADDRESS: rping, whose ends compare the data that they have sent and read back
data() {
	PORT=7174 server server on_b rping -s -a "$1" -v -V -C 10 &&
		run on_a rping -c -a "$1" -v -V -C 10 &&
		finish server 10 && grep -q 'rdma-ping-9' "$WORK/server.log" && figure=ok
}

# pingpong ADDRESS: its queue pairs find each other without rdma_cm
pingpong() {
	run rendezvous on &&
		PORT=18515 server server on_b ibv_rc_pingpong -e -d "$DEV_B" -g 0 -n 200 &&
		run on_a ibv_rc_pingpong -e -d "$DEV_A" -g 0 -n 200 "$1" &&
		finish server 10 && figure=ok
}

# perftest ADDRESS COLUMN PROGRAM OPTION...: takes the figure from this column of the result line
perftest() {
	local address=$1 column=$2
	shift 2
	perftest_pair on_b on_a "$address" "$@" && finish perftest 15 || return
	figure=$(awk -v c="$column" '
		$1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+$/ && $c > 0 && $c != "inf" { v = $c }
		END { print v }' "$WORK/out")
	[ -n "$figure" ]
}

# bandwidth COLUMN ADDRESS PROGRAM BYTES MESSAGES [OPTION...]: a counted run uses the given messages
# and options. Otherwise the run has a time limit, which increases with each try, because on a busy
# machine no message may have completed; large messages are completed in groups of 10.
bandwidth() {
	local column=$1 address=$2 program=$3 bytes=$4 much
	shift 4
	if [ -n "$counted" ]; then
		much=(-n "$@")
	else
		much=(-D $((${SECONDS_EACH:-1} * try * try)))
		[ "$bytes" -lt 65536 ] || much+=(-Q 10)
	fi
	perftest "$address" "$column" "$program" -s "$bytes" "${much[@]}"
}

# rate ADDRESS PROGRAM BYTES MESSAGES [OPTION...]: MiB/s
rate() { bandwidth 4 "$@"; }

# per_second ADDRESS PROGRAM BYTES MESSAGES: thousands of messages per second
per_second() {
	bandwidth 5 "$@" && figure=$(awk -v f="$figure" 'BEGIN { print f * 1000 }')
}

# latency ADDRESS PROGRAM BYTES: the typical latency, in microseconds
latency() {
	if [ -n "$counted" ]; then
		perftest "$1" 5 "$2" -s "$3" -n 300 -e
	else
		# Both sides poll, so each needs its own processor.
		PIN=1 perftest "$1" 5 "$2" -s "$3" -n 1000
	fi
}

# ---- rows ----

# over DRIVER FUNCTION [ARG...]: runs the function with the address of the driver's server. Tries
# three times, because siw may leave data unread for ever (see tests/vm/interop-siw.test.sh), and
# perftest may print no figures.
over() {
	local driver=$1 function=$2 try
	shift 2
	for try in 1 2 3; do
		figure=
		! LIMIT=30 "$function" "${server_of[$driver]}" "$@" || return 0
		stop server
		stop perftest
		[ "$try" = 3 ] || echo "# retry: $driver: $function $*"
	done
	[ "$driver" = siw ] || give_up "$function $*"
	figure=failed
}

# short NUMBER: prints the number with three digits
short() {
	awk -v v="$1" 'BEGIN {
		if (v !~ /^[0-9.e+-]+$/) print v
		else printf v < 10 ? "%.2f" : v < 100 ? "%.1f" : "%.0f", v }'
}

# ratio SIW KWARP more|less: prints the ratio, above 1 if kwarp is better; "more" or "less" is
# better
ratio() {
	awk -v siw="$1" -v kwarp="$2" -v better="$3" 'BEGIN {
		if (!(siw + 0 > 0 && kwarp + 0 > 0)) exit
		r = better == "more" ? kwarp / siw : siw / kwarp
		printf r < 10 ? "%.2f" : "%.1f", r }'
}

# row PROGRAM BYTES WHAT more|less|- FUNCTION [ARG...]: prints a row with both drivers
row() {
	local program=$1 bytes=$2 what=$3 better=$4 siw
	shift 4
	echo "@ $program, $bytes bytes, over siw"
	over siw "$@"
	siw=$figure
	echo "@ $program, $bytes bytes, over kwarp"
	over kwarp "$@"
	line "$program" "$bytes" "$what" "$(short "$siw")" "$(short "$figure")" \
		"$(ratio "$siw" "$figure" "$better")"
}

# alone PROGRAM BYTES WHAT FUNCTION [ARG...]: prints a row with kwarp only, if siw lacks the
# function
alone() {
	local program=$1 bytes=$2 what=$3
	shift 3
	echo "@ $program over kwarp"
	over kwarp "$@"
	line "$program" "$bytes" "$what" 'not supported' "$(short "$figure")" ''
}

# sctp: makes both ends of kwarp use SCTP from now on
sctp() {
	local device
	export LLP=sctp
	echo '@ kwarpctl policy set kwarpA llp sctp'
	for device in "$DEV_A" "$DEV_B"; do
		must kwarpctl policy set "$device" llp sctp
	done
	must patient hostB vB 18515
}

echo '@ rdma link add: kwarp and siw on a link each'
hosts_up
siw_up
# Resolve the neighbours first.
for address in "${server_of[@]}"; do
	must on_a ping -qc 1 "$address"
done
: >/results/table
line program bytes what siw kwarp 'kwarp : siw'
row rping 64 '10 rounds, data equal' - data
row ib_write_bw 65536 MiB/s more rate ib_write_bw 65536 200
row ib_read_bw 65536 MiB/s more rate ib_read_bw 65536 100
row ib_send_bw 65536 MiB/s more rate ib_send_bw 65536 200 -e
row ib_write_bw 64 '1000 messages/s' more per_second ib_write_bw 64 3000
row ib_send_lat 64 'us, less is better' less latency ib_send_lat 64
alone ibv_rc_pingpong 4096 'without rdma_cm' pingpong
sctp
alone 'rping, SCTP' 64 '10 rounds, data equal' data
alone 'ib_write_bw, SCTP' 65536 MiB/s rate ib_write_bw 65536 200
{
	echo "kernel=$(uname -r)"
	echo "processors=$(nproc)"
} >/results/machine
# No clean-up is needed, because the guest is discarded.
trap - EXIT
