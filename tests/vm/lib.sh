# shellcheck shell=bash
# Functions for the suites in tests/vm, which run inside a guest (QEMU or user-mode Linux): TAP
# output, two hosts on one wire, servers. A suite looks like this:
#
#	. "$(dirname "$0")/lib.sh"
#	hosts_up
#	server rping on_b rping -s -a 10.0.0.2
#	ok 'rping: data verified' on_a rping -c -a 10.0.0.2 -C 10 -V
#	done_testing
#
# The hosts are the network namespaces hostA and hostB; vA (10.0.0.1, fd00::1) and vB (10.0.0.2,
# fd00::2) are the ends of a veth pair, with the RDMA devices ${DRIVER}A and ${DRIVER}B on them. In
# the kernel's default (shared) RDMA mode both devices are visible in both namespaces; rdma_cm finds
# the right one by address. DRIVER is kwarp, or siw to run a suite without kwarp; DRIVER_A and
# DRIVER_B mix them.
#
# No case passes or fails by a measured time: suites wait for each event, and time limits only end
# programs that hang. The runner exports KWARP_PATIENCE, the factor in percent (default: 100) by
# which limits grow on this machine. A suite may redefine a function of this file; other functions
# of this file then call the suite's function.

DRIVER=${DRIVER:-kwarp}
DRIVER_A=${DRIVER_A:-$DRIVER}
DRIVER_B=${DRIVER_B:-$DRIVER}
DEV_A=${DRIVER_A}A
DEV_B=${DRIVER_B}B
IP_A=10.0.0.1 IP_B=10.0.0.2
IP6_A=fd00::1 IP6_B=fd00::2
GID_A=0000:0000:0000:0000:0000:ffff:0a00:0001
GID_B=0000:0000:0000:0000:0000:ffff:0a00:0002
WORK=$(mktemp -d)
export DRIVER_A DRIVER_B DEV_A DEV_B IP_A IP_B IP6_A IP6_B WORK
TESTS=0
FAILED=0
declare -A SERVERS

# patience SECONDS: prints that time multiplied by the factor of this machine
patience() {
	echo $((($1 * ${KWARP_PATIENCE:-100} + 99) / 100))
}

# ---- TAP ----

# report STATUS NAME [FILE]: prints one TAP line; a failure is followed by the last lines of FILE
# and of the servers still running, and by the devices' counters
report() {
	local server
	TESTS=$((TESTS + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $TESTS - $2"
	else
		FAILED=$((FAILED + 1))
		echo "not ok $TESTS - $2"
		{
			wrong_data ${3:+"$3"}
			[ -z "${3:-}" ] || tail -n 40 "$3"
			for server in "${!SERVERS[@]}"; do
				echo "server $server:"
				wrong_data "$WORK/$server.log"
				tail -n 10 "$WORK/$server.log"
			done
			counted
		} | tr -cd '[:print:]\n\t' | sed 's/^/#   /'
	fi
	return "$1"
}

# A regular expression for messages about received bytes that differ from those sent: of rping,
# rstream and riostream, ibv_*_pingpong, qperf, fi_pingpong, fio, rdma-core's Python suite, and our
# own programs.
WRONG_DATA='wrong data: |data mismatch!|data verification failed byte|invalid data in page'
WRONG_DATA+='|mismatch, sequence [0-9]+, expected|Error at iteration=[0-9]+ size=[0-9]+ byte='
WRONG_DATA+='|verify failed at file|verify: bad (magic )?header|[Dd]ata validation fail'

# wrong_data [FILE...]: prints such lines of the files after "# wrong data: ". The runner does not
# repeat a suite that prints this text, because wrong bytes are never due to chance. Missing data
# are not marked.
wrong_data() {
	[ $# -eq 0 ] || grep -ahE -m 5 "$WRONG_DATA" "$@" 2>/dev/null | cut -c 1-200 |
		sed -E 's/^(# wrong data: )?/# wrong data: /'
}

# same_data SENT RECEIVED: true if the files are identical. cmp reports bytes that differ on its
# standard output; a file that is too short or cannot be read, on standard error.
same_data() {
	local differ
	differ=$(cmp "$1" "$2") && return
	[ -z "$differ" ] || echo "# wrong data: $differ"
	return 1
}

# counted: prints the counters of each device that are not 0, one line per device
counted() {
	local device
	for device in "$DEV_A" "$DEV_B"; do
		[ ! -d "/sys/class/infiniband/$device" ] || {
			echo -n "$device: "
			rdma statistic show link "$device/1" |
				grep -oE '[a-z][a-z0-9_]+ [1-9][0-9]*' | paste -sd' '
		}
	done
}

# ok NAME COMMAND...: passes if COMMAND succeeds. A program has a time limit of 60 seconds, or of
# LIMIT seconds, multiplied as in patience(). The output is in $WORK/out.
ok() {
	local name=$1 rc=0
	shift
	run "$@" || rc=$?
	[ $rc -ne 124 ] || echo "time limit of $(patience "${LIMIT:-60}") s reached" >>"$WORK/out"
	[ $rc -eq 0 ] || echo "exit status $rc: $*" >>"$WORK/out"
	report $((rc != 0)) "$name" "$WORK/out"
}

# fails NAME COMMAND...: passes if COMMAND exits with an error within the time limit; a death by a
# signal is a failed case
fails() {
	local name=$1 rc=0
	shift
	run "$@" || rc=$?
	echo "exit status $rc: $*" >>"$WORK/out"
	report $((rc == 0 || rc == 124 || rc >= 128)) "$name" "$WORK/out"
}

# ends_in_error HOST COMMAND...: true if COMMAND ends by itself there, with any status but 0
ends_in_error() {
	local rc=0
	"$1" timeout "$(patience 20)" "${@:2}" || rc=$?
	[ $rc -ne 0 ] && [ $rc -ne 124 ]
}

# is NAME GOT WANTED: passes if the two strings are equal
is() {
	local rc=0
	[ "$2" = "$3" ] || { rc=1; printf 'got:    %s\nwanted: %s\n' "$2" "$3" >"$WORK/out"; }
	report $rc "$1" "$WORK/out"
}

# has NAME REGEX: passes if the output of the last command has a line that matches
has() {
	local rc=0
	grep -aEq -- "$2" "$WORK/out" || rc=1
	report $rc "$1" "$WORK/out"
}

skip() {
	TESTS=$((TESTS + 1))
	echo "ok $TESTS - $1 # SKIP ${2:-}"
}

# bail TEXT: ends the suite, for errors after which no further case could pass
bail() {
	echo "Bail out! $*"
	exit 1
}

# in_uml: true in user-mode Linux, whose kernel is built with all that a suite may need
in_uml() {
	grep -q '^vendor_id.*User Mode Linux' /proc/cpuinfo
}

# has_kprobes FUNCTION CASES: true if the kernel has this function of kprobes. Otherwise CASES are
# skipped in user-mode Linux, which has no kprobes, and have failed in any other kernel.
has_kprobes() {
	grep -qw "$1" /proc/kallsyms && return
	if in_uml; then
		skip "$2" 'user-mode Linux has no kprobes'
	else
		report 1 "$2: the kernel has no $1"
	fi
	return 1
}

# must COMMAND...: runs a command of the set-up; ends the suite if the command fails
must() {
	"$@" >"$WORK/must" 2>&1 || { sed 's/^/# /' "$WORK/must"; bail "failed: $*"; }
}

# done_testing: prints the TAP plan and exits with the status of the suite
done_testing() {
	echo "1..$TESTS"
	exit $((FAILED > 0 || TESTS == 0))
}

# ---- running things ----

# run COMMAND...: runs COMMAND with its output in $WORK/out. Programs get a time limit; functions of
# the suite do not.
run() {
	local limit rc=0
	limit=$(patience "${LIMIT:-60}")
	case $1 in
	on_a) shift; set -- ip netns exec hostA timeout -k 5 "$limit" "$@" ;;
	on_b) shift; set -- ip netns exec hostB timeout -k 5 "$limit" "$@" ;;
	*) [ "$(type -t "$1")" = function ] || set -- timeout -k 5 "$limit" "$@" ;;
	esac
	# COMMAND may be a function that calls run() itself: append, to keep the output of both.
	: >"$WORK/out"
	"$@" >>"$WORK/out" 2>&1 </dev/null || rc=$?
	[ $rc -ne 255 ] || ! only_rping_ended "$WORK/out" || rc=0
	return $rc
}

# only_rping_ended FILE: FILE is the output of a program that exited with 255. True if rping did all
# its work before: at its end, rping closes its event channel, and if the thread that waits for
# events wakes up then, that thread exits with 255. After a failure the output has other lines. The
# message about the channel may be printed within another line.
only_rping_ended() {
	local ended='rdma_get_cm_event: Bad file descriptor'
	grep -aqF "$ended" "$1" &&
		! perl -0pe "s/\Q$ended\E\n//" "$1" | grep -avxE "(server )?ping data: .*|\
(client|server) DISCONNECT EVENT\.\.\.|wait for RDMA_READ_ADV state 10|" | grep -q .
}

on_a() { ip netns exec hostA "$@"; }
on_b() { ip netns exec hostB "$@"; }

# wait_for COMMAND...: repeats COMMAND until it succeeds, for at most a minute, or PATIENCE seconds.
# Only seconds in which COMMAND was tried count: while this process gets no processor, the awaited
# process may get none either. If all attempts fail, prints the output of the last one.
wait_for() {
	local left now=$SECONDS
	left=$(patience "${PATIENCE:-60}")
	until "$@" >"$WORK/attempt" 2>&1; do
		[ "$left" -gt 0 ] || { cat "$WORK/attempt"; return 1; }
		sleep 0.1
		[ $SECONDS -eq "$now" ] || { now=$SECONDS; left=$((left - 1)); }
	done
}

# counter DEVICE NAME: prints a counter of the device. We read counters by netlink, because sysfs
# shows values from a cache of 10 ms, measured in ticks of the kernel, which stop while the
# processor of the guest stands still.
counter() {
	rdma statistic show link "$1/1" | tr ' ' '\n' | grep -xA1 "$2" | grep -xE '[0-9]+'
}

# value KEY: $WORK/json is output of "rdma -j". Prints the attribute KEY, or the driver's attribute
# drv_KEY, of the last object that has one.
value() {
	python3 -c '
import json, sys
found = ""
for entry in json.load(open(sys.argv[1])):
    for key in (sys.argv[2], "drv_" + sys.argv[2]):
        if key in entry:
            found = entry[key]
print(found)' "$WORK/json" "$1"
}

# listening HOST PORT: true if a program listens on the port. With iWARP over TCP a listener of
# rdma_cm is also a TCP listener; with RoCE it is not, so we ask the RDMA core.
listening() {
	if [ "${LLP:-tcp}" = sctp ] &&
		ip netns exec "$1" awk -v port="$2" '$6 == port { found = 1 } END { exit !found }' \
			/proc/net/sctp/eps; then
		return
	fi
	case $DEV_B in
	rxe*) rdma resource show cm_id | grep -qE " state LISTEN .*:$2( |$)" ;;
	*) ip netns exec "$1" ss -Htln "sport = :$2" | grep -q . ;;
	esac
}

# server NAME on_a|on_b COMMAND...: starts COMMAND in the background with its output in
# $WORK/NAME.log. With PORT=N, returns when COMMAND listens on port N.
server() {
	local name=$1 host=hostA
	[ "$2" = on_a ] || host=hostB
	shift 2
	# A server left over from a failed case would answer instead of the new one.
	stop "$name"
	# Truncate the log here, not in the child: no reader may find output of the last server.
	: >"$WORK/$name.log"
	ip netns exec $host "$@" >"$WORK/$name.log" 2>&1 </dev/null &
	SERVERS[$name]=$!
	[ -z "${PORT:-}" ] || wait_for listening $host "$PORT" || {
		sed 's/^/#   /' "$WORK/$name.log"
		echo "# server $name does not listen on port $PORT"
		return 1
	}
}

# perftest_pair SERVER_HOST CLIENT_HOST ADDRESS PROGRAM [OPTION...]: starts the server and runs the
# client. Between the two connections of a run the server briefly has no listener: see patient().
# PIN=1 gives each side its own CPU.
perftest_pair() {
	local server=$1 client=$2 address=$3
	shift 3
	PORT=18515 server perftest "$server" ${PIN:+taskset -c 1} "$@" -R -F || return 1
	run "$client" ${PIN:+taskset -c 0} "$@" -R -F "$address"
}

# finish NAME [SECONDS]: waits until the server exits; returns its exit status, or 124 if the server
# did not exit and was stopped. If it failed, the end of its output goes to standard error.
finish() {
	local pid=${SERVERS[$1]} rc=0
	if PATIENCE=${2:-60} wait_for exited "$pid"; then
		wait "$pid" || rc=$?
		[ $rc -ne 255 ] || ! only_rping_ended "$WORK/$1.log" || rc=0
		unset "SERVERS[$1]"
	else
		stop "$1"
		rc=124
	fi
	[ $rc -eq 0 ] || tail -n 10 "$WORK/$1.log" | sed 's/^[^#]/# &/' >&2
	return $rc
}

# rejected NAME CLIENT ADDRESS: passes if rping's connection request is rejected, and rping exits
rejected() {
	local rc=0
	run "$2" timeout "$(patience 20)" rping -c -a "$3" -C 1 || rc=$?
	grep -q 'RDMA_CM_EVENT_REJECTED, error -111' "$WORK/out" || rc=0
	report $((rc == 0 || rc == 124)) "$1" "$WORK/out"
}

# stop NAME: ends the server by SIGTERM, or by SIGKILL if SIGTERM does not suffice
stop() {
	local pid=${SERVERS[$1]:-}
	[ -n "$pid" ] || return 0
	kill "$pid" 2>/dev/null
	PATIENCE=10 wait_for exited "$pid" || kill -9 "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	unset "SERVERS[$1]"
}

# exited PID: true if that process has ended
exited() {
	! kill -0 "$1" 2>/dev/null
}

# ---- hosts ----

# llp_default: makes LLP the module's default of policy llp. This must happen before the module is
# loaded, by us or automatically.
llp_default() {
	[ "${LLP:-tcp}" = tcp ] || echo "options kwarp llp=$LLP" >/etc/modprobe.d/kwarp-llp.conf
}

# drivers_load: loads the modules that are not built in
drivers_load() {
	local module
	llp_default
	for module in ib_uverbs rdma_ucm iw_cm crc32c_intel "$DRIVER_A" "$DRIVER_B"; do
		[ -d "/sys/module/$module" ] || modprobe -q "$module"
	done
	for module in "$DRIVER_A" "$DRIVER_B"; do
		[ -d "/sys/module/$module" ] || bail "cannot load module $module"
	done
}

# wire_up [MTU]: makes two namespaces and the wire between them
wire_up() {
	must ip netns add hostA
	must ip netns add hostB
	# Different interface numbers, because siw binds by number without regard to the namespace.
	must ip link add vA index 101 netns hostA type veth peer name vB index 102 netns hostB
	must end_up hostA vA $IP_A $IP6_A "${1:-1500}"
	must end_up hostB vB $IP_B $IP6_B "${1:-1500}"
}

# wire_up_here [MTU]: puts both ends into the initial namespace, for kernel consumers that work in
# no other namespace. hostA and hostB are then two names of this namespace. Both addresses are
# local, but packets between them leave through one end and arrive at the other, as between two
# hosts. IPv4 only.
wire_up_here() {
	local end
	must ip netns attach hostA $$
	must ip netns attach hostB $$
	must ip link add vA index 101 type veth peer name vB index 102
	for end in vA vB; do
		must sysctl -qw net.ipv4.conf.$end.accept_local=1 net.ipv4.conf.$end.rp_filter=0 \
			net.ipv4.conf.$end.arp_ignore=1
	done
	must sysctl -qw net.ipv4.conf.all.rp_filter=0
	must end_up hostA vA $IP_A $IP6_A "${1:-1500}"
	must end_up hostB vB $IP_B $IP6_B "${1:-1500}"
	# "iif lo" matches packets that this host sends, so received packets are still looked up in
	# table local.
	must ip rule add pref 10 iif lo to $IP_B lookup 101
	must ip rule add pref 10 iif lo to $IP_A lookup 102
	must ip rule add pref 20 lookup local
	must ip rule del pref 0
	must here_routes
}

# here_routes: sets the routes of wire_up_here; also called when an end comes up again, because its
# route disappears when it goes down
here_routes() {
	ip route replace $IP_B dev vA src $IP_A table 101 &&
		ip route replace $IP_A dev vB src $IP_B table 102
}

# here_down: undoes wire_up_here
here_down() {
	ip rule add pref 0 lookup local
	ip rule del pref 20
	ip rule del pref 10
	ip rule del pref 10
	ip link del vA
}

# wire_down: removes the wire of wire_up or wire_up_here
wire_down() {
	[ -z "$(ip rule list pref 20)" ] || here_down
	ip netns del hostA
	ip netns del hostB
}

# end_up NETNS NETDEV IP IP6 MTU: configures one end of the wire
end_up() {
	ip -n "$1" link set lo up &&
		ip netns exec "$1" sysctl -qw "net.ipv6.conf.$2.accept_dad=0" &&
		ip -n "$1" addr add "$3/24" dev "$2" &&
		ip -n "$1" addr add "$4/64" dev "$2" nodad &&
		ip -n "$1" link set "$2" mtu "$5" up &&
		patient "$1" "$2" 18515
}

# patient NETNS NETDEV [PORT]: makes a SYN to PORT (default: any port) remain unanswered if there is
# no listener, so that TCP sends the SYN again a second later. perftest's server closes one listener
# and opens another between its two connections, and with any driver a client that connects at that
# moment would be refused. The filter drops the answer to such a SYN: RST and ACK with sequence
# number 0.
patient() {
	local port=${3:-0} mask=0xffff
	[ "$port" -ne 0 ] || mask=0
	tc -n "$1" qdisc replace dev "$2" clsact &&
		tc -n "$1" filter add dev "$2" egress protocol ip \
			u32 match ip protocol 6 0xff match u16 "$port" $mask at 20 \
			match u32 0 0xffffffff at 24 match u8 0x14 0xff at 33 action drop &&
		tc -n "$1" filter add dev "$2" egress protocol ipv6 \
			u32 match u8 6 0xff at 6 match u16 "$port" $mask at 40 \
			match u32 0 0xffffffff at 44 match u8 0x14 0xff at 53 action drop ||
		return 1
	[ "${LLP:-tcp}" = sctp ] || return 0
	# Over SCTP the answer is an ABORT; SCTP sends INIT again after a second.
	tc -n "$1" filter add dev "$2" egress protocol ip \
		u32 match ip protocol 132 0xff match u16 "$port" $mask at 20 \
		match u8 6 0xff at 32 action drop &&
		tc -n "$1" filter add dev "$2" egress protocol ipv6 \
			u32 match u8 132 0xff at 6 match u16 "$port" $mask at 40 \
			match u8 6 0xff at 52 action drop
}

# hosts_up [MTU]: sets up everything that two programs need to communicate by RDMA
hosts_up() {
	drivers_load
	wire_up "${1:-1500}"
	must rdma_link hostA "$DEV_A" "$DRIVER_A" vA
	must rdma_link hostB "$DEV_B" "$DRIVER_B" vB
}

# hosts_here [MTU]: as hosts_up, with both hosts in the initial namespace
hosts_here() {
	drivers_load
	wire_up_here "${1:-1500}"
	must rdma_link hostA "$DEV_A" "$DRIVER_A" vA
	must rdma_link hostB "$DEV_B" "$DRIVER_B" vB
}

# rendezvous on|off: sets whether queue pairs of both devices can connect by modify_qp alone,
# without rdma_cm. "on" waits until the RDMA core has the GIDs.
rendezvous() {
	local dev port=0
	[ "$1" = off ] || port=7600
	for dev in "$DEV_A" "$DEV_B"; do
		echo $port >"/sys/class/infiniband/$dev/kwarp/rendezvous_port" || return 1
	done
	[ "$1" = off ] || {
		wait_for has_gid "$DEV_A" "$GID_A" && wait_for has_gid "$DEV_B" "$GID_B"
	}
}

# has_gid DEVICE GID: true if the device has the GID; GID is in the form that sysfs shows
has_gid() {
	grep -qx "$2" "/sys/class/infiniband/$1/ports/1/gids/"*
}

# gid_index DEVICE GID: prints the index of the GID. Waits for it, because the table follows policy
# rendezvous_port and the addresses after a moment.
gid_index() {
	wait_for has_gid "$1" "$2" &&
		basename "$(grep -lx "$2" "/sys/class/infiniband/$1/ports/1/gids/"* | head -n 1)"
}

# rdma_link NETNS NAME TYPE NETDEV: adds a device and waits for its device file
rdma_link() {
	ip netns exec "$1" rdma link add "$2" type "$3" netdev "$4" &&
		wait_for uverbs_node "$2" && uses_llp "$2"
}

# uses_llp DEVICE: true if connections of the device use SCTP where the suite is to run over SCTP,
# so that no suite runs over TCP instead unnoticed
uses_llp() {
	local policy file=/sys/class/infiniband/$1/kwarp/llp
	[ "${LLP:-tcp}" = sctp ] && [ -e "$file" ] || return 0
	policy=$(cat "$file")
	[[ $policy == *'[sctp]'* ]] || { echo "policy llp of $1 is $policy"; return 1; }
}

# uverbs_node NAME: true if the device file exists. devtmpfs makes the file; guests have no udev.
uverbs_node() {
	local node
	node=$(grep -lx "$1" /sys/class/infiniband_verbs/uverbs*/ibdev 2>/dev/null |
		head -n 1 | cut -d/ -f5)
	[ -n "$node" ] && [ -c "/dev/infiniband/$node" ]
}

# policy KEY VALUE: sets a policy attribute on both devices
policy() {
	local device
	for device in "$DEV_A" "$DEV_B"; do
		echo "$2" >"/sys/class/infiniband/$device/kwarp/$1" || return 1
	done
}

# reordering: enables early placement on both devices, and makes the network lose and reorder
# packets
reordering() {
	local end
	[ -d /sys/module/sch_netem ] || modprobe -q sch_netem || bail 'no netem'
	must policy ooo 1
	must policy markers 1
	must policy crc 1
	for end in 'hostA vA' 'hostB vB'; do
		# shellcheck disable=SC2086 # two words
		set -- $end
		must ip netns exec "$1" ethtool -K "$2" tso off gso off
		must tc -n "$1" qdisc add dev "$2" root netem limit 10000 delay 2ms loss 1% \
			reorder 25% 50%
	done
}

# hosts_down: stops the servers, then removes the devices and the wire, as an administrator would
hosts_down() {
	local name devices=()
	for name in "${!SERVERS[@]}"; do
		stop "$name"
	done
	for name in "$DEV_A" "$DEV_B"; do
		[ ! -d "/sys/class/infiniband/$name" ] || devices+=("$name")
	done
	[ ${#devices[@]} -eq 0 ] || devices_down "${devices[@]}"
	wire_down >/dev/null 2>&1
}

# devices_down DEVICE...: deletes the devices in the background, because no signal can end a
# deletion that waits in the kernel for the last connection. The file $WORK/deleted appears when all
# are deleted.
devices_down() {
	local name pid
	rm -f "$WORK/deleted"
	{
		for name; do
			rdma link delete "$name"
		done
		: >"$WORK/deleted"
	} &
	pid=$!
	if wait_for test -e "$WORK/deleted"; then
		wait $pid
	else
		what_hangs $pid >"$WORK/hangs" 2>&1
		report 1 "$* can be deleted" "$WORK/hangs"
	fi
}

# what_hangs PID: prints where the process and its children wait, and all tasks in state D
what_hangs() {
	local pid
	for pid in "$1" $(ps -o pid= --ppid "$1"); do
		echo "process $pid: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
		grep -E '^(State|PPid|SigPnd|SigBlk|SigIgn):' "/proc/$pid/status" | paste -sd' '
		echo "wchan: $(cat "/proc/$pid/wchan")"
		head -n 12 "/proc/$pid/stack"
	done
	ps -eo pid,ppid,stat,wchan:32,args | awk 'NR == 1 || $3 ~ /^D/' | head -n 8
}

# suite_end: cleans up at the end of the suite; does nothing in other processes, because a child
# that gets a signal between fork() and exec() still has the traps of its parent
suite_end() {
	[ "$BASHPID" -eq $$ ] || return
	hosts_down 2>/dev/null
	rm -rf "$WORK"
}
trap suite_end EXIT
trap 'exit 143' TERM INT HUP
