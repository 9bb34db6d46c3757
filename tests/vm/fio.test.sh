#!/bin/bash
# fio: the engine rdma of fio with all its verbs. With "send" the server checks the checksum and the
# place of each block; with "write" and "read" fio compares no data.
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
cd "$WORK" || bail 'no folder for the files that fio writes'

# job OPTION...: prints the options of both sides
job() {
	echo --name=job --ioengine=rdma --port=7450 --thread --minimal --size="$SIZE" "$@"
}

# both VERB BLOCK DEPTH SERVER_DEPTH [OPTION...]: runs a server on B, which reads, and a client on
# A, which writes; CLIENT has more options of the client
both() {
	# shellcheck disable=SC2046,SC2086 # options
	PORT=7450 server fio on_b fio $(job --bs="$2" --iodepth="$4" "${@:5}") --rw=read
	# shellcheck disable=SC2046,SC2086
	run on_a fio $(job --bs="$2" --iodepth="$3" $CLIENT) --rw=write --verb="$1" \
		--hostname=$IP_B
}

# received VERB: prints the number of bytes that the receiver of the data has received
received() {
	if [ "$1" = read ]; then counter "$DEV_A" rx_octets; else counter "$DEV_B" rx_octets; fi
}

no_receives() { counter "$DEV_B" no_buffer_errors; }

# pair: runs both() and reports cases. fio has no flow control: the client waits half a second for
# the server to post its receives, and then sends. If a message arrives before its receive is
# posted, the connection ends with that error, and we try again.
pair() {
	local name="$1, blocks of $2, depth $3 to $4" before errors again rc
	for again in 1 2 3; do
		before=$(received "$1") errors=$(no_receives)
		rc=0
		both "$@" || rc=$?
		[ "$(no_receives)" -ne "$errors" ] || break
		[ "$again" -lt 3 ] || break
		echo "# retry: fio, $name: no receives after half a second"
	done
	report $rc "$name: client" "$WORK/out"
	ok "$name: server" finish fio
	cp "$WORK/fio.log" "$WORK/out"
	wrong_data "$WORK/out"
	is "$name: no error" "$(grep -aiE 'error|verify|fail' "$WORK/out")" ''
	[ "$1" != send ] || is "$name: the server has all" \
		"$(awk -F';' 'NF > 50 { print $6 }' "$WORK/out")" $((SIZE / 1024))
	is "$name: all data went over RDMA" $(($(received "$1") - before < SIZE)) 0
}

CLIENT=
SIZE=$((16 << 20))
for verb in write read; do
	pair $verb 4k 1 1
	pair $verb 64k 16 16
	pair $verb 1m 4 4
done
CLIENT=--verify=crc32c
for block in 512 4096 65536; do
	SIZE=$((512 * block))
	pair send $block 16 512 --verify=crc32c
done
# The server must detect wrong data: here the client makes no checksums.
CLIENT=
LIMIT=10 both send 4096 16 512 --verify=crc32c
fails 'send: wrong blocks are noticed' finish fio
cp "$WORK/fio.log" "$WORK/out"
has 'send: error of the server' '^verify: bad (magic )?header'
done_testing
