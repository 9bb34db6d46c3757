#!/bin/bash
# demo-guest.sh: the part of the demo that runs in the VM. Joins two network namespaces by a veth
# pair, adds an RDMA device on each end, runs rping and perftest between them and prints a table;
# for kwarp a second one, over SCTP.
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
	grep -q 'rdma-ping-49' "$WORK/server.log" ||
		give_up 'rping: data of the 50th round did not arrive'
	row rping - '50 rounds, data verified' 'both sides ok'
}

# siw does not support this.
without_cm() {
	run rendezvous on || give_up 'policy rendezvous_port'
	PORT=18515 server server on_b ibv_rc_pingpong -d "$DEV_B" -g 0 ||
		give_up 'ibv_rc_pingpong server'
	LIMIT=30 run on_a ibv_rc_pingpong -d "$DEV_A" -g 0 $IP_B || give_up 'ibv_rc_pingpong client'
	finish server 10 || give_up 'ibv_rc_pingpong server'
	row ibv_rc_pingpong 4096 'no rdma_cm, 1000 rounds' 'both sides ok'
}

# perftest PROGRAM SIZE OPTION...: runs it and stores the line of results in $figures.
perftest() {
	local program=$1 size=$2
	shift 2
	LIMIT=45 perftest_pair on_b on_a "$IP_B" "$program" -s "$size" "$@" ||
		give_up "$program client"
	finish perftest 15 || give_up "$program server"
	figures=$(grep -E "^ *$size +[0-9]" "$WORK/out" | tail -n 1)
	[ -n "$figures" ] || give_up "$program printed no figures"
}

bandwidth() {
	perftest "$1" "$2" -D "$EACH"
	row "$1" "$2" 'bandwidth, average' "$(echo "$figures" | awk '{ printf "%8.1f MiB/s", $4 }')"
}

# Both sides poll without sleeping: each gets its own CPU.
latency() {
	PIN=1 perftest "$1" "$2" -n 1000
	row "$1" "$2" 'latency: typical / 99%' \
		"$(echo "$figures" | awk '{ printf "%8.1f / %.1f us", $5, $8 }')"
}

measure() {
	bandwidth ib_write_bw 65536
	bandwidth ib_read_bw 65536
	bandwidth ib_send_bw 65536
	latency ib_write_lat 64
	latency ib_send_lat 64
	latency ib_read_lat 64
}

# over_sctp: all of it with policy llp sctp, in a table of its own
over_sctp() {
	LLP=sctp
	say 'kwarpctl policy set DEV llp sctp on both ends; the same over SCTP'
	for dev in "$DEV_A" "$DEV_B"; do
		run kwarpctl policy set "$dev" llp sctp || give_up 'policy llp sctp'
	done
	if ! patient hostA vA 18515 || ! patient hostB vB 18515; then
		give_up 'tc filters'
	fi
	table=$WORK/table.sctp
	tables+=("$table")
	row test bytes what figure
	ping_pong
	measure
}

# over TABLE: what its data went over, if it was not TCP
over() {
	[ "$1" = "$WORK/table" ] || echo ', over SCTP'
}

machine() {
	grep -q 'User Mode Linux' /proc/cpuinfo && echo 'user-mode Linux' || echo QEMU
}

say "modprobe $DRIVER, rdma link add on both ends"
hosts_up
run rdma link show || give_up 'rdma link show'
sed 's/^/         /' "$WORK/out"
say 'rping, perftest, ibv_rc_pingpong'
row test bytes what figure
ping_pong
[ "$DRIVER" != kwarp ] || without_cm
measure
tables=("$table")
[ "$DRIVER" != kwarp ] || over_sctp

say 'rdma link delete, rmmod'
hosts_down
run rmmod "$DRIVER" || give_up "rmmod $DRIVER"
for table in "${tables[@]}"; do
	echo
	echo "$DRIVER between two namespaces, $(uname -r), $(nproc) CPUs," \
		"$(machine)$(over "$table")"
	sed -n '1{p;s/./-/g;p;d};p' "$table"
done
cat "${tables[@]}" >/results/table
