#!/bin/bash
# run-guest.sh NAME...: inside the VM, the suites tests/vm/NAME.test.sh one after the other; "-" instead of
# names: those that tests/run.sh gives through /results, one at a time. Leaves /results/NAME.tap and
# NAME.status; what the kernel complains about during a suite is a failed case of it. A suite that fails may leave
# anything behind, so those that tests/run.sh has left run in another guest. An Oops ends the guest (oops=panic).
. "$(dirname "$0")/../scripts/lib.sh"
set +e
rc=0

# next: sets $name, false when there is no further suite
names=("$@")
next() {
	if [ "${names[0]:-}" != - ]; then
		name=${names[0]:-}
		names=("${names[@]:1}")
	else
		touch /results/ask
		until [ -f /results/next ]; do
			sleep 0.2
		done
		name=$(cat /results/next)
		rm /results/next
	fi
	[ -n "$name" ]
}

while next; do
	limit=$(suite_limit "$name")
	dmesg -C
	echo "== $name"
	timeout -k 10 "$limit" "$TOP/tests/vm/$name.test.sh" 2>&1 </dev/null | tee "/results/$name.tap"
	status=${PIPESTATUS[0]}
	[ "$status" -ne 124 ] || echo "# time limit of $limit s reached" | tee -a "/results/$name.tap"
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
	[ "$status" -eq 0 ] || [ "${1:-}" != - ] || break
done
exit $rc
