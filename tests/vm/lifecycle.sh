# shellcheck shell=bash
# For suites about lifetimes, after lib.sh: objects that a process holds, and how "rdma" shows them.

# meet: resolves the neighbours, since waiting for address resolution is not under test
meet() { on_a ping -qc 1 "$IP_B" >"$WORK/ping"; }

HOLD=$(realpath "$(dirname "$0")/../../build/verbs/hold")
PORT_HOLD=7500

# resources DEVICE: prints the numbers of PDs, CQs, QPs, CM ids, MRs and contexts
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

# objects KIND DEVICE PYTHON: prints an expression over "all", rdma's list of such objects of the
# device
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

# held NAME: the holder is ready; told NAME REGEX: it has printed such a line
held() { wait_for grep -q '^ready' "$WORK/$1.log"; }
told() { wait_for grep -Eq "$2" "$WORK/$1.log"; }

# connected: starts a server on B and a client on A that hold a connection
connected() {
	PORT=$PORT_HOLD server holdB on_b "$HOLD" server "$IP_B" "$PORT_HOLD"
	server holdA on_a "$HOLD" client "$IP_B" "$PORT_HOLD"
	held holdA && held holdB
}

# both_end: the holders notice and end by themselves
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

# logs NAME: collects the holders' output for a failed test
logs() {
	tail -n 20 "$WORK"/hold?.log >"$WORK/out" 2>&1
}

# holds NAME COMMAND...: like ok, but a failure shows the holders' output
holds() {
	local name=$1 rc=0
	shift
	"$@" >"$WORK/out" 2>&1 || { rc=1; logs; echo "failed: $*" >>"$WORK/out"; }
	report $rc "$name" "$WORK/out"
}

link_a() { rdma_link hostA "$DEV_A" "$DRIVER_A" vA; }
links() { link_a && rdma_link hostB "$DEV_B" "$DRIVER_B" vB; }
