#!/bin/bash
# tshark: an independent decoder reads captured sessions: revision 2 startup, Send, Write and Read, with
# and without markers. Every frame is well formed and every CRC is good; and the check can fail.
# Timeout: 300
. "$(dirname "$0")/lib.sh"

hosts_up

# policy KNOB VALUE: for both devices
policy() {
	local dev
	for dev in "$DEV_A" "$DEV_B"; do
		echo "$2" >"/sys/class/infiniband/$dev/kwarp/$1" || return 1
	done
}

# offloads on|off: with off, TCP makes the segments that the wire would carry. tshark follows FPDUs
# with markers only if each segment holds one, so that is how those are captured.
offloads() {
	on_a ethtool -K vA tso "$1" gso "$1" gro "$1" && on_b ethtool -K vB tso "$1" gso "$1" gro "$1"
}

# session: what is captured
session() {
	PORT=7174 server rping on_b rping -s -a "$IP_B" -V -C 10 -S "$1" &&
		on_a rping -c -a "$IP_B" -V -C 10 -S "$1" && finish rping || return 1
	local test
	for test in ib_send_lat ib_write_lat ib_read_lat; do
		PORT=18515 server "$test" on_b "$test" -R -F -d "$DEV_B" -n 10 -s "$2" &&
			on_a "$test" -R -F -d "$DEV_A" -n 10 -s "$2" "$IP_B" && finish "$test" || return 1
	done
}

# capture NAME COMMAND...
capture() {
	local name=$1 rc=0
	shift
	server tcpdump on_a tcpdump -i vA -s 0 -U -w "$WORK/$name.pcap" tcp
	wait_for 10 test -s "$WORK/$name.pcap"
	"$@" || rc=$?
	sleep 0.5
	stop tcpdump
	return "$rc"
}

# decode FILE: one line per layer and field. What the octets of a message mean to others is not asked:
# tshark would guess RPC or SMB in our payload.
decode() {
	tshark -r "$1" --disable-heuristic rpcrdma_iwarp --disable-heuristic smb_direct_iwarp -V 2>"$WORK/tshark.err"
}

# fields FILE FILTER: number of frames that pass the filter
frames() {
	tshark -r "$1" --disable-heuristic rpcrdma_iwarp --disable-heuristic smb_direct_iwarp -Y "$2" \
		-T fields -e frame.number 2>"$WORK/tshark.err" | wc -l
}

# verdict FILE: in $WORK/verdict: FPDUs, good and bad CRCs, malformed frames, frames of payload that
# nobody understood
verdict() {
	decode "$1" >"$WORK/decoded"
	{
		echo "fpdus $(grep -c '^    FPDU$' "$WORK/decoded")"
		echo "good $(grep -c 'CRC check: .*(Good CRC32)' "$WORK/decoded")"
		echo "bad $(grep -c 'CRC check: .*(Bad CRC32' "$WORK/decoded")"
		echo "malformed $(grep -ciE '^\[?(malformed|dissector bug|unreassembled)|Bad length' "$WORK/decoded")"
		echo "unknown $(frames "$1" "tcp.len > 0 && !iwarp_mpa && !tcp.reassembled_in && !tcp.analysis.retransmission")"
	} >"$WORK/verdict"
}

# count WORD: of the verdict
count() {
	sed -n "s/^$1 //p" "$WORK/verdict"
}

# clean FILE: as it must be
clean() {
	verdict "$1"
	cat "$WORK/verdict"
	[ "$(count fpdus)" -gt 0 ] && [ "$(count good)" -eq "$(count fpdus)" ] && [ "$(count bad)" -eq 0 ] &&
		[ "$(count malformed)" -eq 0 ] && [ "$(count unknown)" -eq 0 ]
}

# spoil FROM TO: a copy in which one octet of the last long segment's payload is another
spoil() {
	python3 - "$1" "$2" <<'PYTHON'
import struct, sys
data = bytearray(open(sys.argv[1], 'rb').read())
at, last = 24, None
while at < len(data):
    length = struct.unpack('<I', data[at + 8:at + 12])[0]
    if length > 300:
        last = at + 16 + length - 40
    at += 16 + length
data[last] ^= 0x01
open(sys.argv[2], 'wb').write(data)
PYTHON
}

# one_bad FILE: exactly one CRC is bad
one_bad() {
	verdict "$1"
	cat "$WORK/verdict"
	[ "$(count bad)" -eq 1 ]
}

# examine NAME: all that is asked of one capture
examine() {
	local file=$WORK/$1.pcap op
	ok "$1: well formed, every CRC good" clean "$file"
	is "$1: startup frames are of revision 2" "$(frames "$file" 'iwarp_mpa.rev == 2')" \
		"$(frames "$file" 'iwarp_mpa.req || iwarp_mpa.rep')"
	is "$1: four connections" "$(frames "$file" iwarp_mpa.req)" 4
	for op in '0 Write' '1 Read Request' '2 Read Response' '3 Send'; do
		[ "$(frames "$file" "iwarp_rdma.opcode == ${op%% *}")" -gt 0 ]
		report $? "$1: has ${op#* }"
	done
	must spoil "$file" "$WORK/spoilt.pcap"
	ok "$1: one octet changed is found" one_bad "$WORK/spoilt.pcap"
}

must policy crc 1
must offloads on
ok 'session, offloads on' capture plain session 20000 8192
examine plain

must offloads off
ok 'session, one segment per packet' capture segments session 20000 8192
examine segments

must policy markers 1
ok 'session with markers' capture markers session 1000 1000
examine markers
[ "$(frames "$WORK/markers.pcap" iwarp_mpa.marker_fpduptr)" -gt 0 ]
report $? 'markers: there are some'
is 'markers: both sides ask for them' "$(frames "$WORK/markers.pcap" 'iwarp_mpa.marker_flag == 1')" \
	"$(frames "$WORK/markers.pcap" 'iwarp_mpa.req || iwarp_mpa.rep')"
ok 'session with markers in messages of many segments' capture long session 20000 8192
examine long
must policy markers 0
done_testing
