#!/bin/bash
# dissector: Wireshark with userspace/wireshark/kwarp.lua, as "make install" installs it, reads
# captured sessions: startup of MPA revision 2, and DDP over SCTP. Each field must have the right
# value, and nothing may be malformed. In altered captures Wireshark must report each alteration.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/capture.sh"

cmp userspace/wireshark/kwarp.lua /usr/lib/*/wireshark/plugins/kwarp.lua ||
	bail 'another script is installed; scripts/build/stage.sh installs this one'
hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
# Wireshark runs no Lua for root.
must chmod 755 "$WORK"
LIMIT=300

# ---- captures ----

# capture NAME CONNECTIONS COMMAND...: runs COMMAND, captures all packets in $WORK/NAME.pcap, and
# decodes them
capture() {
	local file=$WORK/$1.pcap connections=$2
	NAME=$1
	shift 2
	must capture_begins "$file" "$LLP"
	ok "$NAME: session" "$@"
	ok "$NAME: the session is captured" wait_for captured_all "$file" "$connections"
	stop tcpdump
	decode "$file"
}

programs() {
	PORT=7174 server rping on_b rping -s -a "$IP_B" -V -C 5 -S 20000 &&
		run on_a rping -c -a "$IP_B" -V -C 5 -S 20000 && finish rping || return 1
	local test
	for test in ib_send_lat ib_write_lat ib_read_lat; do
		perftest_pair on_b on_a "$IP_B" "$test" -n 10 -s 3000 && finish perftest || return 1
	done
}

# ---- decoding ----

FIELDS=(ip.src sctp.srcport sctp.dstport iwarp_sctp.ssn iwarp_sctp.code iwarp_sctp.pdlength
	iwarp_sctp.privatedata iwarp_enh.ird iwarp_enh.ord iwarp_enh.p2p iwarp_enh.rtr_send
	iwarp_enh.rtr_write iwarp_enh.rtr_read iwarp_enh.pdlength iwarp_enh.privatedata
	iwarp_mpa.rev iwarp_mpa.rej_flag iwarp_rdma.opcode)

# decode FILE [OPTION...]: writes a row for each packet to $WORK/rows, with a column for each field,
# and Wireshark's expert information to $WORK/expert. The severities are those that
# Documentation/admin.rst recommends.
#
# Two heuristic dissectors are off: they try the payload of all Sends as RPC and as SMB, and that of
# RPC reports Sends that are shorter than its header as malformed; perftest makes Sends of 4 bytes.
# Retransmitted packets are left out, since Wireshark may dissect both copies.
decode() {
	local file=$1 field options=()
	shift
	for field in "${FIELDS[@]}"; do
		options+=(-e "$field")
	done
	setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/nonexistent \
		tshark -r "$file" "$@" -T fields -E 'separator=|' "${options[@]}" -z expert \
		--disable-heuristic rpcrdma_iwarp --disable-heuristic smb_direct_iwarp \
		-o 'uat:expert_severity:"iwarp_mpa.rev.not_set1","Comment"' \
		-o 'uat:expert_severity:"iwarp_mpa.res.not_set0","Comment"' \
		-Y '!tcp.analysis.retransmission && !tcp.analysis.spurious_retransmission' \
		>"$WORK/decoded" 2>"$WORK/tshark"
	report $? "$NAME: tshark" "$WORK/tshark"
	grep -a '|' "$WORK/decoded" >"$WORK/rows"
	grep -av '|' "$WORK/decoded" >"$WORK/expert"
	is "$NAME: no Lua error" "$(grep -ai lua "$WORK/expert" "$WORK/tshark")" ''
}

# values FIELD [SOURCE]: prints the values of the field in packets from SOURCE, or in all packets
values() {
	local column
	column=$(printf '%s\n' "${FIELDS[@]}" | grep -nxF "$1" | cut -d: -f1)
	awk -F'|' -v from="${2:-}" -v column="$column" '
		from == "" || $1 == from { print $column }' "$WORK/rows" |
		tr ',' '\n' | grep . | paste -sd' '
}

# tally FIELD [SOURCE]: prints each value of the field and the number of its occurrences
tally() {
	values "$@" | tr ' ' '\n' | sort | uniq -c | awk '{ print $2 ":" $1 }' | paste -sd' '
}

# openings SOURCE: as tally, of session control messages without Terminate. Which side ends an
# association, and how, depends on timing.
openings() {
	tally iwarp_sctp.code "$1" | tr ' ' '\n' | grep -v '^4:' | paste -sd' '
}

# ssn_gaps: prints each direction whose DDP-SSNs are not 0, 1, 2 ..., each exactly once
ssn_gaps() {
	awk -F'|' '
		{
			way = $1 " " $2 " " $3
			n = split($4, ssn, ",")
			for (i = 1; i <= n; i++) {
				if (seen[way, ssn[i]]++)
					print way ": " ssn[i] " again"
				count[way]++
				if (ssn[i] + 0 > last[way])
					last[way] = ssn[i] + 0
			}
		}
		END {
			for (way in count)
				if (last[way] != count[way] - 1)
					print way ": " count[way] " numbers up to " last[way]
		}' "$WORK/rows"
}

# complaints: prints errors and warnings of the expert information, except those about TCP
complaints() {
	awk '
		/^[A-Z][a-z]+ \([0-9]+\)$/ { serious = /^(Errors|Warns)/ }
		serious && $1 ~ /^[0-9]+$/ && $3 != "TCP"' "$WORK/expert"
}

# valid: passes if Wireshark has nothing to report about the capture
valid() {
	is "$NAME: nothing is wrong" "$(complaints)" ''
	[ "$LLP" = tcp ] || is "$NAME: DDP-SSNs are all numbers from 0 on" "$(ssn_gaps)" ''
}

# ---- altered captures ----

# alter FROM TO: copies a capture and alters five packets of SCTP, or one of TCP
alter() {
	python3 - "$1" "$2" <<'PYTHON'
import struct, sys

IP, CHUNK, DATA = 14, 46, 16    # offsets of IP and of the first chunk; header of a DATA chunk
SCTP, SEGMENT, CONTROL = 132, 16, 17

data = open(sys.argv[1], 'rb').read()
packets, at = [], 24
while at < len(data):
    length = struct.unpack_from('<I', data, at + 8)[0]
    packets.append((data[at:at + 8], bytearray(data[at + 16:at + 16 + length])))
    at += 16 + length

def get(packet, at):
    return struct.unpack_from('>H', packet, at)[0]

def put(packet, at, value):
    struct.pack_into('>H', packet, at, value)

def cut(packet, length):
    del packet[length:]
    put(packet, IP + 2, length - IP)

def chunks():
    """All DATA chunks, without those that SCTP has sent twice: Wireshark decodes only the first."""
    seen = set()
    for _, packet in packets:
        at = CHUNK
        while packet[IP + 9] == SCTP and at + 4 <= len(packet):
            length = get(packet, at + 2)
            name = bytes(packet[IP + 12:IP + 24] + packet[at + 4:at + 8])    # both ends, and TSN
            if packet[at] == 0 and name not in seen:
                seen.add(name)
                yield packet, at
            at += (length + 3) // 4 * 4

def find(ppid, code=None):
    """The next DATA chunk with this PPID, and with this code."""
    for packet, at in rest:
        if get(packet, at + 14) == ppid and code in (None, get(packet, at + DATA + 2)):
            return packet, at

def cut_chunk(packet, at, length):
    put(packet, at + 2, DATA + length)
    cut(packet, at + DATA + (length + 3) // 4 * 4)

rest = chunks()
if any(packet[IP + 9] == SCTP for _, packet in packets):
    cut_chunk(*find(CONTROL, 5), 6)             # Enhanced Initiate: half of its enhanced data
    packet, at = find(CONTROL, 6)               # Enhanced Accept: another code
    put(packet, at + DATA + 2, 9)
    cut_chunk(*find(SEGMENT), 7)                # 5 bytes of a segment
    packet, at = find(SEGMENT)                  # a DDP-SSN for the second time
    source, ssn = packet[IP + 12:IP + 16], get(packet, at + DATA)
    packet, at = find(SEGMENT)
    while packet[IP + 12:IP + 16] != source:
        packet, at = find(SEGMENT)
    put(packet, at + DATA, ssn)
    packet, at = find(SEGMENT)                  # a DDP-SSN far ahead
    put(packet, at + DATA, get(packet, at + DATA) + 1000)
else:
    for _, packet in packets:
        at = packet.find(b'MPA ID Req Frame')
        if at > 0:
            put(packet, at + 18, 2)             # half of the enhanced data
            cut(packet, at + 22)
            break

with open(sys.argv[2], 'wb') as out:
    out.write(data[:24])
    for stamp, packet in packets:
        out.write(stamp + struct.pack('<II', len(packet), len(packet)) + packet)
PYTHON
}

# blamed PROTOCOL TEXT: prints the number of such entries in the expert information
blamed() {
	awk -v protocol="$1" -v text="$2" '
		$3 == protocol && index($0, text) { n += $1 }
		END { print n + 0 }' "$WORK/expert"
}

# ---- MPA, revision 2 ----

# lengths of the private data that tests/verbs sends
sizes='0 1 3 4 5 56 148 200 251 252 255'

LLP=tcp
capture mpa-accept 1 build/verbs/cm --gtest_filter=depth.negotiate__events_report_it
valid
is "$NAME: revision" "$(values iwarp_mpa.rev)" '2 2'
is "$NAME: not rejected" "$(values iwarp_mpa.rej_flag)" 'False False'
is "$NAME: IRD" "$(values iwarp_enh.ird)" '5 7'
is "$NAME: ORD" "$(values iwarp_enh.ord)" '7 3'
for flag in p2p rtr_send rtr_write rtr_read; do
	is "$NAME: flag $flag" "$(values iwarp_enh.$flag)" 'True True'
done
is "$NAME: private data" "$(values iwarp_enh.pdlength)" '0 0'
is "$NAME: one segment, the ready-to-receive indication" "$(values iwarp_rdma.opcode)" 0x00

must alter "$WORK/$NAME.pcap" "$WORK/altered.pcap"
NAME='mpa-accept, altered'
decode "$WORK/altered.pcap"
is "$NAME: half of the enhanced data" "$(blamed IWARP_ENH 'Shorter than its header')" 1

capture mpa-reject 11 build/verbs/cm --gtest_filter=reject.answer__private_data_arrives
valid
is "$NAME: revision" "$(tally iwarp_mpa.rev)" '2:22'
is "$NAME: rejected" "$(tally iwarp_mpa.rej_flag)" 'False:11 True:11'
is "$NAME: IRD" "$(tally iwarp_enh.ird)" '16383:11 8:11'
is "$NAME: ORD" "$(tally iwarp_enh.ord)" '16383:11 8:11'
is "$NAME: peer-to-peer model" "$(tally iwarp_enh.p2p $IP_A)" 'True:11'
is "$NAME: private data of requests" "$(tally iwarp_enh.pdlength $IP_A)" '0:11'
is "$NAME: private data of replies" "$(values iwarp_enh.pdlength $IP_B)" "$sizes"
rejections=$(values iwarp_enh.privatedata $IP_B)
is "$NAME: the longest" "$(echo "${rejections##* }" | tr -d '\n' | wc -c)" $((2 * 255))

# ---- SCTP ----

LLP=sctp
must policy llp sctp
# The filter that hosts_up installed was for TCP.
must patient hostB vB 18515

capture accept 1 build/verbs/cm --gtest_filter=depth.negotiate__events_report_it
valid
is "$NAME: codes: Enhanced Initiate" "$(openings $IP_A)" 5:1
is "$NAME: codes: Enhanced Accept" "$(openings $IP_B)" 6:1
is "$NAME: IRD" "$(values iwarp_enh.ird)" '5 7'
is "$NAME: ORD" "$(values iwarp_enh.ord)" '7 3'
for flag in p2p rtr_send rtr_write rtr_read; do
	is "$NAME: flag $flag" "$(values iwarp_enh.$flag)" 'False False'
done
is "$NAME: private data" "$(values iwarp_sctp.pdlength)" '0 0'

capture reject 11 build/verbs/cm --gtest_filter=reject.answer__private_data_arrives
valid
is "$NAME: codes: Enhanced Initiate" "$(openings $IP_A)" 5:11
is "$NAME: codes: Enhanced Reject" "$(openings $IP_B)" 7:11
is "$NAME: IRD" "$(tally iwarp_enh.ird)" '16383:11 8:11'
is "$NAME: ORD" "$(tally iwarp_enh.ord)" '16383:11 8:11'
is "$NAME: private data of requests" "$(tally iwarp_sctp.pdlength $IP_A)" 0:11
is "$NAME: private data of replies" "$(values iwarp_sctp.pdlength $IP_B)" "$sizes"
is "$NAME: the same private data as over MPA" "$(values iwarp_sctp.privatedata $IP_B)" \
	"$rejections"

# An Enhanced Reject that is too short for IRD and ORD.
capture short-reject 3 build/verbs/sctp --gtest_filter=sctp_active.reject__without_depths
valid
is "$NAME: codes: Enhanced Reject" "$(openings $IP_B)" 7:3
is "$NAME: IRD of requests only" "$(values iwarp_enh.ird | wc -w)" 3
is "$NAME: private data of replies" "$(values iwarp_sctp.pdlength $IP_B)" '0 1 3'

capture plain 14 build/verbs/cm \
	--gtest_filter=private_data.exchange__revision_1:reject.answer__revision_1
valid
is "$NAME: codes: Initiate" "$(openings $IP_A)" 1:14
is "$NAME: codes: Accept, Reject" "$(openings $IP_B)" '2:11 3:3'
is "$NAME: no enhanced data" "$(values iwarp_enh.ird)" ''
is "$NAME: private data of requests" "$(values iwarp_sctp.pdlength $IP_A)" "$sizes 0 0 0"
is "$NAME: private data of replies" "$(values iwarp_sctp.pdlength $IP_B)" "$sizes 0 1 255"

capture disconnect 1 build/verbs/cm --gtest_filter=disconnect.graceful__by_client
valid
is "$NAME: codes: Enhanced Initiate, Terminate" "$(values iwarp_sctp.code $IP_A)" '5 4'
is "$NAME: codes: Enhanced Accept, Terminate" "$(values iwarp_sctp.code $IP_B)" '6 4'

capture terminate 1 build/verbs/verbs --gtest_filter=remote_error.write__wrong_key
valid
is "$NAME: RDMA Write" "$(values iwarp_rdma.opcode $IP_A)" 0x00
is "$NAME: RDMAP Terminate" "$(values iwarp_rdma.opcode $IP_B)" 0x07
is "$NAME: codes: Enhanced Accept, Terminate" "$(values iwarp_sctp.code $IP_B)" '6 4'

sent() { echo $(($(counter "$DEV_A" tx_fpdus) + $(counter "$DEV_B" tx_fpdus))); }
before=$(sent)
capture data 7 programs
after=$(sent)
valid
is "$NAME: codes: Enhanced Initiate" "$(openings $IP_A)" 5:7
is "$NAME: codes: Enhanced Accept" "$(openings $IP_B)" 6:7
is "$NAME: Wireshark dissects each segment" "$(values iwarp_rdma.opcode | wc -w)" \
	$((after - before))
opcodes=$(tally iwarp_rdma.opcode)
has_opcodes() { [[ $opcodes =~ ^0x00:[0-9]+\ 0x01:15\ 0x02:[0-9]+\ 0x03:[0-9]+$ ]]; }
ok "$NAME: Writes, 15 Read Requests of rping and ib_read_lat, Read Responses, Sends" has_opcodes

must alter "$WORK/data.pcap" "$WORK/altered.pcap"
for option in '' -2; do
	NAME="data, altered, ${option:-one pass}"
	decode "$WORK/altered.pcap" ${option:+"$option"}
	is "$NAME: a truncated chunk" "$(blamed IWARP_SCTP 'Shorter than its header')" 1
	is "$NAME: an unknown code" "$(blamed IWARP_SCTP 'Unknown session control code')" 1
	is "$NAME: a short segment" "$(blamed IWARP_DDP_RDMAP 'Malformed Packet')" 1
	is "$NAME: a DDP-SSN twice" "$(blamed IWARP_SCTP 'DDP-SSN used before')" 1
	[ "$(blamed IWARP_SCTP 'is the next in turn')" -gt 0 ]
	report $? "$NAME: a DDP-SSN far ahead" "$WORK/expert"
	[ -n "$(ssn_gaps)" ]
	report $? "$NAME: not all DDP-SSNs" "$WORK/expert"
done
done_testing
