#!/bin/bash
# fio: its engine rdma, all verbs that it has. With "send" the server checks each block's checksum
# and place; "write" and "read" go between buffers of which fio compares nothing.
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
cd "$WORK" || bail 'no folder for what fio leaves'

# job NAME OPTION...: options of both sides
job() {
	echo --name=job --ioengine=rdma --port=7450 --thread --minimal --size="$SIZE" "$@"
}

# pair VERB BLOCK DEPTH SERVER_DEPTH [OPTION...]: the server is on B, and reads; the client writes
pair() {
	local verb=$1 name="$1, blocks of $2, depth $3 to $4" before
	before=$(counter "$DEV_B" rx_octets)
	[ "$verb" != read ] || before=$(counter "$DEV_A" rx_octets)
	# shellcheck disable=SC2046 # options
	PORT=7450 server fio on_b fio $(job) --rw=read --bs="$2" --iodepth="$4" "${@:5}"
	# shellcheck disable=SC2046
	ok "$name: client" on_a fio $(job) --rw=write --verb="$verb" --hostname=$IP_B --bs="$2" \
		--iodepth="$3" "${@:5}"
	ok "$name: server" finish fio
	wrong_data "$WORK/fio.log"
	is "$name: no error" "$(grep -aiE 'error|verify|fail' "$WORK/fio.log" "$WORK/out")" ''
	ok "$name: it went over RDMA" test "$(rx "$verb")" -ge $((before + $(numfmt --from=iec "$SIZE")))
}

rx() {
	if [ "$1" = read ]; then counter "$DEV_A" rx_octets; else counter "$DEV_B" rx_octets; fi
}

SIZE=16M
for verb in write read; do
	pair $verb 4k 1 1
	pair $verb 64k 16 16
	pair $verb 1m 4 4
done
for block in 512 4k 64k; do
	SIZE=4M
	pair send $block 1 64 --verify=crc32c
done
done_testing
