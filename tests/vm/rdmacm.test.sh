#!/bin/bash
# rdmacm: the programs of librdmacm, and sockets over RDMA (rsockets); rping has a suite of its own.
# Both sides check the data and must exit by themselves. mckey, udpong, rdma_xclient -c x and cmtime
# are left out for the reasons in Documentation/consumers.rst.
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
on_a ping -qc 1 $IP6_B >"$WORK/ping"

# pair NAME SERVER_COMMAND CLIENT_COMMAND [CLIENT_HOST SERVER_HOST]: each command is one string; by
# default the server runs on B
pair() {
	local name=$1 server=$2 client=$3
	# shellcheck disable=SC2086 # commands in words
	PORT=${PORT:-7471} server peer "${5:-on_b}" $server
	# shellcheck disable=SC2086
	ok "$name: client" "${4:-on_a}" $client
	cp "$WORK/out" "$WORK/client"
	finish peer "${LIMIT:-60}"
	report $(($? != 0)) "$name: server" "$WORK/peer.log"
	cp "$WORK/client" "$WORK/out"
}

# ---- connections and messages ----

for options in '' '-c 8 -C 40 -S 5000' '-C 3 -S 1000000' '-t 32'; do
	pair "ucmatose $options" "ucmatose $options" "ucmatose $options -s $IP_B"
done
# As many connections as the server's backlog takes. In QEMU, and over SCTP in the debug kernel, the
# last one of them may take more than the default of 10 s.
options='-c 1000'
must policy startup_timeout_ms 120000
export LIMIT=300
pair "ucmatose $options" "ucmatose $options" "ucmatose $options -s $IP_B"
pair "ucmatose $options, to A" "ucmatose $options" "ucmatose $options -s $IP_A" on_b on_a
unset LIMIT
options='-f ipv6 -c 3 -C 20 -S 1429'
pair "ucmatose $options" "ucmatose $options -b $IP6_B" "ucmatose $options -s $IP6_B"
# The id and its queue pair move to another event channel while they are connected.
pair 'ucmatose -m' 'ucmatose -m' "ucmatose -m -s $IP_B"

pair 'rdma_client' 'rdma_server' "rdma_client -s $IP_B"
pair 'rdma_client, IPv6' "rdma_server -s $IP6_B" "rdma_client -s $IP6_B"
pair 'rdma_xclient -c r' 'rdma_xserver -c r' "rdma_xclient -c r -s $IP_B"

# ---- rsockets ----

# With each of these options both sides compare every byte. Not -T a: its client fails if the server
# closes the connection before the client polls for the last message, which has arrived.
for options in '-S 64 -I 20 -C 20' '-S 65536 -I 5 -C 10' '-S 1000000 -I 1 -C 5' \
	'-T b -S 1429 -I 5 -C 10' '-T n -S 1429 -I 5 -C 10' \
	'-T r -S 5000 -I 5 -C 10'; do
	pair "rstream $options" "rstream -T v $options" "rstream -T v $options -s $IP_B"
done
pair 'rstream, IPv6' "rstream -T v -f ipv6 -b $IP6_B -S 5000 -I 5 -C 10" \
	"rstream -T v -f ipv6 -s $IP6_B -S 5000 -I 5 -C 10"
for options in '-S 64 -I 20 -C 20' '-S 65536 -I 5 -C 10'; do
	pair "riostream $options" "riostream -T v $options" "riostream -T v $options -s $IP_B"
done

head -c 3000001 /dev/urandom >"$WORK/file"
PORT=7427 server rcopy on_b rcopy
ok 'rcopy: a file of 3000001 bytes' on_a rcopy "$WORK/file" "$IP_B:$WORK/copy"
ok 'rcopy: the copy is identical' same_data "$WORK/file" "$WORK/copy"
stop rcopy

# A program without RDMA support: rstream with plain sockets, which a preloaded library replaces.
PRELOAD="env LD_PRELOAD=$(echo /usr/lib/*/rsocket/librspreload.so)"
sent() { counter "$DEV_A" tx_octets; }
before=$(sent)
options='-T s -S 65536 -I 5 -C 10'
pair "librspreload: rstream $options" "$PRELOAD rstream -T v $options" \
	"$PRELOAD rstream -T v $options -s $IP_B"
ok 'librspreload: the data went over RDMA' test "$(sent)" -gt $((before + 3000000))

# ---- not supported by iWARP ----

server udaddy on_b udaddy -b $IP_B
run on_a udaddy -s $IP_B
has 'udaddy: datagrams are refused' 'unable to create QP: Operation not supported'
stop udaddy
done_testing
