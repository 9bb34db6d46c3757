# shellcheck shell=bash
# For suites about networks that encrypt, after lib.sh: programs that compare their data run over
# them, nothing but ciphertext is on the wire, and a stream goes on when keys are away for a moment.

# packets [FILTER]: prints how many were captured
packets() { tcpdump -nnr "$WORK/wire.pcap" "$@" 2>/dev/null | wc -l; }
captured() { [ "$(packets)" -ge "$1" ]; }

# over KIND ADDRESS FILTER: traffic to ADDRESS of host B; no packet that matches FILTER, in
# tcpdump's words, is on the wire
over() {
	local kind=$1 address=$2 clear=$3 test
	server wire on_b tcpdump -i vB -s 64 -U -w "$WORK/wire.pcap"
	wait_for test -s "$WORK/wire.pcap"
	PORT=7174 server rping on_b rping -s -a "$address" -V -C 30 -S 20000
	ok "$kind: rping" on_a rping -c -a "$address" -V -C 30 -S 20000
	finish rping
	for test in ib_write_bw ib_read_bw ib_send_bw; do
		ok "$kind: $test" perftest_pair on_b on_a "$address" $test -n 50 -s 65536
		finish perftest
	done
	stop wire
	ok "$kind: packets are on the wire" captured 1000
	is "$kind: nothing is readable of them" "$(packets "$clear")" 0
}

# pings_so_far NUMBER: the client of goes_on has had so many answers
pings_so_far() { [ "$(grep -c '^ping data' "$WORK/client.log")" -ge "$1" ]; }

# goes_on KIND ADDRESS AWAY BACK: AWAY takes the keys from the middle of a transfer, and nothing
# arrives then; BACK brings them again, and the same connection ends with all its data right
goes_on() {
	local kind=$1 address=$2 away=$3 back=$4 had
	PORT=7174 server rping on_b rping -s -a "$address" -v -V -C 300 -S 1000
	server client on_a rping -c -a "$address" -v -V -C 300 -S 1000
	ok "$kind: a transfer" wait_for pings_so_far 20
	ok "$kind: the keys go" "$away"
	sleep 1
	had=$(grep -c '^ping data' "$WORK/client.log")
	sleep 2
	is "$kind: without keys nothing arrives" "$(grep -c '^ping data' "$WORK/client.log")" "$had"
	ok "$kind: the keys are back" "$back"
	ok "$kind: the client ends" finish client
	ok "$kind: the server ends" finish rping
	is "$kind: all data came" "$(grep -c '^ping data' "$WORK/client.log")" 300
}

# over_sctp KIND ADDRESS: rping, with SCTP as the lower layer of both devices from then on
over_sctp() {
	must policy llp sctp
	PORT=7174 LLP=sctp server rping on_b rping -s -a "$2" -V -C 30
	ok "$1: rping over SCTP" on_a rping -c -a "$2" -V -C 30
	finish rping
}
