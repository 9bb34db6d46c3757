#!/bin/bash
# run.sh [quick|check|all]: runs the suites of tests/suites in parallel; the last line sums the
# cases. Called by "make quick", "make check" (the default) and "make check-all".
#
# SUITES="unit vm-cm vm-rping@stock" runs the suites named; one without "@KERNEL" runs where "make
# check" runs it. SUITES=list lists all jobs. Each job's output is in build/log/check-JOB.log;
# build/check-times.tsv keeps its duration and its processor time. JOBS_AT_ONCE jobs run at a time:
# two for each processor, since a guest is idle for a third of its time or more. After CHECK_LIMIT
# seconds (5100; none for "all") the run ends, and jobs that have not run count as failed.
. "$(dirname "$0")/../scripts/lib.sh"

mode=${1:-check}
times=$BUILD/check-times.tsv
export TALLY=$BUILD/check.tally LOGS=$BUILD/log STARTED
STARTED=$(date +%s)

# listed MODE: prints the mode's jobs, one to a line with its duration in seconds
listed() {
	local column=4
	case $1 in
	check) column=2 ;;
	all) column=3 ;;
	esac
	list "$TOP/tests/suites" | awk -v column=$column '
		$column == "host" { print $1, $5; next }
		$column != "-" {
			n = split($column, kernel, ",")
			for (i = 1; i <= n; i++) print $1 "@" kernel[i], $5
		}'
}

# chosen: prints the jobs that SUITES names, or all. One without "@KERNEL" runs where this mode has
# it, or else "all".
chosen() {
	local name of found
	[ -n "${SUITES:-}" ] || listed "$mode"
	for name in ${SUITES:-}; do
		for of in "$mode" all; do
			found=$(listed "$of" |
				awk -v name="$name" '$1 == name || index($1, name "@") == 1')
			[ -z "$found" ] || break
		done
		[ -n "$found" ] || fail "no suite '$name'; SUITES=list lists them"
		echo "$found"
	done
}

# by_time: sorts jobs, longest first, by their last duration here or else by the table
by_time() {
	awk 'FILENAME != "-" { last[$1] = $2; next } { print $1, ($1 in last) ? last[$1] : $2 }' \
		<(cat "$times" 2>/dev/null) - | sort -k2,2nr -k1,1
}

# last_time: prints how long the last run with the same number of jobs took
last_time() {
	awk -F'\t' -v run="($mode $1)" '
		$1 == run { printf "; last time: %d min %d s", $2 / 60, $2 % 60 }' \
		"$times" 2>/dev/null || :
}

# keep: stores the durations of this run in place of older ones of the same jobs
keep() {
	{
		cat "$TALLY" "$TALLY.steps" | awk '{ print $1 "\t" $2 ($7 == "" ? "" : "\t" $7) }'
		echo "($mode $JOBS)	$(($(date +%s) - STARTED))"
		cat "$times" 2>/dev/null || :
	} | awk -F'\t' '!seen[$1]++' >"$times.new"
	mv "$times.new" "$times"
}

# slowest: prints the slowest suites and steps
slowest() {
	echo "  the slowest of $JOBS, and their processor time:"
	cat "$TALLY" "$TALLY.steps" | sort -k2,2nr | head -n 12 |
		awk '{ printf "  %6d s  %8s  %s\n", $2, $7 == "" ? "" : $7 " s", $1 }'
	awk '{ n += $7 }
		END { printf "  all suites: %d min %d s of processor time\n", n / 60, n % 60 }' \
		"$TALLY"
}

# failures: prints, for the first four failed suites, their and their kernel's last lines, and how
# to repeat them
failures() {
	local job log shown=0 bad
	bad=$(awk '$4 > 0 { print $1 }' "$TALLY")
	for job in $bad; do
		shown=$((shown + 1))
		log=$LOGS/check-$job.log
		echo "FAILED $job; again: SUITES=$job make check"
		[ $shown -le 4 ] || continue
		grep -aE '^not ok|^\[  FAILED  \] .* ms\)' "$log" | head -n 2 |
			cut -c1-150 | sed 's/^/    /'
		grep -avE '^(not )?ok |^\[|^1\.\.' "$log" | tail -n 3 |
			cut -c1-150 | sed 's/^/    | /'
		tail -n 2 "$BUILD/results/$job/console.log" 2>/dev/null | tr -d '\r' |
			cut -c1-150 | sed 's/^/    console: /'
	done
}

case $mode in
quick | check) limit=${CHECK_LIMIT:-5100} ;;
all) limit=${CHECK_LIMIT:-0} ;;
*) fail 'usage: run.sh [quick|check|all]' ;;
esac
[ "${SUITES:-}" != list ] || { listed all | cut -d' ' -f1; exit; }
need_root
mkdir -p "$LOGS"
rm -rf "$TALLY" "$TALLY.steps" "$TALLY.done"
mkdir "$TALLY.done"
touch "$TALLY" "$TALLY.steps"
table=$(chosen | sort -u -k1,1 | by_time)
mapfile -t goals < <(cut -d' ' -f1 <<<"$table")
export JOBS=${#goals[@]}
unset SUITES
case $mode in
quick) export CHANGED=1 ;;
check) export FUZZ_SECONDS="${FUZZ_SECONDS:-30}" ;;
all)
	export FUZZ_SECONDS="${FUZZ_SECONDS:-600}" KWARP_THOROUGH=1
	export KWARP_FUZZ_SECONDS="${KWARP_FUZZ_SECONDS:-600}"
	;;
esac
count() { grep -c "$1" <<<"$table" || :; }
echo "$JOBS suites: $(count '^[^@]* ') on this machine, $(count @debug) in guests with the" \
	"debug kernel, $(count @stock) with the stock kernel, $(count @rt) with" \
	"PREEMPT_RT$(last_time "$JOBS")"

# First the builds and the suites of this machine, then the suites of guests, whose prerequisites
# are ready by then: make takes goals in their given order only if they do not have to wait for
# prerequisites. Fuzzing runs beside all of these.
first=() second=() beside=()
for job in "${goals[@]}"; do
	case $job in
	*@debug) second+=("$job") first+=(module-debug) ;;
	*@stock) second+=("$job") first+=(stage) ;;
	*@rt) second+=("$job") first+=(stage-rt) ;;
	fuzz) beside+=("$job") ;;
	*) first+=("$job") ;;
	esac
done
# A process namespace: all that a suite starts ends with its first process, and that with this
# script.
# shellcheck disable=SC2016 # expanded inside
timeout -s KILL "$limit" unshare --pid --fork --kill-child --mount-proc sh -c '
	make="make -C $1 -f jobs.mk -k -s -j$2"
	$make $3
	[ -z "$5" ] || $make $5 &
	[ -z "$4" ] || $make $4
	wait' sh "$TOP/tests" "${JOBS_AT_ONCE:-$(($(nproc) * 2))}" \
	"${first[*]:-packages}" "${second[*]}" "${beside[*]}" 2>"$LOGS/check-make.log" &
trap 'pkill -KILL -P $!' EXIT
trap 'exit 130' INT TERM HUP
wait $! || :
trap - EXIT
set +e # the report is printed to its end, whose status is this script's

for job in "${goals[@]}"; do
	grep -q "^$job " "$TALLY" || {
		echo "not ok 1 - a prerequisite failed, or no time was left: $LOGS/check-make.log" \
			>"$LOGS/check-$job.log"
		echo "$job 0 0 1 0 0 0" >>"$TALLY"
	}
done
keep
slowest
failures
awk '$6 > 0 { printf "retried: %d in %s\n", $6, $1 }' "$TALLY"
awk '{ p += $3; f += $4; s += $5 }
	END {
		printf "%d passed, %d failed%s\n", p, f, s ? ", " s " skipped" : ""
		exit f > 0 || p + s == 0
	}' "$TALLY"
