#!/bin/bash
# bench/guest.sh: runs the measurements of "make bench" inside user-mode Linux. A row is a test with
# its contenders, which take turns on one wire: kwarp, siw, rxe, TCP and so on, one round after the
# other, until the ratios are known well enough ("report settled") or time is short. Writes a line
# for each measurement to /results/records.tsv:
#
#	round driver variant test size qps mtu value spin
#
# value is MiB/s (*_bw, crc32c), thousands of messages a second (*_rate), microseconds (*_lat),
# connections a second (connect_rate: size is their number, qps how many are in progress), bytes
# (idle_qp) or segments per FPDU (wire_*); the figures of many_* are those of the program connects.
# It is "-" if the driver does not support the test or failed, with the reason in
# /results/failures.log. spin is how long the machine took for a fixed amount of work immediately
# before.
#
# ROUNDS (3) is the least number of rounds. rxe takes part in the first only, because no goal refers
# to it. MINUTES (12) is the time in which rows get more rounds, shared equally among them. ONLY (a
# regular expression for tests, or "picture" for the rows of the README's picture; all).
#
# Variants of kwarp: plain (CRC and markers off, the only mode of siw), crc, markers, late and early
# (both of them, without and with early placement), sctp (over SCTP), one (one queue pair instead of
# many, with as many messages in flight as each of these has), napi (the netdevs have NAPI), poll
# (they have, and programs poll it by policy poll_us); and, also of tcp, rps (each host has
# a processor, on which its programs run and its packets are received) and load (beside a busy loop
# for each processor). tcp and sctp are the transports without RDMA: iperf3, or tcp_lat.
. "$(dirname "$0")/../vm/lib.sh"
. "$(dirname "$0")/ooo.sh"

least=${ROUNDS:-3}
most=$((least > 11 ? least : 11))
length=1
budget=$((${MINUTES:-12} * 60))
wanted=${ONLY:-.}
[ "$wanted" != picture ] || wanted=.
# sizes of messages in the picture
sizes='64 256 1024 4096 16384 65536 262144 1048576'
out=/results/records.tsv
log=/results/failures.log
present=
begun=0
PIN=
has_napi=
: >"$out"
: >"$log"
: >/results/ooo.tsv

# record TEST SIZE QPS VALUE: writes a line
record() {
	printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$round" "$driver" "$variant" "$1" "$2" \
		"$3" "$mtu" "$4" "${spin:-}" >>"$out"
	echo "$SECONDS s: $round $driver $variant $1 size $2 qps $3 mtu $mtu: $4 (${spin:-})"
}

# table COLUMN: prints a column of the only line of perftest's table
table() {
	awk -v c="$1" '
		$1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+$/ && NF >= 4 && $c > 0 && $c != "inf" { v = $c }
		END { print v ? v : "-" }' "$WORK/out"
}

# failure TEXT FILE...: logs the reason for a "-", with the last lines of the files
failure() {
	echo "== $driver $variant mtu $mtu: $1"
	shift
	tail -qn 12 "$@" 2>/dev/null | tr -cd '[:print:]\n\t'
} >>"$log"

# perf PROGRAM OPTION...: runs a program of perftest; the client's table is in $WORK/out. On a busy
# machine perftest may fail to measure the processor's clock, or a slow driver may complete no
# message in time; perftest then prints 0.00 or inf. Only this failure is retried, and for a longer
# time if the program runs for $seconds.
perf() {
	local times duration=()
	: >"$WORK/out"
	for times in 1 2 4; do
		[ -z "${seconds:-}" ] || duration=(-D $((seconds * times)))
		if ! LIMIT=$((length * times + 30)) \
			perftest_pair on_b on_a $IP_B "$@" "${duration[@]}" ||
			! finish perftest 10; then
			failure "$*" "$WORK/out" "$WORK/perftest.log"
			stop perftest
			: >"$WORK/out"
			return
		fi
		[ "$(table 4)" = - ] || return
	done
	failure "$*: no figures" "$WORK/out"
}

# rate VERB SIZE QPS [-b]: runs perftest's test of rates. perftest requests a completion for every
# 100th message of a queue pair and counts hundreds; with large messages, a slow driver sends less
# than that in a second.
rate() {
	local verb=$1 size=$2 qps=$3 options=() seconds=$length messages=25600
	[ "$driver" = kwarp ] || messages=3200
	[ "$size" -lt 65536 ] || options=(-Q 10)
	# perftest warms up one queue pair after the other, each with as many messages as its send
	# queue holds, and then fills all queues before it polls for the first completion. With many
	# queue pairs this takes longer than the time limit, so we set a number of messages instead,
	# with few in flight for each queue pair. Not for siw, whose completion queues have to be
	# long for many queue pairs (tests/verbs/rdma/crowd.cc).
	if [ "$qps" -gt 16 ] && [ "$driver" = siw ]; then
		options=(-t 120 -Q 2)
	elif [ "$qps" -gt 1 ]; then
		seconds='' options=(-n $((messages / qps)) -t 16)
		if [ "$variant" = one ]; then options[1]=$messages qps=1; fi
	fi
	# completion queues of rxe have at most 32767 elements
	[ "$qps" -le 16 ] || [ "$verb" != send ] || options+=(-r 120)
	perf "ib_${verb}_bw" -s "$size" -q "$qps" "${options[@]}" ${4:+"$4"}
}

# turns SIZE: prints the number of round trips in a test of latency
turns() {
	local n=$((length * 10000 * 4096 / $1))
	[ $n -ge 100 ] || n=100
	[ $n -le $((length * 10000)) ] || n=$((length * 10000))
	echo $n
}

# tcp_lat SIZE: prints the latency of TCP without RDMA
tcp_lat() {
	PORT=5202 server tcp_lat on_b /src/build/bench/tcp_lat 5202 "$1" "$(turns "$1")"
	if run on_a /src/build/bench/tcp_lat 5202 "$1" "$(turns "$1")" $IP_B &&
		finish tcp_lat 10; then
		cat "$WORK/out"
	else
		failure "tcp_lat $1" "$WORK/out" "$WORK/tcp_lat.log"
		echo -
	fi
	stop tcp_lat
}

# stream [OPTION...]: prints the rate of iperf3, the sum of both directions if there are two
stream() {
	PORT=5201 server iperf on_b ${PIN:+taskset -c 1} iperf3 -s -1
	run on_a ${PIN:+taskset -c 0} iperf3 -c $IP_B -t "$length" -J "$@"
	awk '
		/"sum_received(_bidir_reverse)?":/ { wanted = 1 }
		wanted && $1 == "\"bits_per_second\":" { sum += $2; wanted = 0 }
		END { if (sum) printf "%.2f\n", sum / 8 / 1048576; else exit 1 }' "$WORK/out" || {
		failure "iperf3 $*" "$WORK/out" "$WORK/iperf.log"
		echo -
	}
	stop iperf
}

# own PROGRAM ARGUMENT...: runs a program of this folder with both ends; prints its output, or
# nothing if it fails
own() {
	if VERBS_LOG_LEVEL=1 VERBS_LOG_FILE=$WORK/verbs.log LIMIT=300 \
		run "/src/build/bench/$1" "${@:2}"; then
		cat "$WORK/out"
	else
		failure "$*" "$WORK/out" "$WORK/verbs.log"
	fi
}

# with_policies VARIANT: sets the policies of the variant on kwarp's devices
with_policies() {
	local -A set=([crc]=off [markers]=0 [ooo]=0 [poll_us]=0)
	local name
	LLP=tcp
	case $1 in
	crc) set[crc]=required ;;
	markers) set[markers]=1 ;;
	late) set[crc]=required set[markers]=1 ;;
	early) set[crc]=required set[markers]=1 set[ooo]=1 ;;
	poll) set[poll_us]=1000 ;;
	sctp) LLP=sctp ;;
	esac
	policy llp $LLP
	for name in "${!set[@]}"; do policy "$name" "${set[$name]}"; done
}

# steer VARIANT: with variant rps, gives each host a processor of its own
steer() {
	local before=$PIN
	PIN=
	[ "$1" != rps ] || PIN=1
	[ "$PIN" != "$before" ] || return 0
	on_a sh -c "echo $((PIN)) >/sys/class/net/vA/queues/rx-0/rps_cpus"
	on_b sh -c "echo $((PIN * 2)) >/sys/class/net/vB/queues/rx-0/rps_cpus"
}

# napi VARIANT: with variants napi and poll, gives the netdevs NAPI
napi() {
	local gro=off tso=on
	# veth uses NAPI for packets of a peer without TSO only.
	[[ $1 != napi && $1 != poll ]] || gro=on tso=off
	[ $gro != "$has_napi" ] || return 0
	has_napi=$gro
	on_a ethtool -K vA gro $gro tso $tso >"$WORK/ethtool"
	on_b ethtool -K vB gro $gro tso $tso >>"$WORK/ethtool"
}

# load VARIANT: with variant load, starts the busy loops; end_load ends them
load() {
	local i
	loops=()
	[ "$1" = load ] || return 0
	for ((i = 0; i < $(nproc); i++)); do
		while :; do :; done &
		loops+=($!)
	done
}

end_load() {
	[ ${#loops[@]} -gt 0 ] || return 0
	kill "${loops[@]}"
	wait "${loops[@]}"
} 2>"$WORK/loops"

# become NAME: replaces the devices of both ends by devices of that driver, if it has any. Returns
# false if it cannot be set up.
become() {
	driver=$1 DEV_A=${1}A DEV_B=${1}B
	case $driver in
	tcp | sctp | "$present") return ;;
	esac
	vacate
	[[ $loaded =~ $driver ]] || return
	present=$driver
	{
		rdma_link hostA "$DEV_A" "$driver" vA && rdma_link hostB "$DEV_B" "$driver" vB
	} >"$WORK/set-up" 2>&1 || {
		failure 'cannot be set up' "$WORK/set-up"
		return 1
	}
	# perftest opens its 256 connections at once
	[ "$driver" != kwarp ] || policy backlog 1024
}

# vacate: removes the devices, if there are any
vacate() {
	local device
	[ -n "$present" ] || return 0
	for device in "${present}A" "${present}B"; do
		[ ! -d "/sys/class/infiniband/$device" ] || timeout 60 rdma link delete "$device"
	done >"$WORK/vacate" 2>&1
	present=
}

# set_mtu MTU: for the rows that follow; devices are added again, because rxe takes its MTU then
set_mtu() {
	vacate
	mtu=$1
	must ip -n hostA link set vA mtu "$1"
	must ip -n hostB link set vB mtu "$1"
}

# measure CONTENDER TEST SIZE QPS: makes one measurement
measure() {
	local test=$2 size=$3 qps=$4 verb=${2%%_*} value=- reverse="" count
	variant=plain
	[[ $1 != *+* ]] || variant=${1#*+}
	become "${1%+*}" || { record "$test" "$size" "$qps" -; return; }
	[ "$driver" != kwarp ] || with_policies "$variant"
	steer "$variant"
	napi "$variant"
	spin=$(/src/build/bench/spin)
	load "$variant"
	[[ $test != *_both_bw ]] || reverse=1
	case $driver.$test in
	tcp.*_lat) value=$(tcp_lat "$size") ;;
	tcp.together_bw) value=$(stream -P "$qps") ;;
	tcp.*) value=$(stream -l "${stream_size:-131072}" ${reverse:+--bidir}) ;;
	sctp.*) value=$(stream -l 65536 --sctp) ;;
	*.together_bw)
		count=$qps
		[ "$variant" != one ] || count=1
		value=$(own together "$count" "$size" $((length * 1000)))
		;;
	*.connect_rate)
		value=$(own connects "$size" "$qps" | awk '$1 == "connect_rate" { print $2 }')
		;;
	*_lat) perf "ib_${verb}_lat" -s "$size" -n "$(turns "$size")"; value=$(table 5) ;;
	*_rate)
		rate "$verb" "$size" "$qps"
		value=$(table 5 | awk '{ print $1 == "-" ? $1 : $1 * 1000 }')
		;;
	*) rate "$verb" "$size" "$qps" ${reverse:+-b}; value=$(table 4) ;;
	esac
	end_load
	LLP=tcp
	record "$test" "$size" "$qps" "${value:--}"
}

# row TEST SIZE QPS CONTENDER...: measures a row
row() {
	local test=$1 size=$2 qps=$3 contender
	shift 3
	[[ $test =~ $wanted ]] || return 0
	begun=$((begun + 1))
	for ((round = 1; round <= most; round++)); do
		for contender in "$@"; do
			[ "$contender" != rxe ] || [ $round -eq 1 ] || continue
			measure "$contender" "$test" "$size" "$qps"
		done
		[ $round -ge "$least" ] || continue
		[ $((SECONDS * rows)) -lt $((budget * begun)) ] || break
		[ $round -lt 5 ] || ! /src/build/bench/report "$out" settled \
			"$test" "$size" "$qps" "$mtu" "$@" || break
	done
}

# count_rows FUNCTION: prints how many rows the function measures
count_rows() (
	row() { [[ ! $1 =~ $wanted ]] || echo; }
	set_mtu() { :; }
	"$1" | wc -l
)

# offload on|off: sets segmentation offload at both ends
offload() {
	on_a ethtool -K vA tso "$1" gso "$1" >"$WORK/ethtool"
	on_b ethtool -K vB tso "$1" gso "$1" >>"$WORK/ethtool"
}

# wire VERB: measures TCP segments per FPDU of bulk data, counted in a capture without segmentation
# offload, of either direction
wire() {
	[[ wire_$1 =~ $wanted ]] || return 0
	offload off
	server capture on_a tcpdump -i vA -w "$WORK/wire.pcap" -s 0 -B 65536 tcp
	wait_for grep -q listening "$WORK/capture.log"
	perf "ib_${1}_bw" -s 65536 -n 100
	stop capture
	/src/build/peer/wire_check "$WORK/wire.pcap" >"$WORK/wire" 2>&1
	# Ignore the pads of siw, which are not zero.
	grep -qx 'incomplete 0' "$WORK/wire" ||
		failure "wire $1: the capture has holes" "$WORK/wire" "$WORK/capture.log"
	record "wire_$1" 65536 1 "$(awk '
		$1 == "bulk_segments" { s = $2 }
		$1 == "bulk_fpdus" { f = $2 }
		END { print f ? s / f : "-" }' "$WORK/wire")"
	offload on
}

# printed MODULE [PARAMETER...]: loads the module, which fails to load on purpose, in host A, and
# prints the number that it has written to the kernel log
printed() {
	dmesg -C
	on_a insmod "/src/build/bench/modules/$1.ko" "${@:2}" 2>"$WORK/insmod"
	dmesg | sed -n "s/.*$1: \\([0-9]*\\) .*/\\1/p" | grep . || {
		failure "module $1" <(dmesg)
		echo -
	}
}

# crc32c: measures the speed of the kernel's function alone
crc32c() {
	[[ crc32c =~ $wanted ]] || return 0
	driver=kernel
	record crc32c 1444 1 "$(printed crc_rate)"
}

# floor: measures the latency of TCP between two kernel sockets
floor() {
	[[ floor_lat =~ $wanted ]] || return 0
	local server
	driver=kernel
	ip netns exec hostB sleep 600 &
	server=$!
	record floor_lat 64 1 \
		"$(printed floor "pid=$server" "ip=$IP_B" | awk '{ print $1 / 1000 }')"
	kill $server
}

# idle: measures the memory of an idle queue pair
idle() {
	[[ idle_qp =~ $wanted ]] || return 0
	local value
	value=$(own idle 500 | tail -n 1)
	record idle_qp 0 1 "${value:--}"
}

# many: 10000 connections at the same time
many() {
	[[ many =~ $wanted ]] || return 0
	local name value
	while read -r name value; do
		record "many_$name" 10000 1 "$value"
	done < <(own connects 10000 32 | grep . || echo connect_rate -)
}

# once: what is counted rather than timed
once() {
	local name verb
	round=1 variant=plain spin=
	for name in kwarp siw; do
		become $name || continue
		[ $name != kwarp ] || with_policies plain
		for verb in write read send; do wire $verb; done
		idle
		[ $name != kwarp ] || many
	done
	become rxe && idle
	crc32c
	floor
}

# The rows of the picture, of which each has its own rate of TCP: with writes of the same size.
rows_of_picture() {
	local size stream_size
	for size in $sizes; do
		stream_size=$size
		row write_bw "$size" 1 kwarp siw rxe tcp
		row send_lat "$size" 1 kwarp siw rxe tcp
	done
}

all_rows() {
	local verb qps
	local variants='kwarp+crc kwarp+markers kwarp+sctp sctp' hosts='kwarp+rps tcp+rps'
	local polled='kwarp+napi kwarp+poll'
	# shellcheck disable=SC2086 # words
	row send_lat 64 1 kwarp $polled kwarp+sctp siw rxe tcp
	# shellcheck disable=SC2086 # words
	for verb in write read; do row ${verb}_lat 64 1 kwarp $polled siw rxe; done
	for verb in write send; do row ${verb}_rate 64 1 kwarp siw rxe; done
	row send_bw 4096 1 kwarp kwarp+crc kwarp+markers kwarp+late kwarp+early siw rxe tcp
	row write_bw 4096 1 kwarp siw rxe tcp
	# shellcheck disable=SC2086 # words
	row write_bw 65536 1 kwarp $variants $hosts kwarp+late kwarp+early kwarp+load siw rxe tcp \
		tcp+load
	# shellcheck disable=SC2086 # words
	for verb in read send; do row ${verb}_bw 65536 1 kwarp $variants $hosts siw rxe tcp; done
	for verb in write read send; do
		# shellcheck disable=SC2086 # words
		row ${verb}_bw 1048576 1 kwarp $hosts siw rxe tcp
		# shellcheck disable=SC2086 # words
		row ${verb}_both_bw 65536 1 kwarp $hosts siw rxe tcp
	done
	for qps in 16 256; do row write_bw 65536 $qps kwarp kwarp+one siw rxe; done
	row together_bw 65536 4 kwarp kwarp+one siw tcp
	for qps in 1 8 32; do row connect_rate 250 $qps kwarp siw rxe; done
	set_mtu 9000
	row write_bw 65536 1 kwarp kwarp+sctp sctp siw rxe tcp
	set_mtu 1500
}

drivers_load
loaded='kwarp'
driver=kernel variant=plain mtu=1500
for module in siw rdma_rxe; do
	if modprobe -q $module; then
		loaded="$loaded $module"
	else
		failure "no $module here" /dev/null
	fi
done
{
	echo "kernel=$(uname -r)"
	echo "processors=$(nproc)"
} >/results/machine
wire_up
must on_a ping -qc 1 $IP_B
measured=all_rows
[ "${ONLY:-}" != picture ] || measured=rows_of_picture
rows=$(count_rows $measured)
$measured
if [ $measured = all_rows ]; then
	once
	round=1 spin=
	[[ ! ooo =~ $wanted ]] || ooo
fi
vacate
wire_down
