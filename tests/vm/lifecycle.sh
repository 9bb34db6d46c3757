# shellcheck shell=bash
# Functions for suites about lifetimes; source this file after lib.sh: processes that hold objects,
# and what "rdma resource" shows of these objects.

# meet: resolves the neighbours, because waiting for address resolution is not under test
meet() { on_a ping -qc 1 "$IP_B" >"$WORK/ping"; }

HOLD=$(realpath "$(dirname "$0")/../../build/verbs/hold")
PORT_HOLD=7500

# resources DEVICE: prints how many PDs, CQs, QPs, CM ids, MRs and contexts exist
resources() {
	rdma -j resource show "$1" | python3 -c '
import json, sys
d = json.load(sys.stdin)[0]
print(*(d[k] for k in ("pd", "cq", "qp", "cm_id", "mr", "ctx")))'
}

nothing_left() {
	local dev
	for dev in "$DEV_A" "$DEV_B"; do
		[ "$(resources "$dev")" = '0 0 0 0 0 0' ] || return 1
	done
}

# objects KIND DEVICE PYTHON: prints a Python expression about "all", the list of the device's
# objects of that kind
objects() {
	local of="dev $2"
	case $1 in
	qp | cm_id) of="link $2" ;;
	esac
	# shellcheck disable=SC2086 # two words
	rdma -j -dd resource show "$1" $of | python3 -c "
import json, sys
all = json.load(sys.stdin)
print($3)"
}

# held NAME: waits until the holder NAME is ready
# prints NAME REGEX: waits until the holder has printed a line that matches
held() { wait_for grep -q '^ready' "$WORK/$1.log"; }
prints() { wait_for grep -Eq "$2" "$WORK/$1.log"; }

# connected: starts a server on B and a client on A, which hold a connection
connected() {
	PORT=$PORT_HOLD server holdB on_b "$HOLD" server "$IP_B" "$PORT_HOLD"
	server holdA on_a "$HOLD" client "$IP_B" "$PORT_HOLD"
	held holdA && held holdB
}

# both_end: true if both holders notice the end of the connection and exit
both_end() {
	finish holdA && finish holdB
}

port_state() {
	cut -d' ' -f2 "/sys/class/infiniband/$1/ports/1/state"
}

is_port() { [ "$(port_state "$1")" = "$2" ]; }
gone() { [ ! -d "/sys/class/infiniband/$1" ]; }
both_gone() { gone "$DEV_A" && gone "$DEV_B"; }
refused() { ! "$@"; }

# logs: adds the output of the holders to that of a failed case
logs() {
	tail -n 20 "$WORK"/hold?.log >"$WORK/out" 2>&1
}

# holds NAME COMMAND...: as ok; a failure also shows the output of the holders
holds() {
	local name=$1 rc=0
	shift
	"$@" >"$WORK/out" 2>&1 || { rc=1; logs; echo "failed: $*" >>"$WORK/out"; }
	report $rc "$name" "$WORK/out"
}

link_a() { rdma_link hostA "$DEV_A" "$DRIVER_A" vA; }
links() { link_a && rdma_link hostB "$DEV_B" "$DRIVER_B" vB; }
