# shellcheck shell=bash
# Functions for suites about encrypting networks; source this file after lib.sh. Programs that
# compare their data run over such a network, the wire carries only ciphertext, and a connection
# survives when keys are missing for a moment.

# packets [FILTER]: prints the number of captured packets
packets() { tcpdump -nnr "$WORK/wire.pcap" "$@" 2>/dev/null | wc -l; }
captured() { [ "$(packets)" -ge "$1" ]; }

# over KIND ADDRESS FILTER: cases about traffic to ADDRESS of host B, during which no packet that
# matches tcpdump's FILTER may be on the wire
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
	is "$kind: no packet is readable" "$(packets "$clear")" 0
}

# pings_so_far NUMBER: true if the client of goes_on has received at least that many answers
pings_so_far() { [ "$(grep -c '^ping data' "$WORK/client.log")" -ge "$1" ]; }

# goes_on KIND ADDRESS AWAY BACK: the command AWAY removes the keys in mid-transfer, and no data may
# arrive then; BACK restores them, and the same connection must deliver all data
goes_on() {
	local kind=$1 address=$2 away=$3 back=$4 had
	PORT=7174 server rping on_b rping -s -a "$address" -v -V -C 300 -S 1000
	server client on_a rping -c -a "$address" -v -V -C 300 -S 1000
	ok "$kind: a transfer" wait_for pings_so_far 20
	ok "$kind: the keys are removed" "$away"
	sleep 1
	had=$(grep -c '^ping data' "$WORK/client.log")
	sleep 2
	is "$kind: without keys nothing arrives" "$(grep -c '^ping data' "$WORK/client.log")" "$had"
	ok "$kind: the keys are back" "$back"
	ok "$kind: the client ends" finish client
	ok "$kind: the server ends" finish rping
	is "$kind: all data came" "$(grep -c '^ping data' "$WORK/client.log")" 300
}

# over_sctp KIND ADDRESS: switches both devices to SCTP, and runs rping
over_sctp() {
	must policy llp sctp
	PORT=7174 LLP=sctp server rping on_b rping -s -a "$2" -V -C 30
	ok "$1: rping over SCTP" on_a rping -c -a "$2" -V -C 30
	finish rping
}
