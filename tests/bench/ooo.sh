# shellcheck shell=bash
# shellcheck disable=SC2034 # variables of guest.sh's functions
# For guest.sh: what out-of-order placement changes. kwarp with markers and CRC, policy ooo off and on in turns,
# over networks that lose and reorder. Leaves /results/ooo.tsv, lines as those of records.tsv:
#
#	round network off|on test size qps mtu value
#
#	write_bw, send_bw    MiB/s at full speed
#	lat_*                microseconds: messages at a fixed pace, from when they were due to their completion
#	closing_*            microseconds from the segment that closes a gap to the last completion behind it
#	burst_*              octets of the stream that were waiting when a gap closed
#	copied               of these, octets of payload that were still to be copied, a gap's mean
#	gaps, closings       gaps that closed; of these, those behind which messages were delivered at once
#	ooo_*                counters of the receiver
#	early_share          per cent: of the octets that came out of order, those that were placed then
# All but the first line are of the paced messages, and of a capture of their segments as they arrive.

# name, microseconds between two messages, what both ends' packets suffer
networks=(
	'clean 250'
	'loss-0.1% 250 delay 1ms loss 0.1%'
	'loss-1% 1000 delay 1ms loss 1%'
	'reorder 250 delay 1ms reorder 25% 50%'
)
paced_size=4096
counters='rx_octets ooo_placed_fpdus ooo_placed_octets ooo_delivered_without_copy ooo_replaced'

# suffer WORDS...: netem on both ends, and none without words. Packets are of the MTU then, so that each is lost
# or delayed by itself.
suffer() {
	tc -n hostA qdisc del dev vA root
	tc -n hostB qdisc del dev vB root
	offload on
	[ $# -gt 0 ] || return 0
	offload off
	tc -n hostA qdisc add dev vA root netem limit 10000 "$@" &&
		tc -n hostB qdisc add dev vB root netem limit 10000 "$@"
} 2>"$WORK/suffer"

# the receiver's counters, "name value"; the core hands out what it has read up to 10 ms ago
received() {
	local name
	sleep 0.1
	for name in $counters; do
		echo "$name $(cat "/sys/class/infiniband/$DEV_B/ports/1/hw_counters/$name")"
	done
}

# figures: "name value" of all that is known of the paced messages
figures() {
	awk -v size=$paced_size '
		FILENAME ~ /before$/ { n[$1] -= $2; next }
		FILENAME ~ /after$/ { n[$1] += $2; next }
		{ n[$1] = $2 }
		END {
			# of a stream octet, what is payload; what is waiting has headers, markers and CRCs, too
			payload = n["rx_octets"] > 0 ? n["messages"] * size / n["rx_octets"] : 0
			waited = n["early"] * payload
			if (waited > 0)
				n["early_share"] = 100 * n["ooo_placed_octets"] / waited
			done = n["ooo_placed_fpdus"] ? n["ooo_delivered_without_copy"] * n["ooo_placed_octets"] / n["ooo_placed_fpdus"] : 0
			if (n["gaps"])
				n["copied"] = waited > done ? (waited - done) / n["gaps"] : 0
			delete n["rx_octets"]
			delete n["octets"]
			delete n["early"]
			delete n["messages"]
			for (name in n)
				print name, n[name]
		}' "$WORK/before" "$WORK/after" "$WORK/paced" "$WORK/gaps"
}

# paced MICROSECONDS: messages at a pace, with a capture of what arrives, and the counters' differences
paced() {
	local name value
	received >"$WORK/before"
	server capture on_b tcpdump -i vB -Q in -w "$WORK/paced.pcap" -s 100 -B 65536 --time-stamp-precision=nano tcp
	wait_for grep -q listening "$WORK/capture.log"
	if LIMIT=$((length * 3 + 60)) run /src/build/bench/paced $((length * 1500000 / $1)) "$1" $paced_size "$WORK/times"; then
		cp "$WORK/out" "$WORK/paced"
		# what tcpdump has not been told of is lost when it ends: it is told once a second
		sleep 1.5
		stop capture
		received >"$WORK/after"
		grep -q '^0 packets dropped by kernel' "$WORK/capture.log" || failure 'the capture has holes' "$WORK/capture.log"
		/src/build/peer/wire_gaps "$WORK/paced.pcap" "$WORK/times" >"$WORK/gaps" 2>&1 || failure gaps "$WORK/gaps"
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

# ooo: all of it, on a wire of its own
ooo() {
	wants ooo || return 0
	local out=/results/ooo.tsv length=$((length * 2)) wanted=. network name pace words value states=(off on)
	links kwarp
	[ -z "$broken" ] || return 0
	# segments are stamped when they are processed, not when they are queued
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
			bw write 65536
			bw send 4096
			paced "$pace"
		done
	done
	suffer
	unlink_all
	sysctl -qw net.core.netdev_tstamp_prequeue=1
}
