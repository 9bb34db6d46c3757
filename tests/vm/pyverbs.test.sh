#!/bin/bash
# pyverbs: rdma-core's Python suite, unchanged. pyverbs.expected has the result of each test, and
# the reason for each test that is skipped. Each file of the suite is a case, which fails if any
# result differs, also if a test passes now. To renew the list, check it and copy
# RESULTS/pyverbs.results to tests/vm/pyverbs.expected; RESULTS is the folder given to
# scripts/guest/vm.sh by -o.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pyverbs.sh"

EXPECTED=$(dirname "$0")/pyverbs.expected

must pyverbs_device kwarp
must pyverbs_prepare "$WORK/tests"
ok 'the suite runs to its end' pyverbs_run "$WORK/tests" kwarp0 "$WORK/results"
if [ -d /results ]; then
	cp "$WORK/results" /results/pyverbs.results
	cp "$WORK/results.log" /results/pyverbs.log
fi
sed '/^#/d; /^$/d' "$EXPECTED" | LC_ALL=C sort >"$WORK/expected"
# Without huge pages, as in user-mode Linux, tests about them are skipped for that reason.
if [ ! -e /proc/sys/vm/nr_hugepages ]; then
	reason='Huge pages of size 2M is not supported in this platform'
	sed -i -E "s/^([^ ]*\.test_[^ .]*huge_[^ ]*) .*/\1 skip $reason/" "$WORK/expected"
fi

cut -d. -f1 "$WORK/results" "$WORK/expected" | sort -u >"$WORK/files"
while read -r file; do
	grep "^$file\." "$WORK/expected" >"$WORK/expected.1"
	grep "^$file\." "$WORK/results" >"$WORK/results.1"
	diff "$WORK/expected.1" "$WORK/results.1" >"$WORK/out"
	report $(($? != 0)) "$file: each of $(grep -c . "$WORK/expected.1") tests as expected" \
		"$WORK/out"
done <"$WORK/files"
[ $FAILED -eq 0 ] || wrong_data "$WORK/results.log"
is 'as many results as tests' "$(grep -c . "$WORK/results")" "$(grep -c . "$WORK/results.all")"
pyverbs_summary "$WORK/results" kwarp
ok 'the device is removed' rdma link delete kwarp0
done_testing
