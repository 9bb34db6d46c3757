# shellcheck shell=bash
# Functions for suites that capture and decode the packets of host A; source this file after lib.sh.

# capture_begins FILE FILTER: starts tcpdump, with a buffer that holds all packets even if tcpdump
# gets no processor for a while
capture_begins() {
	rm -f "$1"
	server tcpdump on_a tcpdump -i vA -s 0 -B 65536 -U -w "$1" "$2"
	wait_for test -s "$1"
}

# captured_all FILE NUMBER: true if FILE has that many complete connections. The last packet of an
# SCTP connection is SHUTDOWN COMPLETE or ABORT; that of a TCP connection follows the FINs of both
# sides, or is RST.
captured_all() {
	tcpdump -nnr "$1" 2>/dev/null | awk -v number="$2" '
		{
			sub(/:$/, "", $5)
			pair = $3 < $5 ? $3 " " $5 : $5 " " $3
		}
		/sctp.*\[(SHUTDOWN COMPLETE|ABORT)\]/ { over[pair] }
		/Flags \[R/ { over[pair] }
		/Flags \[F/ { fin[$3, $5] }
		/Flags \[F/ && ($5, $3) in fin { over[pair] }
		END {
			for (pair in over)
				n++
			exit n + 0 < number
		}'
}
