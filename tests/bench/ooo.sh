# shellcheck shell=bash
# shellcheck disable=SC2034 # variables of guest.sh's functions
# For guest.sh: measures the effect of early placement: kwarp with markers and CRC, with policy ooo
# off and on in turn, over networks that lose and reorder packets. Writes /results/ooo.tsv, whose
# lines are like those of records.tsv:
#
#	round network off|on test size qps mtu value
#
#	write_bw, send_bw    MiB/s at full speed
#	lat_*                microseconds from due time to completion of messages at a fixed pace
#	closing_*            microseconds from a gap's last segment to the last completion after it
#	burst_*              bytes of the stream that were waiting when a gap closed
#	copied               payload bytes among these that had to be copied, mean per gap
#	gaps, closings       gaps that closed; those that were followed by a delivery at once
#	ooo_*                counters of the receiver
#	early_share          percentage of out-of-order bytes that were placed early
# All but the first line are about messages at a fixed pace and a capture of their segments.

# name, microseconds between two messages, netem settings for the packets of both ends
networks=(
	'clean 250'
	'loss-0.1% 250 delay 1ms loss 0.1%'
	'loss-1% 1000 delay 1ms loss 1%'
	'reorder 250 delay 1ms reorder 25% 50%'
)
paced_size=4096
counters='rx_octets ooo_placed_fpdus ooo_placed_octets ooo_delivered_without_copy ooo_replaced'

# suffer WORDS...: applies netem to both ends, or removes it without words. With netem, segmentation
# offload is off, so that each segment is lost or delayed by itself.
suffer() {
	tc -n hostA qdisc del dev vA root
	tc -n hostB qdisc del dev vB root
	offload on
	[ $# -gt 0 ] || return 0
	offload off
	tc -n hostA qdisc add dev vA root netem limit 10000 "$@" &&
		tc -n hostB qdisc add dev vB root netem limit 10000 "$@"
} 2>"$WORK/suffer"

# received: prints the receiver's counters as "name value"; the RDMA core caches values for 10 ms
received() {
	local name
	sleep 0.1
	for name in $counters; do
		echo "$name $(cat "/sys/class/infiniband/$DEV_B/ports/1/hw_counters/$name")"
	done
}

# figures: prints all results of the paced messages as "name value"
figures() {
	awk -v size=$paced_size '
		FILENAME ~ /before$/ { n[$1] -= $2; next }
		FILENAME ~ /after$/ { n[$1] += $2; next }
		{ n[$1] = $2 }
		END {
			# the fraction of payload in the stream, because waiting bytes include
			# headers, markers and CRCs
			payload = n["rx_octets"] > 0 ? n["messages"] * size / n["rx_octets"] : 0
			waited = n["early"] * payload
			if (waited > 0)
				n["early_share"] = 100 * n["ooo_placed_octets"] / waited
			done = n["ooo_placed_fpdus"] ? n["ooo_delivered_without_copy"] * \
				n["ooo_placed_octets"] / n["ooo_placed_fpdus"] : 0
			if (n["gaps"])
				n["copied"] = waited > done ? (waited - done) / n["gaps"] : 0
			delete n["rx_octets"]
			delete n["bytes"]
			delete n["early"]
			delete n["messages"]
			for (name in n)
				print name, n[name]
		}' "$WORK/before" "$WORK/after" "$WORK/paced" "$WORK/gaps"
}

# paced MICROSECONDS: sends messages at a fixed pace, captures the segments that arrive, and prints
# the differences of the counters
paced() {
	local name value
	received >"$WORK/before"
	server capture on_b tcpdump -i vB -Q in -w "$WORK/paced.pcap" -s 100 -B 65536 \
		--time-stamp-precision=nano tcp
	wait_for grep -q listening "$WORK/capture.log"
	if LIMIT=$((length * 3 + 60)) run /src/build/bench/paced \
		$((length * 1500000 / $1)) "$1" $paced_size "$WORK/times"; then
		cp "$WORK/out" "$WORK/paced"
		# tcpdump gets packets once a second, and loses later ones when it ends
		sleep 1.5
		stop capture
		received >"$WORK/after"
		grep -q '^0 packets dropped by kernel' "$WORK/capture.log" ||
			failure 'the capture has holes' "$WORK/capture.log"
		/src/build/peer/wire_gaps "$WORK/paced.pcap" "$WORK/times" >"$WORK/gaps" 2>&1 ||
			failure gaps "$WORK/gaps"
		figures | sort >"$WORK/figures"
		while read -r name value; do
			record "$name" $paced_size 1 "$value"
		done <"$WORK/figures"
	else
		stop capture
		failure paced "$WORK/out"
		record lat_p50 $paced_size 1 -
	fi
	rm -f "$WORK/paced.pcap" "$WORK/times"
}

# full_speed VERB SIZE: measures a rate
full_speed() {
	rate "$1" "$2" 1
	record "$1_bw" "$2" 1 "$(table 4)"
}

# ooo: runs all measurements
ooo() {
	become kwarp || return
	local out=/results/ooo.tsv length=2
	local network name pace words value states=(off on)
	# time stamps of segments are taken when they are processed, not when they are queued
	sysctl -qw net.core.netdev_tstamp_prequeue=0
	policy crc preferred
	policy markers 1
	for network in "${networks[@]}"; do
		read -r name pace words <<<"$network"
		driver=$name
		for value in 0 1; do
			policy ooo $value
			variant=${states[value]}
			# shellcheck disable=SC2086 # words
			suffer $words || failure "no netem $words" "$WORK/suffer"
			full_speed write 65536
			full_speed send 4096
			paced "$pace"
		done
	done
	suffer
	sysctl -qw net.core.netdev_tstamp_prequeue=1
}
