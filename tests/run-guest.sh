#!/bin/bash
# run-guest.sh NAME...: inside the VM, the suites tests/vm/NAME.test.sh one after the other. Leaves
# /results/NAME.tap and NAME.status; what the kernel complains about during a suite is a failed case of it.
# A line "# Timeout: N" in a suite changes its time limit of 400 seconds.
. "$(dirname "$0")/../scripts/lib.sh"
set +e
rc=0
for name; do
	suite=$TOP/tests/vm/$name.test.sh
	limit=$(sed -n 's/^# Timeout: \([0-9]*\).*/\1/p' "$suite" | head -n 1)
	dmesg -C
	echo "== $name"
	timeout -k 10 "${limit:-400}" "$suite" 2>&1 </dev/null | tee "/results/$name.tap"
	status=${PIPESTATUS[0]}
	[ "$status" -ne 124 ] || echo "# time limit of ${limit:-400} s reached" | tee -a "/results/$name.tap"
	dmesg >"/results/$name.kernel.log"
	dmesg >>/results/all.kernel.log
	if kernel_complaints "/results/$name.kernel.log" >/tmp/complaints; then
		{
			echo 'not ok 9999 - the kernel has nothing to complain about'
			sed 's/^/#   /' /tmp/complaints | head -n 20
		} | tee -a "/results/$name.tap"
		status=1
	fi
	echo "$status" >"/results/$name.status"
	[ "$status" -eq 0 ] || rc=1
done
exit $rc
