#!/bin/bash
# flake.sh SUITE [RUNS]: measures how often a suite fails under load. Runs the suite once without
# load, which also builds its prerequisites, then RUNS times (20) with a busy loop on every
# processor. SUITE is a name as for SUITES= of "make check"; without "@KERNEL", each kernel in which
# "make check" runs the suite is measured.
#
# No run is repeated. AT_ONCE=N: number of parallel runs (default: 1). Prints one line for each job
# and appends a line to build/flake.tsv: job, runs, failed runs, shortest, median and longest run in
# seconds. The output of failed runs stays in build/flake. The exit status is 1 if a run failed.
. "$(dirname "$0")/lib.sh"
need_root
[ $# -ge 1 ] || fail 'usage: flake.sh SUITE [RUNS]'
suite=$1
runs=${2:-20}

SUITES=$suite TRIES=1 "$TOP/tests/run.sh" || fail 'the suite fails without load'
jobs=$(cut -d' ' -f1 "$BUILD/check.tally")

# busy: starts the loops in a PID namespace of their own, so that no loop outlives this script
busy() {
	unshare --pid --fork --kill-child sh -c '
		for _ in $(seq "$(nproc)"); do while :; do :; done & done
		wait' &
	BUSY=$!
	trap 'kill -KILL $BUSY' EXIT
}

# run JOB NUMBER: runs the job once; its files stay if it fails
run() {
	local dir=$BUILD/flake/$1.$2
	mkdir -p "$dir"
	SLOT=$2 LOGS=$dir TALLY=$dir/tally KEEP="" "$TOP/tests/run-suite.sh" "$1" >"$dir/line"
	read -r _ seconds _ failed _ retries _ <"$dir/tally"
	echo "$seconds $failed $retries" >"$BUILD/flake/$1.$2.ended"
	[ "$failed" -gt 0 ] || rm -rf "$dir"
}
export -f run
busy
# As in "make check": small counts, and limits for a machine with this load.
KWARP_PATIENCE=$(measured_patience)
export KWARP_SHORT=1 KWARP_PATIENCE
status=0
for job in $jobs; do
	rm -rf "$BUILD/flake/$job".*
	mkdir -p "$BUILD/flake"
	step "$job: $runs runs beside $(nproc) busy loops"
	seq "$runs" | xargs -P "${AT_ONCE:-1}" -I{} bash -c 'run "$@"' run "$job" {} ||
		fail "a run of $job did not end"
	sort -n "$BUILD/flake/$job".*.ended | awk -v job="$job" '
		{ seconds[NR] = $1; bad += $2 > 0; retries += $3 }
		END {
			printf "%s\t%d\t%d\t%d\t%d\t%d\t%d\n", job, NR, bad, seconds[1],
				seconds[int((NR + 1) / 2)], seconds[NR], retries
		}' |
		tee -a "$BUILD/flake.tsv" | awk -F'\t' '{
			printf "%s: %d of %d runs failed; %d s, %d s, %d s (shortest, median, " \
				"longest); retried %d times\n", $1, $3, $2, $4, $5, $6, $7
			exit $3 > 0 }' || status=1
	rm -f "$BUILD/flake/$job".*.ended
done
exit $status
