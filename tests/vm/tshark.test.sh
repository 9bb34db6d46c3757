#!/bin/bash
# tshark: an independent decoder reads captured sessions: startup of revision 2, Send, Write and
# Read, with and without markers. Every frame must be well formed and every CRC right. Altered
# captures show that the check can fail.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/capture.sh"

wire_check=build/peer/wire_check
[ -x $wire_check ] || bail "no $wire_check: make -C tests/peer O=build/peer, in the tree"
hosts_up

# offloads on|off: with off, captured segments are those of a real wire. tshark can follow FPDUs
# with markers only if each segment holds one, so we capture these sessions with offloads off.
offloads() {
	on_a ethtool -K vA tso "$1" gso "$1" gro "$1" &&
		on_b ethtool -K vB tso "$1" gso "$1" gro "$1"
}

# session: runs the programs whose traffic is captured; each program of perftest makes two
# connections
session() {
	PORT=7174 server rping on_b rping -s -a "$IP_B" -V -C 10 -S "$1" &&
		run on_a rping -c -a "$IP_B" -V -C 10 -S "$1" && finish rping || return 1
	local test
	for test in ib_send_lat ib_write_lat ib_read_lat; do
		perftest_pair on_b on_a "$IP_B" "$test" -n 10 -s "$2" && finish perftest || return 1
	done
}

# bulk: writes 40 MiB, over the two connections of a program of perftest
bulk() {
	perftest_pair on_b on_a "$IP_B" ib_write_bw -n 40 -t 16 -s 1048576 && finish perftest
}

# capture NAME SESSION...: runs SESSION and captures all of its packets
capture() {
	local file=$WORK/$1.pcap rc=0 connections=7
	shift
	[ "$1" != bulk ] || connections=2
	capture_begins "$file" tcp && "$@" && wait_for captured_all "$file" "$connections" || rc=$?
	stop tcpdump
	return "$rc"
}

# verdict FILE: writes tshark's result as lines "WORD NUMBER" to $WORK/verdict. tshark takes seconds
# to start in a guest, so it runs once. Heuristic dissectors are off, because they would take our
# payload for RPC or SMB. Retransmitted packets are left out, since Wireshark may dissect both
# copies.
verdict() {
	tshark -r "$1" --disable-heuristic rpcrdma_iwarp --disable-heuristic smb_direct_iwarp \
		-Y '!tcp.analysis.retransmission && !tcp.analysis.spurious_retransmission' \
		-O iwarp_mpa,iwarp_ddp_rdmap 2>"$WORK/tshark.err" | awk '
		/^    FPDU$/ { n["fpdus"]++ }
		/CRC check: .*\(Good CRC32\)/ { n["good"]++ }
		/CRC check: .*\(Bad CRC32/ { n["bad"]++ }
		/[Mm]alformed|Dissector bug|Bad length/ { n["malformed"]++ }
		/ID Req frame:/ { n["requests"]++ }
		/ID Rep frame:/ { n["replies"]++ }
		/Revision: 2$/ { n["rev2"]++ }
		/Marker flag: True/ { n["wants_markers"]++ }
		/FPDU back pointer:/ { n["markers"]++ }
		/OpCode: Write/ { n["write"]++ }
		/OpCode: Read Request/ { n["read_request"]++ }
		/OpCode: Read Response/ { n["read_response"]++ }
		/OpCode: Send / { n["send"]++ }
		END {
			for (word in n)
				print word, n[word]
		}' >"$WORK/verdict"
}

# count WORD: prints a number of the verdict
count() {
	local number
	number=$(sed -n "s/^$1 //p" "$WORK/verdict")
	echo "${number:-0}"
}

# wire FILE: runs the decoder of tests/peer, which shares no code with the module
wire() {
	"$wire_check" "$1" >"$WORK/wire"
}

# wire_count WORD: prints a number of our decoder's result
wire_count() {
	sed -n "s/^$1 //p" "$WORK/wire"
}

# clean FILE: true if both decoders find no error, and tshark has seen every FPDU
clean() {
	wire "$1" || { cat "$WORK/wire"; return 1; }
	verdict "$1"
	sort "$WORK/verdict"
	cat "$WORK/wire"
	[ "$(count fpdus)" -gt 0 ] && [ "$(count fpdus)" -eq "$(wire_count fpdus)" ] &&
		[ "$(count good)" -eq "$(count fpdus)" ] && [ "$(count bad)" -eq 0 ] &&
		[ "$(count malformed)" -eq 0 ]
}

# one_each NAME SESSION...: makes a capture in which each segment is one FPDU. Two messages may
# share a segment, but tshark cannot decode these with markers, so we try ten times.
one_each() {
	local try
	for try in {1..10}; do
		capture "$@" && wire "$WORK/$1.pcap" || return 1
		[ "$(wire_count segments)" -ne "$(wire_count fpdus)" ] || return 0
		echo "try $try: $(wire_count fpdus) FPDUs in $(wire_count segments) segments"
	done
	return 1
}

# spoil FROM TO: copies a capture and changes one byte in the payload of the first long segment;
# later segments may be retransmissions, which decoders ignore
spoil() {
	python3 - "$1" "$2" <<'PYTHON'
import struct, sys
data = bytearray(open(sys.argv[1], 'rb').read())
at, byte = 24, None
while at < len(data):
    length = struct.unpack('<I', data[at + 8:at + 12])[0]
    if length > 300 and byte is None:
        byte = at + 16 + length - 40
    at += 16 + length
data[byte] ^= 0x01
open(sys.argv[2], 'wb').write(data)
PYTHON
}

# one_bad FILE: true if tshark finds exactly one wrong CRC
one_bad() {
	verdict "$1"
	sort "$WORK/verdict"
	[ "$(count bad)" -eq 1 ]
}

# examine NAME: all checks of one capture
examine() {
	local file=$WORK/$1.pcap word
	# keep a failed capture for inspection
	ok "$1: well formed, every CRC good" clean "$file" || cp "$file" /results/ 2>/dev/null
	is "$1: startup frames are of revision 2" "$(count rev2)" \
		$(($(count requests) + $(count replies)))
	is "$1: each request is answered" "$(count replies)" "$(count requests)"
	for word in requests write read_request read_response send; do
		[ "$(count $word)" -ge 4 ]
		report $? "$1: $word"
	done
}

# examine_markers NAME: all checks of one capture with markers
examine_markers() {
	is "$1: both sides ask for markers" "$(count wants_markers)" \
		$(($(count requests) + $(count replies)))
	[ "$(count markers)" -gt 0 ]
	report $? "$1: has markers"
}

# can_fail NAME: changes one byte, which both decoders must report
can_fail() {
	must spoil "$WORK/$1.pcap" "$WORK/spoilt.pcap"
	ok "$1: one changed byte is found by tshark" one_bad "$WORK/spoilt.pcap"
	fails "$1: one changed byte is found by our decoder" $wire_check "$WORK/spoilt.pcap"
}

must policy crc 1
must policy markers 0
must offloads on
ok 'session, offloads on' capture plain session 20000 8192
examine plain
can_fail plain

# Packets of up to 64 KiB, which TCP or the device cuts into segments. If packets regularly ended
# within an FPDU, a quarter and more would begin within one. With a small send buffer or window
# kwarp builds smaller batches, several of which make a packet, so a busy machine may need tries.
for host in a b; do
	must "on_$host" sysctl -qw net.ipv4.tcp_wmem='4096 4194304 4194304'
done
aligned_bulk() {
	local _
	for _ in {1..5}; do
		capture bulk bulk && wire "$WORK/bulk.pcap" || return
		echo "$(wire_count unaligned) of $(wire_count segments) begin inside an FPDU"
		[ $(($(wire_count unaligned) * 8)) -gt "$(wire_count segments)" ] || return 0
	done
	return 1
}
ok 'bulk: well formed, packets begin with an FPDU' aligned_bulk

# TCP's MSS does not consider the option of Accurate ECN, which each segment has. Linux 6.18 and
# newer have it.
accecn() {
	on_a sysctl -qw net.ipv4.tcp_ecn="$1" && on_b sysctl -qw net.ipv4.tcp_ecn="$1"
}
has_accecn_option() {
	tshark -r "$WORK/bulk.pcap" -c 200 -Y 'tcp.option_kind in {172, 174} && tcp.len > 0' \
		2>"$WORK/tshark.err" | grep -q .
}
if accecn 3 2>"$WORK/accecn"; then
	ok 'bulk with AccECN: well formed, packets begin with an FPDU' aligned_bulk
	ok 'bulk with AccECN: segments have the option' has_accecn_option
	must accecn 2
else
	skip 'bulk with AccECN' 'this kernel has no AccECN'
fi

must offloads off
ok 'session, one segment per packet' capture segments session 20000 8192
examine segments

must policy markers 1
ok 'session with markers, one FPDU in each segment' one_each markers session 1000 1000
examine markers
examine_markers markers
can_fail markers

ok 'session with markers, messages of many segments' capture long session 20000 8192
ok 'long: well formed, every CRC and marker right' $wire_check "$WORK/long.pcap"
has 'long: has markers' '^markers [1-9]'
# A shrinking window may split an FPDU over two segments; the next segment is aligned again.
wire "$WORK/long.pcap"
echo "# long: $(wire_count unaligned) of $(wire_count segments) segments begin inside an FPDU"
[ $(($(wire_count unaligned) * 2)) -le "$(wire_count segments)" ]
report $? 'long: segments begin with an FPDU, or are the rest of a segment' "$WORK/wire"
must policy markers 0
done_testing
