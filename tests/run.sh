#!/bin/bash
# run.sh [quick|check|all]: runs the suites of tests/suites in parallel; the last line of the output
# has the numbers of passed and failed cases. "make quick", "make check" (the default) and "make
# check-all" call this script. A job is a suite in one of its kernels.
#
# SUITES="unit vm-cm vm-rping@stock" runs the named suites only. A suite named without "@KERNEL"
# runs where "make check" runs it, or, if "make check" does not, where "make check-all" does.
# SUITES=list lists all jobs, SUITES=modes the jobs of each mode. The output of a job is in
# build/log/check-JOB.log, its duration and processor time are in build/check-times.tsv.
# JOBS_AT_ONCE guests run at a time: by default one more than there are processors, since a guest is
# idle for at least a third of its time. After CHECK_LIMIT seconds (5100; no limit for "all") the
# run ends, and jobs that have not run count as failed.
#
# If a suite fails in a guest, run.sh runs the suite again when all others have ended, with nothing
# beside it, up to TRIES times in total (3, for "all" 1), unless the failure cannot be due to chance
# (see again() in run-suite.sh). A suite that passes then counts as passed and as flaky: run.sh
# prints a line about the suite before the last line, adds a row to build/flaky.tsv, and keeps the
# logs of all tries in build/flaky. If more than five suites fail that way, run.sh repeats none of
# them, since the cause is then the machine or the change.
#
# build/check-passed has the commit and the verdict of the last complete run of "check" or "all",
# build/tested-on.csv the kernels and machines of the last run of "all". A second run in the same
# checkout is refused, because both would write these files.
. "$(dirname "$0")/../scripts/lib.sh"

mode=${1:-check}
times=$BUILD/check-times.tsv
most_flaky=5
export TALLY=$BUILD/check.tally LOGS=$BUILD/log STARTED
STARTED=$(date +%s)

# listed MODE: prints the jobs of the mode with their durations in seconds, one job per line
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

# chosen: prints the jobs that SUITES names, or all jobs of this mode. A suite named without
# "@KERNEL" gets the kernels of this mode, or, if this mode does not run the suite, those of "all".
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

# modes: prints which jobs each mode has
modes() {
	local of
	for of in quick check all; do
		printf '%-5s %3d: %s\n' $of "$(listed $of | wc -l)" \
			"$(listed $of | cut -d' ' -f1 | paste -sd' ')"
	done
}

# machine JOB: prints the kind of machine in the line "# Machine:" of the suite, if there is one
machine() {
	local name=${1#vm-}
	sed -n 's/^# Machine: //p' "$TOP/tests/vm/${name%%[+@]*}.test.sh" 2>/dev/null || :
}

# by_time: sorts jobs, longest first, by their last duration in this checkout, or else by the
# duration in the table
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

# contained SECONDS COMMAND...: runs COMMAND in a PID namespace, so that all processes of a suite
# end with its first process, and the first process ends with this script. SECONDS=0: no limit.
contained() {
	timeout -s KILL "$1" unshare --pid --fork --kill-child --mount-proc "${@:2}" &
	trap 'pkill -KILL -P $!' EXIT
	trap 'exit 130' INT TERM HUP
	wait $! || :
	trap - EXIT
}

# seconds_left: prints the seconds until the limit of the run; 0 if there is no limit
seconds_left() {
	local left=$((limit - ($(date +%s) - STARTED)))
	[ "$limit" -ne 0 ] || left=0
	[ "$limit" -eq 0 ] || [ $left -gt 1 ] || left=1
	echo $left
}

# alone: takes a lock until exit, or fails if another run has it. Processes of a run have the lock,
# too, in case this script is killed and they are not.
alone() {
	mkdir -p "$BUILD"
	exec {LOCK_FD}>>"$BUILD/.check.lock"
	flock -n "$LOCK_FD" || fail "another test run uses this checkout (process" \
		"$(tail -n 1 "$BUILD/.check.lock")). Wait for its end, or use another clone:" \
		"git clone $TOP /ANOTHER/kwarp"
	echo "$$, $mode${SUITES:+ with SUITES=$SUITES}" >"$BUILD/.check.lock"
}

# keep: stores the durations of this run, and drops older durations of the same jobs
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

# first_case LOG: prints the name of the first failed case
first_case() {
	grep -aE '^not ok|^\[  FAILED  \] .* ms\)' "$1" | head -n 1 | cut -c1-100
}

# second_tries: runs the suites again whose failure may be due to chance. A try that passes replaces
# the first one in the tally.
second_tries() {
	local job again load try seed failed left
	left=$(awk '$4 > 0 && $8 != "no"' "$TALLY" | wc -l)
	[ "$tries" -gt 1 ] && [ "$left" -gt 0 ] || return 0
	[ "$left" -le $most_flaky ] || {
		crowd="$left suites, more than $most_flaky, failed as if by chance: either the"
		crowd+=" machine or the change is at fault; no second tries; load average"
		crowd+=" $(awk '$4 > 0 { print $9 }' "$TALLY" | sort -n | tail -n 1)"
		return 0
	}
	while read -r job again load; do
		seed=${again#yes}
		for try in $(seq 2 "$tries"); do
			mv "$LOGS/check-$job.log" "$LOGS/check-$job.try$((try - 1)).log"
			: >"$TALLY.try"
			TRY=$try SEED=${seed#seed=} TALLY=$TALLY.try contained "$(seconds_left)" \
				"$TOP/tests/run-suite.sh" "$job"
			read -r _ _ _ failed _ _ _ again _ <"$TALLY.try" || failed=1 again=no
			[ "$failed" -gt 0 ] || {
				passed_later "$job" "$load"
				break
			}
			# The same seed has failed twice, so the failure is not due to chance.
			[ -z "$seed" ] || break
			[ "$again" != no ] || break
		done
	done < <(awk '$4 > 0 && $8 != "no" { print $1, $8, $9 }' "$TALLY")
}

# passed_later JOB LOAD: records the last try as the result of the job, and the job as flaky. LOAD
# is the load average at the end of the first try.
passed_later() {
	local job=$1 to case
	to=flaky/$job.$(date +%Y%m%d-%H%M%S)
	case=$(first_case "$LOGS/check-$job.try1.log")
	{
		grep -v "^$job " "$TALLY" || :
		cat "$TALLY.try"
	} >"$TALLY.new"
	mv "$TALLY.new" "$TALLY"
	mkdir -p "$BUILD/$to"
	cp -r "$LOGS/check-$job".try*.log "$LOGS/check-$job.log" "$BUILD/results/$job" "$BUILD/$to/"
	printf '%s\t%s\t%s\t%s\t%s\n' "$(date +%F)" "$COMMIT" "$job" "$case" "$2" \
		>>"$BUILD/flaky.tsv"
	echo "flaky: $job: $case (build/$to, load $2)" >>"$TALLY.flaky"
}

# failures: prints the command that repeats each failed suite; for the first four also the last
# lines of the suite's log and of the kernel's console
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

# passed VERDICT: writes the result of this run to build/check-passed
passed() {
	{
		echo "commit $COMMIT"
		echo "tree $CLEAN"
		echo "mode $mode"
		echo "verdict $1"
		cat "$TALLY.flaky"
	} >"$BUILD/check-passed"
	[ "$mode" != all ] || "$TOP/scripts/tested-on.sh" "$TALLY" >"$BUILD/tested-on.csv"
}

case $mode in
quick | check) limit=${CHECK_LIMIT:-5100} ;;
all) limit=${CHECK_LIMIT:-0} ;;
*) fail 'usage: run.sh [quick|check|all]' ;;
esac
tries=${TRIES:-3}
[ "$mode" != all ] || tries=1
case ${SUITES:-} in
list) listed all | cut -d' ' -f1; exit ;;
modes) modes; exit ;;
esac
need_root
alone
mkdir -p "$LOGS"
rm -rf "$TALLY" "$TALLY".*
mkdir "$TALLY.done"
touch "$TALLY" "$TALLY.steps" "$TALLY.flaky"
table=$(chosen | sort -u -k1,1 | by_time)
mapfile -t goals < <(cut -d' ' -f1 <<<"$table")
export JOBS=${#goals[@]}
whole=${SUITES:+no}
unset SUITES
COMMIT=$(git -C "$TOP" rev-parse HEAD 2>/dev/null) || COMMIT=unknown
CLEAN=dirty
git -C "$TOP" status --porcelain >"$TALLY.status" 2>/dev/null && [ -s "$TALLY.status" ] ||
	CLEAN=clean
KWARP_PATIENCE=${KWARP_PATIENCE:-$(measured_patience)}
[ "$KWARP_PATIENCE" -ge 100 ] 2>/dev/null || fail "KWARP_PATIENCE=$KWARP_PATIENCE: not 100 or more"
export KWARP_PATIENCE
case $mode in
quick) export CHANGED=1 KWARP_SHORT=1 ;;
check) export KWARP_SHORT=1 ;;
all)
	export FUZZ_SECONDS="${FUZZ_SECONDS:-600}" KWARP_THOROUGH=1
	export KWARP_FUZZ_SECONDS="${KWARP_FUZZ_SECONDS:-600}"
	;;
esac
count() { grep -c "$1" <<<"$table" || :; }
echo "$JOBS suites: $(count '^[^@]* ') on this machine, $(count @debug) in guests with the" \
	"debug kernel, $(count @stock) with the stock kernel, $(count @rt) with PREEMPT_RT," \
	"$(count '@arm64\|@s390x') of other machines$(last_time "$JOBS"); limits are" \
	"$KWARP_PATIENCE %"

# Make is called in two rounds. The first round runs the builds, and suites of this machine while a
# processor is free. The second round runs the suites of guests, whose prerequisites are ready by
# then, because make starts goals in the given order only if no goal has to wait for prerequisites.
# Suites of this machine that work in the folders of the stage run beside the second round, one
# after the other.
first=() second=() beside=()
for job in "${goals[@]}"; do
	case $(machine "$job") in
	programs) first+=(programs) ;;
	systemd) first+=(debs) ;;
	esac
	case $job in
	vm-blktests-nvme@debug | vm-interop-siw*@debug | vm-iser*@debug | vm-nfs*@debug | \
		vm-private-data*@debug | vm-rnbd@debug | vm-smbdirect*@debug)
		second+=("$job") first+=(stage modules-all)
		;;
	vm-kselftest@stock) second+=("$job") first+=(stage kselftest) ;;
	vm-kselftest@debug) second+=("$job") first+=(stage module-debug kselftest) ;;
	*@debug) second+=("$job") first+=(stage module-debug) ;;
	*@stock) second+=("$job") first+=(stage) ;;
	*@rt) second+=("$job") first+=(stage-rt) ;;
	*@arm64 | *@s390x) second+=("$job") first+=(stage-foreign) ;;
	fuzz) beside+=("$job") ;;
	build | sparse | provider | kwarpctl | peer | cost | demo)
		beside+=("$job") first+=(stage)
		;;
	*) first+=("$job") ;;
	esac
done
# shellcheck disable=SC2016 # expanded inside
contained "$limit" sh -c '
	make="make -C $1 -f jobs.mk -k -s"
	$make -j$2 $3
	[ -z "$5" ] || $make -j1 $5 &
	[ -z "$4" ] || $make -j$2 $4
	wait' sh "$TOP/tests" "${JOBS_AT_ONCE:-$(($(nproc) + 1))}" \
	"${first[*]:-host}" "${second[*]}" "${beside[*]}" 2>"$LOGS/check-make.log"
set +e # print the whole report even if a command of it fails

for job in "${goals[@]}"; do
	grep -q "^$job " "$TALLY" || {
		echo "not ok 1 - a prerequisite failed, or no time was left: $LOGS/check-make.log" \
			>"$LOGS/check-$job.log"
		echo "$job 0 0 1 0 0 0 no 0" >>"$TALLY"
	}
done
second_tries
keep
slowest
failures
awk '$6 > 0 { printf "retried: %d in %s\n", $6, $1 }' "$TALLY"
cat "$TALLY.flaky"
[ -z "${crowd:-}" ] || echo "FAILED: $crowd"
verdict=$(awk '{ p += $3; f += $4; s += $5 }
	END {
		printf "%d passed, %d failed%s\n", p, f, s ? ", " s " skipped" : ""
		exit f > 0 || p + s == 0
	}' "$TALLY")
status=$?
[ "$mode" = quick ] || [ -n "$whole" ] || passed "$verdict"
echo "$verdict"
exit $status
