#!/bin/bash
# bench/guest.sh: runs the measurements of "make bench" inside user-mode Linux. In each round, the
# drivers use one wire in turn. Writes a line for each measurement to /results/records.tsv:
#
#	round driver variant test size qps mtu value
#
# value is MiB/s (*_bw, tcp, crc32c), thousands of messages a second (*_rate), microseconds (*_lat),
# bytes (idle_qp) or segments per FPDU (wire_*); "-" if the driver does not support the test or
# failed, with the reason in /results/failures.log. ROUNDS (3), SECONDS_EACH (1) and ONLY (a regular
# expression, or "picture" for the rows of the README's picture; all) come from the environment.
#
# Variants of kwarp: plain (CRC and markers off, the only mode of siw), crc, markers, sctp (over
# SCTP). Drivers tcp and sctp are iperf3 without RDMA.
. "$(dirname "$0")/../vm/lib.sh"
. "$(dirname "$0")/ooo.sh"

rounds=${ROUNDS:-3}
length=${SECONDS_EACH:-1}
wanted=${ONLY:-.}
[ "$wanted" != picture ] || wanted=.
# sizes of messages in the picture
sizes='64 256 1024 4096 16384 65536 262144 1048576'
out=/results/records.tsv
log=/results/failures.log
: >"$out"
: >"$log"
: >/results/ooo.tsv

# record TEST SIZE QPS VALUE: writes a line
record() {
	printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$round" "$driver" "$variant" "$1" "$2" "$3" \
		"$mtu" "$4" >>"$out"
	echo "$round $driver $variant $1 size $2 qps $3 mtu $mtu: $4"
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
	: >"$WORK/out"
	[ -z "$broken" ] || return
	local times duration=()
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

wants() {
	[[ $1 =~ $wanted ]]
}

# bw VERB SIZE [QPS [-b]]: measures rates. perftest requests a completion for every 100th message of
# a queue pair and counts hundreds; with large messages, a slow driver sends less than that in a
# second.
bw() {
	local verb=$1 size=$2 qps=${3:-1} both=${4:+_both} options=() seconds=$length messages=25600
	wants "${verb}_bw" || return 0
	[ "$driver" = kwarp ] || messages=6400
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
	fi
	# completion queues of rxe have at most 32767 elements
	[ "$qps" -le 16 ] || [ "$verb" != send ] || options+=(-r 120)
	perf "ib_${verb}_bw" -s "$size" -q "$qps" "${options[@]}" ${4:+"$4"}
	record "$verb${both}_bw" "$size" "$qps" "$(table 4)"
	[ "$size" -gt 64 ] || record "${verb}_rate" "$size" "$qps" \
		"$(table 5 | awk '{ print $1 == "-" ? $1 : $1 * 1000 }')"
}

# few VERB SIZE: one queue pair, with as few messages in flight as each of many queue pairs has
few() {
	wants "${1}_t16_bw" || return 0
	local seconds='' messages=25600
	[ "$driver" = kwarp ] || messages=6400
	perf "ib_${1}_bw" -s "$2" -n $messages -t 16
	record "${1}_t16_bw" "$2" 1 "$(table 4)"
}

# turns SIZE: prints the number of round trips in a test of latency
turns() {
	local n=$((length * 10000 * 4096 / $1))
	[ $n -ge 100 ] || n=100
	[ $n -le $((length * 10000)) ] || n=$((length * 10000))
	echo $n
}

# lat VERB SIZE: measures latency
lat() {
	wants "${1}_lat" || return 0
	perf "ib_${1}_lat" -s "$2" -n "$(turns "$2")"
	record "${1}_lat" "$2" 1 "$(table 5)"
}

# tcp_lat SIZE: measures the latency of TCP without RDMA
tcp_lat() {
	local value=-
	wants send_lat || return 0
	if [ -z "$broken" ]; then
		PORT=5202 server tcp_lat on_b /src/build/bench/tcp_lat 5202 "$1" "$(turns "$1")"
		if run on_a /src/build/bench/tcp_lat 5202 "$1" "$(turns "$1")" $IP_B &&
			finish tcp_lat 10; then
			value=$(cat "$WORK/out")
		else
			failure "tcp_lat $1" "$WORK/out" "$WORK/tcp_lat.log"
		fi
		stop tcp_lat
	fi
	record send_lat "$1" 1 "$value"
}

# stream TEST SIZE [OPTION]: runs iperf3 with writes of that size
stream() {
	local test=$1 size=$2
	shift 2
	wants "$test" || return 0
	[ -z "$broken" ] || { record "$test" "$size" 1 -; return; }
	PORT=5201 server iperf on_b iperf3 -s -1
	run on_a iperf3 "$@" -c $IP_B -t "$length" -l "$size" -f m -J
	record "$test" "$size" 1 "$(
		sed -n '/"sum_received"/,/}/s/.*"bits_per_second":[^0-9]*\([0-9.e+]*\),*/\1/p' \
			"$WORK/out" | awk '{ v = $1 / 8 / 1048576 } END { print v ? v : "-" }'
	)"
	stop iperf
}

# offload on|off: sets segmentation offload at both ends
offload() {
	on_a ethtool -K vA tso "$1" gso "$1" >"$WORK/ethtool"
	on_b ethtool -K vB tso "$1" gso "$1" >>"$WORK/ethtool"
}

# wire VERB: measures TCP segments per FPDU of bulk data, counted in a capture without segmentation
# offload, of either direction
wire() {
	wants wire || return 0
	[ -z "$broken" ] || return 0
	offload off
	server capture on_a tcpdump -i vA -w "$WORK/wire.pcap" -s 0 -B 65536 tcp
	wait_for grep -q listening "$WORK/capture.log"
	perf "ib_${1}_bw" -s 65536 -n 200
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

# picture: measures rate and latency by message size
picture() {
	local size
	for size in $sizes; do
		bw write "$size"
		lat send "$size"
	done
}

# all: the tests of all drivers
all() {
	local verb size
	picture
	for verb in read send; do
		for size in 64 4096 65536 1048576; do
			bw $verb $size
		done
	done
	for verb in write read; do
		lat $verb 64
		lat $verb 4096
	done
	for verb in write read send; do
		bw $verb 65536 16
		bw $verb 65536 256
		bw $verb 65536 1 -b
	done
	few write 65536
}

# some: the tests that a variant affects
some() {
	local verb
	for verb in write read send; do
		bw $verb 65536
	done
	bw send 4096
	lat send 64
}

# crc32c: measures the speed of the kernel's function alone
crc32c() {
	wants crc32c || return 0
	dmesg -C
	insmod /src/build/bench/crc_rate/crc_rate.ko 2>"$WORK/insmod"
	record crc32c 1444 1 \
		"$(dmesg | sed -n 's/.*crc_rate: \([0-9]*\) MiB.*/\1/p' | grep . || echo -)"
}

# idle: measures the memory of an idle queue pair
idle() {
	wants idle_qp || return 0
	local value=-
	if [ -z "$broken" ]; then
		if VERBS_LOG_LEVEL=1 VERBS_LOG_FILE=$WORK/verbs.log LIMIT=300 \
			run /src/build/bench/idle 500; then
			value=$(tail -n 1 "$WORK/out")
		else
			failure idle "$WORK/out" "$WORK/verbs.log"
		fi
	fi
	record idle_qp 0 1 "$value"
}

# set_up DRIVER: sets up the wire, and devices on both ends, unless DRIVER is TCP. rxe, at least
# before Linux 7.0, has its sockets in the initial namespace; so for rxe both ends are there, with
# routes as between two hosts.
set_up() {
	[[ $loaded =~ $1 ]] || bail "no module $1"
	if [ "$1" = rxe ]; then wire_up_here; else wire_up; fi
	if [ "$1" != tcp ]; then
		must rdma_link hostA "$DEV_A" "$1" vA
		must rdma_link hostB "$DEV_B" "$1" vB
	fi
	must on_a ping -qc 1 $IP_B
}

# links DRIVER: sets up a driver; if this fails, adds the driver to $broken, and its results are "-"
links() {
	driver=$1 variant=plain mtu=1500 broken=
	DEV_A=${1}A DEV_B=${1}B
	# in a separate process, because bail would end this one
	(set_up "$1") >"$WORK/set-up" 2>&1 && return
	broken=1
	failure 'cannot be set up' "$WORK/set-up"
}

# unlink_all: removes all devices and the wire, if they exist
unlink_all() {
	local device
	for device in "$DEV_A" "$DEV_B"; do
		[ ! -d "/sys/class/infiniband/$device" ] || timeout 60 rdma link delete "$device"
	done
	wire_down
	ip link del vA
	sleep 0.2
} >"$WORK/unlink" 2>&1

set_mtu() {
	mtu=$1
	[ -z "$broken" ] || return 0
	ip -n hostA link set vA mtu "$1"
	ip -n hostB link set vB mtu "$1"
}

large() {
	local verb size
	for verb in write read send; do
		for size in 64 4096 65536 1048576; do
			bw $verb $size
		done
		lat $verb 64
	done
}

# changed VARIANT POLICY VALUE BEFORE: measures kwarp with another policy, in the tests that the
# policy affects
changed() {
	[ -z "$broken" ] || return
	variant=$1
	policy "$2" "$3"
	some
	policy "$2" "$4"
	variant=plain
}

# over_sctp: measures kwarp over SCTP, in tests that also run over TCP
over_sctp() {
	local verb
	[ -z "$broken" ] || return 0
	variant=sctp LLP=sctp
	policy llp sctp
	for verb in write read send; do
		bw $verb 65536
	done
	bw send 64
	lat send 64
	lat write 64
	policy llp tcp
	variant=plain LLP=tcp
}

# tcp_picture: rate and latency of TCP by the size of its writes
tcp_picture() {
	local size
	driver=tcp
	for size in $sizes; do
		stream tcp "$size"
		tcp_lat "$size"
	done
}

# streams: measures the transports without RDMA
streams() {
	driver=tcp
	stream tcp 131072
	driver=sctp
	stream sctp 65536 --sctp
	driver=tcp
}

# begin DRIVER: prepares the devices of the driver, which exist
begin() {
	links "$1"
	if [ "$1" = kwarp ] && [ -z "$broken" ]; then
		policy crc off
		# perftest opens its 256 connections at once
		policy backlog 1024
	fi
}

# round_of_picture: the measurements of ONLY=picture
round_of_picture() {
	local name
	for name in kwarp siw rxe; do
		begin $name
		picture
		unlink_all
	done
	links tcp
	tcp_picture
	unlink_all
}

one_round() {
	local name
	for name in kwarp siw rxe; do
		begin $name
		all
		if [ $name != rxe ]; then
			wire write
			wire read
			wire send
		fi
		idle
		if [ $name = kwarp ]; then
			changed markers markers 1 0
			changed crc crc required off
			over_sctp
		fi
		set_mtu 9000
		large
		[ $name != kwarp ] || over_sctp
		unlink_all
	done
	links tcp
	tcp_picture
	streams
	set_mtu 9000
	streams
	unlink_all
	driver=kernel mtu=1500
	crc32c
	ooo
}

drivers_load
loaded='kwarp tcp'
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
for ((round = 1; round <= rounds; round++)); do
	if [ "${ONLY:-}" = picture ]; then round_of_picture; else one_round; fi
done
