#!/bin/bash
# ooo: early placement (policy ooo): tests/peer/ooo, which makes single TCP segments on a tun device
# (not with LLP=sctp; vm-sctp-session has these cases), and traffic of every kind over a network
# that loses and reorders packets.
. "$(dirname "$0")/lib.sh"

build=$(realpath "$(dirname "$0")/../../build")

# segments [FILTER]: runs tests/peer/ooo with its output in $WORK/log
segments() {
	nsenter --net=/run/netns/hostA env DEVICE="$DEV_A" VICTIM_ADDR=10.9.0.1 \
		PEER_ADDR=10.9.0.2 VICTIM_ADDR6=fd09::1 PEER_ADDR6=fd09::2 \
		timeout -k 5 "$(patience 1100)" "$build/peer/ooo" --gtest_brief=1 "$@" \
		>"$WORK/log" 2>&1
}

# nothing_left: true if no object of the program is left; the last objects disappear when the
# process ends
nothing_left() {
	rdma resource show | grep -q " $DEV_A: pd 0 cq 0 qp 0 cm_id 0 mr 0 ctx 0"
}

# by_hand [FILTER]: cases with TCP segments whose contents and order the test determines
by_hand() {
	[ -c /dev/net/tun ] || must modprobe tun
	must ip netns add hostA
	must ip -n hostA link set lo up
	must ip -n hostA tuntap add mode tun name tunA
	must ip netns exec hostA sysctl -qw net.ipv6.conf.tunA.accept_dad=0
	must ip -n hostA link set tunA up
	must ip -n hostA addr add 10.9.0.1/24 dev tunA
	must ip -n hostA addr add fd09::1/64 dev tunA nodad
	must ip -n hostA route replace 10.9.0.0/24 dev tunA src 10.9.0.1 quickack 1
	must ip -n hostA route replace fd09::/64 dev tunA quickack 1
	must rdma_link hostA "$DEV_A" "$DRIVER_A" tunA
	must modprobe kwarp_ktest serve=1 server_ip=10.9.0.1

	local rc=0
	segments --gtest_filter=-Backlog.* "$@" || rc=$?
	cat "$WORK/log"
	grep -aq '^\[==========\].* ran' "$WORK/log" ||
		report 1 "the program runs to its end (status $rc)"
	report $((rc != 0)) 'hand-made segments'
	must rmmod kwarp_ktest

	# with a thread that keeps the lock of its socket
	local backlog='a whole window arrives for a locked socket'
	if has_kprobes register_kprobe "$backlog"; then
		must modprobe kwarp_ktest hold=1
		rc=0
		segments --gtest_filter=Backlog.* || rc=$?
		report $rc "$backlog" "$WORK/log"
		must rmmod kwarp_ktest
	fi
	ok 'no object is left' wait_for nothing_left
}

drivers_load
[ "${LLP:-tcp}" = sctp ] || by_hand "$@"
[ $# -eq 0 ] || done_testing

# ---- traffic ----

hosts_down
modprobe -q sch_netem || [ -d /sys/module/sch_netem ] || bail 'no netem'
hosts_up
on_a ping -qc 1 $IP_B >"$WORK/ping"
on_a ping -qc 1 $IP6_B >"$WORK/ping"
loss=$build/verbs/loss
filter='*/ooo'
if [ "${LLP:-tcp}" = sctp ]; then
	filter+='-*.tcp__*:*.buffers__small/*'
	# SCTP retransmits a lost chunk after a second or more, so the test takes much longer.
	export KWARP_SHORT=1
fi
LIMIT=280 ok 'every operation, over a network that loses and reorders' "$loss" \
	--gtest_filter="$filter" --gtest_brief=1
grep -a '^# ' "$WORK/out"
reordering
LIMIT=180 ok 'the contents of many messages' "$loss" --gtest_filter=soak.every_operation \
	--gtest_brief=1
grep -a '^# ' "$WORK/out"

# ---- removal during placement ----

# placed COUNT: true if each device has placed at least COUNT FPDUs early since it was made
placed() {
	local dev
	for dev in "$DEV_A" "$DEV_B"; do
		[ "$(counter "$dev" ooo_placed_fpdus)" -ge "$1" ] || return 1
	done
}

refused() { ! rmmod kwarp; }

# gone: true if the devices that still exist have no objects
gone() {
	! rdma resource show | grep -E " ($DEV_A|$DEV_B):" |
		grep -qv ': pd 0 cq 0 qp 0 cm_id 0 mr 0 ctx 0'
}

# goes NAME COMMAND...: cases: COMMAND removes a device while both ends place FPDUs early
goes() {
	local name=$1 rc=0
	shift
	hosts_down
	hosts_up
	on_a ping -qc 1 $IP_B >"$WORK/ping"
	reordering
	RDMAV_ALLOW_DISASSOC_DESTROY=1 "$loss" --gtest_filter=soak.until_a_device_goes \
		>"$WORK/soak.log" 2>&1 &
	SERVERS[soak]=$!
	ok "$name: FPDUs are placed early" wait_for placed 100
	ok "$name: the module is in use" refused
	ok "$name is removed" "$@"
	finish soak 120 || rc=$?
	report $rc "$name: the program ends" "$WORK/soak.log"
	ok "$name: nothing is left" wait_for gone
}

goes 'the device' rdma link delete "$DEV_A"
goes 'the netdev' ip -n hostB link delete vB
hosts_down
ok 'the module unloads' wait_for rmmod kwarp
done_testing
