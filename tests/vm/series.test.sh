#!/bin/bash
# series: the driver and rdma-core built from the patches of "make series"
# (scripts/build/series-guest.sh). Runs the tests of kwarp's direct verbs in pyverbs, each of which
# is a case, and some of rdma-core's own tests.
# Timeout: 400
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pyverbs.sh"

built=$(realpath "$(dirname "$0")/../../build/series-guest")
# libibverbs looks for providers in the folder of an installation; name the built one.
export RDMAV_DRIVERS=$built/core/lib/libkwarp PYTHONPATH=$built/core/python
export PYTHONDONTWRITEBYTECODE=1

# tests LOG TEST...: runs these tests with rdma-core's runner
tests() {
	local log=$1
	shift
	(
		cd "$WORK/tests" || exit
		timeout "$(patience 120)" python3 run_tests.py --dev kwarp0 -v "$@"
	) >"$log" 2>&1
}

[ -f "$built/kwarp.ko" ] || bail "no $built/kwarp.ko: scripts/build/series-guest.sh"
must modprobe -a ib_uverbs rdma_ucm iw_cm sctp
must insmod "$built/kwarp.ko"
must pyverbs_device kwarp
must cp -r "$built/rdma-core/tests" "$WORK/tests"
# The module must have RDMA_DRIVER_KWARP. libibverbs does not show this number to programs, but the
# provider refuses any other.
ok 'the provider takes the device' "$built/core/bin/ibv_devinfo" -d kwarp0

rc=0
tests "$WORK/log" tests.test_kwarp || rc=1
report $rc 'the tests of direct verbs run to their end' "$WORK/log"
pyverbs_parse "$WORK/log" >"$WORK/results"
while read -r name; do
	ok "direct verbs: $name" grep -qE "\.$name ok\$" "$WORK/results"
done < <(sed -n 's/^    def \(test_[a-z0-9_]*\).*/\1/p' "$WORK/tests/test_kwarp.py")
rc=0
tests "$WORK/log" tests.test_qp tests.test_mr tests.test_cq tests.test_srq tests.test_pd || rc=1
report $rc 'tests of objects and of traffic' "$WORK/log"
# As on vm-pyverbs' device, which has the same policies.
pyverbs_parse "$WORK/log" | sed -n 's/ ok$//p' >"$WORK/passed"
sed -nE 's/^(test_(qp|mr|cq|srq|pd)\..*) ok$/\1/p' "$(dirname "$0")/pyverbs.expected" | sort \
	>"$WORK/wanted"
sort "$WORK/passed" | comm -13 - "$WORK/wanted" >"$WORK/missing"
is 'as many of them pass as in vm-pyverbs' "$(paste -sd' ' "$WORK/missing")" ''
ok 'the device is removed' rdma link delete kwarp0
ok 'the module is unloaded' rmmod kwarp
done_testing
