#!/bin/bash
# kwarpctl: the tool with the real module: its table of policy keys must be that of the module; up,
# down and configuration files; what the tool shows of a connection; what "doctor" finds.
# Timeout: 300
. "$(dirname "$0")/lib.sh"

hosts_up
on_a ping -qc 1 $IP_B >"$WORK/ping"
CONF=$WORK/conf
mkdir "$CONF"
ctl() { kwarpctl --config-dir "$CONF" "$@"; }
ctl_a() { on_a kwarpctl --config-dir "$CONF" "$@"; }
here() { rdma link show | grep -o '^link [^/]*' | cut -d' ' -f2 | sort | paste -sd' '; }
gone() { [ ! -e "/sys/class/infiniband/$1" ]; }

# refuses NAME STATUS REGEX COMMAND...: passes if COMMAND exits with that status and message
refuses() {
	local name=$1 status=$2 why=$3 rc=0
	shift 3
	run "$@" || rc=$?
	echo "exit status $rc: $*" >>"$WORK/out"
	[ $rc -eq "$status" ] && grep -aEq -- "$why" "$WORK/out"
	report $? "$name" "$WORK/out"
}

# json NAME EXPRESSION WANTED: evaluates a Python expression about d, the parsed last output
json() {
	is "$1" "$(python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$WORK/out" "$2" 2>&1)" "$3"
}

# ---- the table of keys ----

rdma link add kwarpT type kwarp netdev lo
kwarpctl -j policy keys >"$WORK/keys"
# keys EXPRESSION: prints the expression for each key k, one per line
keys() {
	python3 -c 'import json, sys
for k in json.load(open(sys.argv[1])):
    print(eval(sys.argv[2]))' "$WORK/keys" "$1"
}
is 'keys: the keys of the module are those of the table' \
	"$(keys 'k["key"]' | sort | paste -sd' ')" \
	"$(find /sys/class/infiniband/kwarpT/kwarp -type f -printf '%f\n' | sort | paste -sd' ')"
is 'keys: defaults are those of a new device' "$(kwarpctl -o policy show kwarpT)" \
	"kwarpT: $(keys 'k["key"] + " " + k["default"]' | paste -sd' ')"
run kwarpctl status kwarpT
has 'status of a new device: default' 'policy: default'

# accepts KEY VALUE, rejects KEY VALUE: pass if tool and module agree
accepts() {
	ok "$1 $2: accepted" kwarpctl policy set kwarpT "$1" "$2"
}
rejects() {
	refuses "$1 $2: refused, with the range" 2 'expected [^ ]*\.\.' \
		kwarpctl policy set kwarpT "$1" "$2"
}
while read -r key values; do
	case $values in
	*..*)
		accepts "$key" "${values%..*}"
		accepts "$key" "${values#*..}"
		[ "${values%..*}" -eq 0 ] || rejects "$key" $((${values%..*} - 1))
		rejects "$key" $((${values#*..} + 1))
		;;
	'on|off')
		accepts "$key" on
		accepts "$key" off
		refuses "$key maybe: refused" 1 'on\|off' kwarpctl policy set kwarpT "$key" maybe
		;;
	*'any of '*)
		accepts "$key" all
		accepts "$key" off
		accepts "$key" "$(tr '|' ',' <<<"${values##*any of }")"
		refuses "$key maybe: refused" 2 'expected off\|all' \
			kwarpctl policy set kwarpT "$key" maybe
		;;
	*NETDEV*)
		accepts "$key" off
		refuses "$key nosuch: refused" 2 'No such device' \
			kwarpctl policy set kwarpT "$key" nosuch
		;;
	*)
		for value in ${values//|/ }; do
			accepts "$key" "$value"
		done
		refuses "$key maybe: refused" 2 "expected" kwarpctl policy set kwarpT "$key" maybe
		;;
	esac
done < <(keys 'k["key"] + " " + k["values"]')
refuses 'no such key' 1 'there are: llp paths' kwarpctl policy set kwarpT nosuch 1
ok 'down' kwarpctl down kwarpT
ok 'down: the device is gone' gone kwarpT
ok 'down again: no error' kwarpctl down kwarpT
has 'down again: message' "no RDMA device 'kwarpT'"

# ---- up ----

refuses 'up: no file' 2 "there is no $CONF/kwarpT.conf; name its netdev" ctl up kwarpT
refuses 'up: no such netdev' 2 "no netdev 'nosuch'" ctl up kwarpT netdev nosuch
refuses 'up: netdev in use' 2 'vA has a kwarp device already' ctl_a up kwarpT netdev vA
refuses 'up: name in use' 2 "the name '$DEV_A' is taken" ctl up "$DEV_A" netdev lo
refuses 'up: name in use, on another netdev' 2 "$DEV_A is on vA, not on lo" \
	ctl_a up "$DEV_A" netdev lo
refuses 'up: a name that the RDMA core refuses' 1 "'50%' is not a valid device name" \
	ctl up 50% netdev lo
refuses 'up: a name that cannot be in sysfs' 1 "'a/b' is not a valid device name" \
	ctl up a/b netdev lo
must ip link add d23456789012345 type dummy
refuses 'up: a netdev whose name would be cut' 1 "not a valid netdev name: 1 to 15" \
	ctl up kwarpT netdev d234567890123456
must ip link del d23456789012345
refuses 'up: a setting that is refused' 2 'expected 0\.\.128' ctl up kwarpT netdev lo ird 1000
ok 'up: and no device is left' gone kwarpT
ok 'up' ctl up kwarpT netdev lo ird 7 crc required
is 'up: policy' "$(cat /sys/class/infiniband/kwarpT/kwarp/ird)" 7
ok 'up again: no error' ctl up kwarpT netdev lo ird 8
is 'up again: policy' "$(cat /sys/class/infiniband/kwarpT/kwarp/ird)" 8
must ip link property add dev lo altname loop
ok 'up again, by an alternative name of the netdev' ctl up kwarpT netdev loop ird 8
must ctl down kwarpT
printf 'netdev = loop\n' >"$CONF/kwarpT.conf"
refuses 'up by a file with an alternative name' 2 "'loop' is an alternative name of lo" \
	ctl up kwarpT
rm "$CONF/kwarpT.conf"
must ctl up kwarpT netdev lo ird 8 crc required
must ip link property del dev lo altname loop
refuses 'up: a setting that is refused, of an existing device' 2 'expected' \
	ctl up kwarpT netdev lo ird 1000
is 'up: the device still exists' "$(cat /sys/class/infiniband/kwarpT/kwarp/ird)" 8

# ---- files ----

ok 'save' ctl policy save kwarpT
is 'save: netdev, and settings that are not default' "$(cat "$CONF/kwarpT.conf")" \
	$'netdev = lo\ncrc = required\nird = 8'
is 'save: no message' "$(ctl policy save kwarpT 2>&1)" ''
run ctl_a policy save "$DEV_A"
has 'save: a warning in another network namespace' \
	"a service would use $CONF/$DEV_A.conf in the network namespace of process 1"
ok 'check' ctl policy check kwarpT
must ctl policy set kwarpT ird 9 ord 9 markers on
ok 'apply' ctl policy apply kwarpT
run kwarpctl status kwarpT
has 'apply: settings of the file, and defaults' 'policy: crc required, ird 8$'
must ctl down kwarpT
ok 'up by the file' ctl up kwarpT
run kwarpctl status kwarpT
has 'up by the file: policy' 'policy: crc required, ird 8$'
# wrong LINE WHY: passes if a file with that line is refused as a whole
wrong() {
	printf 'netdev = lo # comment\n\nord = 5\n%s\n' "$1" >"$CONF/kwarpT.conf"
	refuses "apply: $1" 2 "$CONF/kwarpT.conf:4: $2" ctl policy apply kwarpT
	refuses "check: $1" 2 "$CONF/kwarpT.conf:4: $2" ctl policy check kwarpT
	is "$1: nothing was set" "$(cat /sys/class/infiniband/kwarpT/kwarp/ord)" 32
}
wrong 'ird = many' 'ird is 0\.\.128'
wrong 'nosuch = 1' "there is no policy 'nosuch'"
wrong 'ird' "expected 'key = value'"
wrong 'ord = 6' 'ord is set twice'
wrong 'netdev = vA' 'netdev is set twice'
wrong 'paths = nosuch' "there is no netdev 'nosuch'"
# has a device itself: only the kernel knows
printf 'netdev = lo\nord = 5\npaths = lo\n' >"$CONF/kwarpT.conf"
refuses 'apply: a value that the kernel refuses' 2 "$CONF/kwarpT.conf:3: .*paths to 'lo'" \
	ctl policy apply kwarpT
is 'a value that the kernel refuses: nothing is set' \
	"$(cat /sys/class/infiniband/kwarpT/kwarp/ord)" 32
python3 -c "import socket, time
s = socket.create_server(('', 7650))
print('listening', flush=True)
time.sleep(60)" >"$WORK/taken" &
taken=$!
must wait_for grep -q listening "$WORK/taken"
must ip link add dumP type dummy
must ctl policy set kwarpT crc required paths dumP
must ip link del dumP
must ip link add dumQ type dummy
printf 'netdev = lo\npaths = dumQ\ncrc = off\nrendezvous_port = 7650\n' >"$CONF/kwarpT.conf"
refuses 'apply: a port in use, and the old paths are gone' 2 'rendezvous_port.*; then .*paths' \
	ctl policy apply kwarpT
is 'a port in use: crc as before' \
	"$(kwarpctl -j policy show kwarpT | grep -o '"crc":"[a-z]*"')" '"crc":"required"'
kill $taken
must ctl policy set kwarpT paths off crc preferred
must ip link del dumQ
printf 'netdev = lo\nrendezvous_port = 07600\n' >"$CONF/kwarpT.conf"
ok 'apply: a number with a leading zero' ctl policy apply kwarpT
is 'a number with a leading zero: decimal' \
	"$(cat /sys/class/infiniband/kwarpT/kwarp/rendezvous_port)" 7600
printf 'ord = 5\n' >"$CONF/kwarpT.conf"
refuses 'no netdev in the file' 2 "there is no line 'netdev" ctl policy apply kwarpT
printf 'netdev = nosuch\n' >"$CONF/kwarpT.conf"
refuses 'check: no such netdev' 2 "no netdev 'nosuch'" ctl policy check kwarpT
must ctl down kwarpT
printf 'netdev = lo\nnosuch = 1\n' >"$CONF/kwarpT.conf"
refuses 'up: a wrong key in the file' 2 "$CONF/kwarpT.conf:2: 'kwarpT' has no policy 'nosuch'" \
	ctl up kwarpT
ok 'up: a wrong key in the file: no device' gone kwarpT
must ip link add 'dum#0' type dummy
must ctl up kwarpT netdev 'dum#0'
refuses 'save: a netdev that the file cannot hold' 2 "cannot hold netdev 'dum#0'" \
	ctl policy save kwarpT
must ctl down kwarpT
must ip link del 'dum#0'

# ---- privileges ----

nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
refuses 'nobody: up' 2 'run it as root' nobody kwarpctl up kwarpT netdev lo
refuses 'nobody: policy set' 2 'run it as root' nobody kwarpctl policy set "$DEV_A" ird 1
refuses 'nobody: down' 2 'cannot remove' nobody kwarpctl down "$DEV_A"
ok 'nobody: status' nobody kwarpctl status "$DEV_A"
is 'all devices exist' "$(here)" "$DEV_A $DEV_B"

# ---- status, stats, monitor ----

PORT=7174 server rping on_b rping -s -a $IP_B -P
server client on_a rping -c -a $IP_B
connected() { ctl_a status "$DEV_A" | grep -q 'connections: 1'; }
ok 'status: a connection' wait_for connected
run on_a kwarpctl status "$DEV_A"
has 'status: netdev' "^$DEV_A: on vA, active"
has 'status: addresses and lower layer' "$IP_A:[0-9]+ -> $IP_B:7174 +tcp"
run on_a kwarpctl -j status "$DEV_A"
json 'status: JSON' '[(c["remote"], c["llp"], c["role"]) for c in d[0]["connections"]]' \
	"[('$IP_B:7174', 'tcp', 'initiator')]"
# status measures rates over a quarter of a second, in which rping may get no processor: repeat.
sends() { on_a kwarpctl -j status "$DEV_A" | grep -qE '"tx_bytes_per_s":[1-9]'; }
ok 'status: JSON, rates' wait_for sends
run on_a kwarpctl -p status "$DEV_A"
json 'status: JSON with line breaks' 'd[0]["netdev"]' vA
has 'status: line breaks' '^    '
ok 'monitor: ends after two lines' kwarpctl monitor "$DEV_A" -c 2 -i 0.2
is 'monitor: two lines' "$(grep -cE "^[0-9:]+ $DEV_A: rx .*/s \(.*\), tx .*/s" "$WORK/out")" 2
run kwarpctl -j monitor "$DEV_A" -c 1 -i 0.2
json 'monitor: JSON lines' 'sorted(d)[:3]' "['failures', 'ifname', 'rx_bytes_per_s']"
run kwarpctl -j stats "$DEV_A"
json 'stats: JSON' 'd[0]["tx_fpdus"] > 0' True
stop client
stop rping
must ctl up kwarpT netdev lo
kwarpctl monitor -i 0.2 >"$WORK/monitor.log" 2>&1 </dev/null &
SERVERS[monitor]=$!
lines() { grep -c " $1: rx " "$WORK/monitor.log"; }
has_lines() { [ "$(lines "$1")" -ge "$2" ]; }
ok 'monitor: all devices' wait_for has_lines kwarpT 1
must kwarpctl down kwarpT
# The first line may be of a round that began before.
ok 'monitor: a device is removed, the others stay' \
	wait_for has_lines "$DEV_A" $(($(lines "$DEV_A") + 2))
stop monitor

# ---- doctor ----

# a device without an address, a device that is down, and the answer of a peer
run kwarpctl doctor "$DEV_A"
has 'doctor: the netdev is in another namespace' "^note $DEV_A has no netdev"
ok 'doctor: devices of other namespaces' kwarpctl doctor
ok 'doctor: all is well' ctl_a doctor "$DEV_A"
has 'doctor: the provider' '^ok   provider for libibverbs, ABI [0-9]+'
has 'doctor: the device' "^ok   $DEV_A on vA, active"
must ip -n hostA link set vA down
refuses 'doctor: down' 2 "vA is down, or has no carrier" ctl_a doctor "$DEV_A"
must ip -n hostA addr flush dev vA
refuses 'doctor: no address' 2 "vA has no address" ctl_a doctor "$DEV_A"
must ip -n hostA addr add 10.0.0.9/24 dev vA label vA:0
refuses 'doctor: an address with a label' 2 "vA is down, or has no carrier" ctl_a doctor "$DEV_A"
must ip -n hostA addr flush dev vA
must end_up hostA vA $IP_A $IP6_A 1500
must ip -n hostA addr add 10.0.0.9/24 dev vA
ok 'doctor: up again' wait_for ctl_a doctor "$DEV_A"
must tc -n hostB qdisc del dev vB clsact
refuses 'doctor: nobody listens' 2 "$IP_B port 7199 refuses" \
	ctl_a doctor "$DEV_A" --peer $IP_B --port 7199
PORT=7174 server rping on_b rping -s -a $IP_B -P
ok 'doctor: a peer that listens' ctl_a doctor "$DEV_A" --peer $IP_B --port 7174
has 'doctor: a peer that listens: message' "^ok   $IP_B port 7174 accepts"
must patient hostB vB 7198
refuses 'doctor: no answer' 2 "$IP_B port 7198 does not answer" \
	ctl_a doctor "$DEV_A" --peer $IP_B --port 7198
refuses 'doctor: no route' 2 'cannot be reached' ctl_a doctor "$DEV_A" --peer 10.77.0.1 --port 1
PORT=18515 server pingpong on_b ibv_rc_pingpong -d "$DEV_B" -g 0
run on_a ibv_rc_pingpong -d "$DEV_A" -g 0 $IP_B
ok 'doctor: queue pairs without rdma_cm' wait_for exited "${SERVERS[pingpong]}"
run on_b kwarpctl doctor "$DEV_B"
has 'doctor: the policy is named' \
	"^note $DEV_B: rendezvous_disabled = 1: .* needs policy rendezvous_port"
refuses 'doctor: --peer alone' 1 'port' ctl_a doctor --peer $IP_B
run on_a kwarpctl -j doctor "$DEV_A"
json 'doctor: JSON' 'len(d) > 3 and {f["result"] for f in d} <= {"ok", "note"}' True

# ---- a netdev that is made again while the device of the old one leaves ----

PORT=7174 server rping on_b rping -s -a $IP_B -P
server client on_a rping -c -a $IP_B
ok 'a connection, again' wait_for connected
must ip -n hostA link del vA
must ip -n hostA link add vA type dummy
ok 'up: the netdev was made again' ctl_a up "$DEV_A" netdev vA ird 3
is 'up: the device is on the new netdev' \
	"$(on_a rdma -j link show "$DEV_A/1" | grep -o '"netdev_index":[0-9]*')" \
	"\"netdev_index\":$(on_a cat /sys/class/net/vA/ifindex)"
is 'up: the policy of the new device' "$(cat "/sys/class/infiniband/$DEV_A/kwarp/ird")" 3
stop client
stop rping

# ---- doctor: the installation ----

driver=/etc/libibverbs.d/kwarp.driver
must mv $driver $driver.away
refuses 'doctor: no driver file' 2 'kwarp.driver is missing' ctl_a doctor "$DEV_A"
must mv $driver.away $driver
provider=$(find /usr/lib -name 'libkwarp-rdmav*.so' | head -n 1)
must mv "$provider" "${provider%rdmav*}rdmav1.so"
refuses 'doctor: provider of another ABI' 2 "private ABI 1 of libibverbs, but" \
	ctl_a doctor "$DEV_A"
must rm "${provider%rdmav*}rdmav1.so"
refuses 'doctor: no provider' 2 'no provider for kwarp' ctl_a doctor "$DEV_A"
done_testing
