#!/bin/bash
# multihoming: SCTP associations over several netdevs (policy paths): the addresses that are bound,
# and traffic while a path fails.
LLP=sctp
. "$(dirname "$0")/lib.sh"

modprobe -q sch_netem || [ -d /sys/module/sch_netem ] || bail 'no netem'
hosts_up
must ip link add pA index 103 netns hostA type veth peer name pB index 104 netns hostB
must end_up hostA pA 10.0.1.1 fd00:1::1 1500
must end_up hostB pB 10.0.1.2 fd00:1::2 1500
# a netdev that is in no policy
must ip -n hostB link add other0 type dummy
must ip -n hostB addr add 192.0.2.1/24 dev other0
must ip -n hostB link set other0 up
# Resolve the neighbours first: waiting for address resolution is not under test.
for address in $IP_B $IP6_B 10.0.1.2 fd00:1::2; do
	on_a ping -qc 1 "$address" >"$WORK/ping"
done

# ---- the policy ----

paths() { cat "/sys/class/infiniband/$1/kwarp/paths"; }
is 'policy: none by default' "$(paths "$DEV_B")" off
set_paths() { kwarpctl policy set "$DEV_B" paths "$@"; }
for bad in none0 vB pB,pB pB,none0 off,pB pB,other0,pB aaaaaaaaaaaaaaaaaaaa ''; do
	fails "policy: refused: '$bad'" set_paths "$bad"
done
must ip -n hostB link add other1 type dummy
must ip -n hostB link add other2 type dummy
fails 'policy: four netdevs' set_paths pB,other0,other1,other2
# A netdev with a device of its own is refused, since its addresses would belong to two devices.
must rdma_link hostB kwarpC "$DRIVER_B" other0
fails 'policy: a netdev with a device of its own' set_paths other0
must rdma link delete kwarpC
must ip -n hostB link property add dev pB altname pB-alias
fails 'policy: an alternative name' set_paths pB-alias
# The names are those of netdevs in the namespace of the device.
fails 'policy: a netdev of another namespace' set_paths pA
is 'policy: nothing has changed' "$(paths "$DEV_B")" off
ok 'policy: three netdevs' set_paths pB,other1,other2
is 'policy: three netdevs are shown' "$(paths "$DEV_B")" 'pB other1 other2'
ok 'policy: what is shown can be written' set_paths 'pB other1 other2'
ok 'policy: one netdev' set_paths pB
fails 'a netdev of the policy cannot have its own device' rdma_link hostB kwarpC "$DRIVER_B" pB
is 'policy: one netdev is shown' "$(paths "$DEV_B")" pB
ok 'policy: off' set_paths off
is 'policy: none is left' "$(paths "$DEV_B")" off
fails 'policy: no privilege' setpriv --reuid 65534 --clear-groups --bounding-set=-all \
	kwarpctl policy set "$DEV_B" paths pB

# ---- the addresses of a listener ----

# addresses: prints the addresses of the listeners on host B, one per line
addresses() {
	on_b awk '$6 == 7174 { for (i = 9; i <= NF; i++) print $i }' /proc/net/sctp/eps | sort
}
# has_addresses ADDRESS...: true if the listeners have exactly these IPv4 addresses
has_addresses() { [ "$(addresses | grep -v : | paste -sd' ')" = "$*" ]; }
PORT=7174 server rping on_b rping -s -a $IP_B -P
ok 'a listener for one address' wait_for has_addresses $IP_B
must set_paths pB
ok 'the listener follows the policy' wait_for has_addresses $IP_B 10.0.1.2
must ip -n hostB addr add 10.0.1.9/24 dev pB
ok 'the listener follows the addresses of the path' wait_for has_addresses $IP_B 10.0.1.2 10.0.1.9
must ip -n hostB addr del 10.0.1.9/24 dev pB
ok 'an address of the path is removed' wait_for has_addresses $IP_B 10.0.1.2
must ip -n hostB link set pB down
must ip -n hostB link set pB name qB
must ip -n hostB link set qB up
ok 'a netdev that is renamed is no longer a path' wait_for has_addresses $IP_B
must ip -n hostB link set qB down
must ip -n hostB link set qB name pB
must ip -n hostB link set pB up
must ip -n hostB addr replace fd00:1::2/64 dev pB nodad
ok 'a netdev with its old name is a path again' wait_for has_addresses $IP_B 10.0.1.2
must set_paths off
ok 'off: the path is given up' wait_for has_addresses $IP_B
must set_paths pB
stop rping
PORT=7174 server rping on_b rping -s -a :: -P
ok 'a listener for all addresses' wait_for has_addresses $IP_B 10.0.1.2
both_families() { [ "$(addresses | grep -cE '^fd00:.*:0002$')" -eq 2 ]; }
ok 'a listener for all addresses: IPv6, too' wait_for both_families

# ---- the addresses of a connection ----

must kwarpctl policy set "$DEV_A" paths pA
ip netns exec hostA rping -c -a $IP_B >"$WORK/client.log" 2>&1 </dev/null &
client=$!
# ends HOST: prints the IPv4 addresses of both ends of the association
ends() { "$1" grep -oE '10\.[0-9.]+' /proc/net/sctp/assocs | sort -u | paste -sd' '; }
connected() { [ "$(ends "$1")" = '10.0.0.1 10.0.0.2 10.0.1.1 10.0.1.2' ]; }
ok 'an association has both paths' wait_for connected on_a
ok 'an association has both paths, seen by the other host' wait_for connected on_b
is 'an association has no address of other netdevs' \
	"$(on_b grep -c '192\.0\.2\.1' /proc/net/sctp/assocs)" 0
kill $client
wait $client 2>/dev/null
stop rping

# ---- a path fails ----

# On a busy machine the RTO of a path grows, so that each of these cases takes seconds.
filter='*failover.*'
[ -n "${KWARP_THOROUGH:-}" ] || filter+='-*restored*/ipv6:*goes_down/ipv6'
timeout -k 5 "$(patience 900)" "$(dirname "$0")/../../build/verbs/loss" \
	--gtest_filter="$filter" "$@" ||
	FAILED=$((FAILED + 1))
is 'failures were counted' "$(($(counter "$DEV_A" path_failures) > 0))" 1

# A device with paths is removed; a new device of that name has none.
ok 'the device is removed' rdma link delete "$DEV_B"
must ip -n hostB addr add 10.0.1.8/24 dev pB
ok 'the device is added again' rdma_link hostB "$DEV_B" "$DRIVER_B" vB
is 'the new device has no paths' "$(paths "$DEV_B")" off

done_testing
