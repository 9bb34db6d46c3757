#!/bin/bash
# my-test.sh: the tests of rdma-echo, and two programs of rdma-core, between host 1, where this
# script runs, and host 2; prints TAP. Run by kwarp-vm --hosts 2 --policy rendezvous_port=7600.
n=0 failed=0

# ok NAME COMMAND...: a case that passes if COMMAND does; a failure shows its output
ok() {
	local name=$1 output
	shift
	n=$((n + 1))
	if output=$(timeout 60 "$@" 2>&1); then
		echo "ok $n - $name"
	else
		failed=1
		printf 'not ok %d - %s\n' $n "$name"
		echo "# ${output//$'\n'/$'\n# '}"
	fi
}

# with_server SERVER COMMAND...: runs COMMAND while SERVER, a shell command, runs in host 2; repeats
# COMMAND until the server listens. Both have to succeed.
with_server() {
	local server=$1 tries=0
	shift
	kwarp-on 2 sh -c "exec $server" &
	until "$@"; do
		((++tries < 20)) && kill -0 $! 2>/dev/null || return 1
		sleep 0.5
	done
	wait $!
}

echoes() {
	local text
	text=$(with_server "./rdma-echo $KWARP_ADDR_2" ./rdma-echo "$KWARP_ADDR_2" "$1") || return
	echo "$text"
	[ "$text" = "$1" ]
}

# alone: a client without a server fails
alone() {
	! ./rdma-echo "$KWARP_ADDR_2" hello
}

export -f with_server echoes alone
echo 1..5
ok 'an echo' bash -c 'echoes hello'
ok 'an echo of blanks and quotes' bash -c "echoes 'it is  \"quoted\"'"
ok 'no server' bash -c alone
ok 'ucmatose' bash -c 'with_server "ucmatose -b $KWARP_ADDR_2" ucmatose -s "$KWARP_ADDR_2"'
ok 'ibv_rc_pingpong, without rdma_cm' bash -c 'with_server "ibv_rc_pingpong -d $KWARP_DEV_2 -g 0" \
	ibv_rc_pingpong -d "$KWARP_DEV_1" -g 0 "$KWARP_ADDR_2"'
exit $failed
