#!/bin/bash
# module: loads the module explicitly and automatically, and unloads it, used and unused.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lifecycle.sh"

hosts_up
meet

loaded() { grep -q "^$DRIVER " /proc/modules; }
server holdA on_a "$HOLD" open "$DEV_A"
held holdA
ok 'rmmod with a device open: refused' refused rmmod "$DRIVER"
has 'rmmod with a device open: in use' 'in use'
stop holdA
holds 'connection before rmmod' connected
ok 'rmmod with a connection: refused' refused rmmod "$DRIVER"
is 'rmmod with a connection: the connection is unharmed' \
	"$(objects qp "$DEV_A" '[q["state"] for q in all]')" "['RTS']"
stop holdA
stop holdB
wait_for nothing_left
ok 'rmmod with devices, unused' wait_for rmmod "$DRIVER"
ok 'rmmod: devices are gone' both_gone

# The RDMA core requests the module by its alias rdma-link-kwarp.
ok 'rdma link add loads the module' link_a
ok 'rdma link add loads the module: the module is loaded' loaded
ok 'loaded automatically: link delete' rdma link delete "$DEV_A"
ok 'loaded automatically: rmmod' rmmod "$DRIVER"

# The module parameter llp is the default of the policy llp.
fails 'llp=udp: not loaded' modprobe "$DRIVER" llp=udp
ok 'llp=sctp: loaded' modprobe "$DRIVER" llp=sctp
is 'llp=sctp: the parameter is shown' "$(cat "/sys/module/$DRIVER/parameters/llp")" sctp
ok 'llp=sctp: a device is added' link_a
is 'llp=sctp: the device has that policy' "$(cat "/sys/class/infiniband/$DEV_A/kwarp/llp")" \
	'tcp tcp+sctp sctp+tcp [sctp]'
ok 'llp=sctp: link delete' rdma link delete "$DEV_A"
ok 'llp=sctp: rmmod' rmmod "$DRIVER"

# Limits of objects are from 1 to the default.
attribute() { ibv_devinfo -v -d "$DEV_A" | sed -n "s/^\s*$1:\s*//p"; }
must modprobe "$DRIVER" && must link_a
most=$(attribute max_mr)
must rdma link delete "$DEV_A" && must rmmod "$DRIVER"
ok 'limits out of range: loaded' modprobe "$DRIVER" max_qp=0 max_mr=4294967295
ok 'limits out of range: a device is added' link_a
is 'limits out of range: at least 1' "$(attribute max_qp)" 1
is 'limits out of range: at most the default' "$(attribute max_mr)" "$most"
ok 'limits out of range: link delete' rdma link delete "$DEV_A"
ok 'limits out of range: rmmod' rmmod "$DRIVER"

come() { modprobe "$DRIVER" && links; }

# reload: loads and unloads the module; this fails if the last unload has not freed everything
reload() {
	come && rdma link delete "$DEV_A" && rmmod "$DRIVER"
}
failed=0
for _ in {1..19}; do
	reload >"$WORK/out" 2>&1 || { failed=1; break; }
done
report $failed 'load, add, delete, unload, 19 times' "$WORK/out"
ok 'load for the last time' come
PORT=7174 server rping on_b rping -s -a $IP_B -v -V -C 5
ok 'the device works after reloading' on_a rping -c -a $IP_B -v -V -C 5
finish rping
ok 'no object is left' wait_for nothing_left
done_testing
