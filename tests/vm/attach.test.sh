#!/bin/bash
# attach: a program hands a TCP connection that it has made to a QP (kwarpdv.h): the program
# "attach" of tests/verbs, and the example in userspace/examples.
. "$(dirname "$0")/lib.sh"

top=$(dirname "$0")/../..
example=$top/build/examples/kwarp-attach

hosts_up
modprobe -q tls # a kernel without it skips a case
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
on_a ping -qc 1 $IP6_B >"$WORK/ping"

RDMAV_ALLOW_DISASSOC_DESTROY=1 timeout -k 5 "$(patience 1100)" "$top/build/verbs/attach" "$@" ||
	FAILED=$((FAILED + 1))
# Repeat the cases while kwarp_ktest delays the caller, so that the worker that the caller woke runs
# first.
if [ $# -eq 0 ] && has_kprobes register_kretprobe 'AttachEnd with a delayed caller'; then
	modprobe kwarp_ktest hold=1 || bail 'no kwarp_ktest'
	timeout -k 5 "$(patience 1100)" "$top/build/verbs/attach" --gtest_filter='AttachEnd.*' ||
		FAILED=$((FAILED + 1))
	rmmod kwarp_ktest
fi

# no_object: true if no object of the programs is left
no_object() {
	rdma resource show | grep -q " $1: pd 0 cq 0 qp 0 cm_id 0 mr 0 ctx 0"
}

# received NAME WORD: passes if the program has printed that it received WORD
received() {
	local word
	word=$(sed -n 's/^received: //p' "$WORK/out")
	[ -z "$word" ] || [ "$word" = "$2" ] || echo "# wrong data: $word instead of $2"
	has "$1" "^received: $2\$"
}

if [ $# -eq 0 ]; then
	PORT=7471 server serve on_b "$example" "$DEV_B" 7471 sesame
	ok 'example: connects' on_a "$example" "$DEV_A" 7471 sesame $IP_B
	has 'example: private data of the reply' '^private data: welcome$'
	received 'example: RDMA message from the server' goodbye
	ok 'example: the server ends' finish serve
	cp "$WORK/serve.log" "$WORK/out"
	has 'example: private data of the request' '^private data: sesame$'
	received 'example: RDMA message from the client' hello

	PORT=7471 server serve on_b "$example" "$DEV_B" 7471 sesame
	fails 'example: wrong password is rejected' on_a "$example" "$DEV_A" 7471 thyme $IP_B
	has 'example: private data of the rejection' '^private data: wrong word$'
	finish serve

	ok "no object is left on $DEV_A" wait_for no_object "$DEV_A"
	ok "no object is left on $DEV_B" wait_for no_object "$DEV_B"
	# A process left over from the shell would hold the module.
	for dev in "$DEV_A" "$DEV_B"; do
		must rdma link delete "$dev"
	done
	ok 'nothing holds the module' wait_for rmmod kwarp
fi
done_testing
