#!/bin/bash
# demo-guest.sh: the demo's part inside the VM. Two network namespaces joined by a veth pair, an RDMA
# device on each end, rping and perftest between them, one table.
. "$(dirname "$0")/../../tests/vm/lib.sh"

EACH=${SECONDS_EACH:-1}
table=$WORK/table

say() {
	printf '       %s\n' "$*"
}

give_up() {
	say "FAILED: $1"
	sed 's/^/         /' "$WORK/out" | tail -n 25
	say 'the server said:'
	cat "$WORK/server.log" "$WORK/perftest.log" 2>/dev/null | sed 's/^/         /' | tail -n 15
	exit 1
}

# row TEST SIZE WHAT FIGURE
row() {
	printf '%-17s %8s   %-28s %s\n' "$@" | tee -a "$table" | sed 's/^/       /'
}

ping_pong() {
	PORT=7174 server server on_b rping -s -a $IP_B -v -V -C 50 || give_up 'rping server'
	LIMIT=30 run on_a rping -c -a $IP_B -v -V -C 50 || give_up 'rping client'
	finish server 10 || give_up 'rping server'
	grep -q 'rdma-ping-49' "$WORK/server.log" || give_up 'rping: data of the 50th round did not arrive'
	row rping - '50 rounds, data verified' 'both sides ok'
}

# What siw does not have.
without_cm() {
	run rendezvous on || give_up 'policy rendezvous_port'
	PORT=18515 server server on_b ibv_rc_pingpong -d "$DEV_B" -g 0 || give_up 'ibv_rc_pingpong server'
	LIMIT=30 run on_a ibv_rc_pingpong -d "$DEV_A" -g 0 $IP_B || give_up 'ibv_rc_pingpong client'
	finish server 10 || give_up 'ibv_rc_pingpong server'
	row ibv_rc_pingpong 4096 'no rdma_cm, 1000 rounds' 'both sides ok'
}

# perftest PROGRAM SIZE OPTION...: run it, and leave the line of figures in $figures.
perftest() {
	local program=$1 size=$2
	shift 2
	LIMIT=45 perftest_pair on_b on_a "$IP_B" "$program" -s "$size" "$@" || give_up "$program client"
	finish perftest 15 || give_up "$program server"
	figures=$(grep -E "^ *$size +[0-9]" "$WORK/out" | tail -n 1)
	[ -n "$figures" ] || give_up "$program printed no figures"
}

bandwidth() {
	perftest "$1" "$2" -D "$EACH"
	row "$1" "$2" 'bandwidth, average' "$(echo "$figures" | awk '{ printf "%8.1f MiB/s", $4 }')"
}

# both sides spin: each has a CPU to itself
latency() {
	PIN=1 perftest "$1" "$2" -n 1000
	row "$1" "$2" 'latency: typical / 99%' "$(echo "$figures" | awk '{ printf "%8.1f / %.1f us", $5, $8 }')"
}

machine() {
	grep -q 'User Mode Linux' /proc/cpuinfo && echo 'user-mode Linux' || echo QEMU
}

say "modprobe $DRIVER, rdma link add on both ends"
hosts_up
run rdma link show || give_up 'rdma link show'
sed 's/^/         /' "$WORK/out"
say 'rping, perftest, ibv_rc_pingpong'
row test octets what figure
ping_pong
[ "$DRIVER" != kwarp ] || without_cm
bandwidth ib_write_bw 65536
bandwidth ib_read_bw 65536
bandwidth ib_send_bw 65536
latency ib_write_lat 64
latency ib_send_lat 64
latency ib_read_lat 64

say 'rdma link delete, rmmod'
hosts_down
run rmmod "$DRIVER" || give_up "rmmod $DRIVER"
echo
echo "$DRIVER between two namespaces, $(uname -r), $(nproc) CPUs, $(machine)"
sed -n '1{p;s/./-/g;p;d};p' "$table"
cp "$table" /results/table
