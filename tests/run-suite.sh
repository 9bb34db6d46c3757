#!/bin/bash
# run-suite.sh JOB: runs one suite, counts its cases and reports them in one line.
#
# JOB is the name of a suite of this machine (tests/run.d/NAME), or vm-NAME@KERNEL:
# tests/vm/NAME.test.sh in its own guest, booted with KERNEL: stock or rt (QEMU), arm64 or s390x
# (QEMU, another machine), or debug (user-mode Linux). vm-NAME+sctp@KERNEL is the same suite over
# SCTP (LLP=sctp). A suite prints TAP or GoogleTest lines. A suite that exits with an error but has
# no failed case, and a suite without any case, count as one failed case.
#
# The prerequisites of the suite must have been built (tests/jobs.mk lists them). The output of the
# suite is in $LOGS/check-JOB.log (default: build/log), that of the kernel in build/results/JOB. If
# $TALLY is set, the line "JOB SECONDS PASSED FAILED SKIPPED RETRIES PROCESSOR AGAIN LOAD" is
# appended to that file: PROCESSOR is the processor time in seconds, AGAIN the output of again(),
# LOAD the load average at the end. JOBS is the number of suites in this run, STARTED the time of
# its start in seconds. TRY=2 or 3 is a second or third try, which with SEED=N repeats the one round
# that a fuzzer drew from that seed. The exit status is always 0; the results are in the tally.
. "$(dirname "$0")/../scripts/lib.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL # of the make that called us
set +e # failures are counted in the tally

job=$1
suite=${job%@*}
kernel=${job#"$suite"}
results=$BUILD/results/$job${SLOT:+.$SLOT}${TRY:+.try$TRY}
log=${LOGS:-$BUILD/log}/check-$job.log
mkdir -p "$(dirname "$log")" "$results"

[ -z "${SEED:-}" ] ||
	export KWARP_FUZZ_SEED=$SEED KWARP_FUZZ_ROUNDS=1 KWARP_FUZZ_SESSIONS=1

# Split "vm-NAME+sctp": $name is NAME, $llp the lower layer with its plus sign, or empty.
name=${suite#vm-}
llp=${name#"${name%+*}"}
name=${name%"$llp"}

# says TEXT: true if the suite has the line "# TEXT"
says() {
	grep -q "^# $1" "$TOP/tests/vm/$name.test.sh"
}

# in_guest COMMAND...: boots a guest for the suite, with a time limit above that of the suite. These
# lines of a suite change the guest: "# Clock: instructions": the clock of QEMU counts instructions,
# and KWARP_CLOCK tells the suite; "# Machine: systemd": the guest has a disk and can be restarted;
# "# Machine: programs": more packages are installed in the guest.
in_guest() {
	local limit clock=
	limit=$(suite_limit "$name")
	[ "$kernel" != @stock ] || ! says 'Clock: instructions' || {
		clock=instructions
		export ICOUNT=on
	}
	! says 'Machine: systemd' || export DISK=1
	! says 'Machine: programs' || export COPY=$BUILD/copies/programs
	"$@" -t $((limit + 90)) -o "$results" env ${llp:+"LLP=${llp#+}"} \
		${clock:+"KWARP_CLOCK=$clock"} timeout -k 10 "$limit" "tests/vm/$name.test.sh"
}

# host_limit: prints the time limit of a suite of this machine in seconds, for hangs only: two hours
# or N seconds of a line "# Timeout: N", times KWARP_PATIENCE percent, and what fuzzing may take
host_limit() {
	local limit
	limit=$(sed -n 's/^# Timeout: \([0-9]*\).*/\1/p' "$TOP/tests/run.d/$suite" | head -n 1)
	echo $((${limit:-7200} * ${KWARP_PATIENCE:-100} / 100 + 12 * ${FUZZ_SECONDS:-0}))
}

# on_foreign ARCH: runs the suite in a guest of another machine, or skips the suite if the Debian
# mirror lacks packages for that machine
on_foreign() {
	local missing=$BUILD/copies/foreign/missing
	if [ -e "$missing" ]; then
		echo "ok 1 - a guest of $1 # SKIP $(cat "$missing")"
	else
		KERNEL=$1 in_guest "$TOP/scripts/guest/vm.sh"
	fi
}

# first_trace: prints the first complaint of the kernel, and the functions of its call trace on one
# line, because the runner shows only a few lines of a failed case
first_trace() {
	local first
	first=$(head -n 1 "$results/complaints")
	echo "$first"
	cat "$results/console.log" "$results/kernel.log" 2>/dev/null |
		grep -aF -A 60 -m 1 -- "$first" | grep -aoE '[A-Za-z_][A-Za-z0-9_.]*\+0x[0-9a-f]+' |
		uniq | head -n 24 | paste -sd' '
}

# searched: true unless a guest with the debug kernel has ended its suite without a search for leaks
searched() {
	[ "$kernel" != @debug ] || [ -n "${NO_LEAKS:-}" ] || [ -f "$results/leaks" ] ||
		[ ! -s "$results/status" ]
}

# judged STATUS: prints the cases about the kernel, which follow those of the suite
judged() {
	[ "$1" -ne 124 ] || echo "# time limit of $(suite_limit "$name") s reached"
	if [ -s "$results/complaints" ]; then
		echo 'not ok 9998 - the kernel log has no complaints'
		{
			first_trace
			sort -u "$results/complaints" | head -n 20
		} | sed 's/^/#   /'
	elif [ "$1" -eq 125 ]; then
		echo 'not ok 9998 - the guest ends by itself'
		tail -n 15 "$results/console.log" | sed 's/^/#   /'
	fi
	if ! searched; then
		echo 'not ok 9999 - kmemleak: the guest has searched for leaks'
		return
	fi
	[ -f "$results/leaks" ] || return
	if [ -s "$results/leaks" ]; then
		echo 'not ok 9999 - kmemleak: the module leaks no memory'
		sed 's/^/#   /' "$results/leaks" | head -n 40
	else
		echo 'ok 9999 - kmemleak: the module leaks no memory'
	fi
}

# again: prints whether the failed suite may be run again: "yes"; "seed=N" if a fuzzer failed in the
# round that it drew from seed N; "no" if the failure cannot be due to chance: a suite of this
# machine, wrong data, a leak, a complaint of the kernel other than a stall, or more than one round
# of a fuzzer.
again() {
	local seed
	if [ -z "$kernel" ] || [ -s "$results/leaks" ] || ! searched ||
		grep -aqF 'wrong data' "$log"; then
		echo no
	elif grep -aq 'Oops: int3' "$results/complaints" && [ ! -s "$results/status" ]; then
		echo yes # a fault of the emulator; see scripts/guest/vm.sh
	elif kernel_defects "$results/complaints" >/dev/null; then
		echo no
	else
		seed=$(sed -nE 's/^# seed: ([0-9]+).*/\1/p' "$log" | sort -u)
		case $seed in
		'') echo yes ;;
		*$'\n'*) echo no ;;
		*) echo "seed=$seed" ;;
		esac
	fi 2>/dev/null
}

# total WORD: prints the sum of GoogleTest's closing lines "[  WORD  ] N tests" of all programs
total() {
	sed -nE "s/^\[ +$1 +\] ([0-9]+) tests?[.,].*/\1/p" "$log" |
		awk '{ n += $1 } END { print n + 0 }'
}

lines() {
	grep -acE "$1" "$log"
}

began=$(date +%s)
case $kernel in
@stock) in_guest "$TOP/scripts/guest/vm.sh" ;;
@rt) KERNEL=rt in_guest "$TOP/scripts/guest/vm.sh" ;;
@arm64 | @s390x) on_foreign "${kernel#@}" ;;
@debug) in_guest "$TOP/scripts/guest/uml.sh" run ;;
*) timeout --foreground -k 10 "$(host_limit)" "$TOP/tests/run.d/$suite" ;;
esac >"$log" 2>&1 </dev/null
status=$?
[ -z "$kernel" ] || judged $status >>"$log"
seconds=$(($(date +%s) - began))
# The second line of "times" ("1m2.345s 0m6.789s") covers all children that have ended.
times >"$log.times"
processor=$(awk -F'[ms ]+' 'NR == 2 { printf "%d", 60 * ($1 + $3) + $2 + $4 }' "$log.times")
rm "$log.times"

own=$(($(lines '^(not )?ok [0-9]+') - $(lines '^(not )?ok 999[0-9] ') + $(total PASSED) +
	$(total FAILED) + $(total SKIPPED)))
skipped=$(($(lines '^ok [0-9]+.*# SKIP') + $(total SKIPPED)))
passed=$(($(lines '^ok [0-9]+') - $(lines '^ok [0-9]+.*# SKIP') + $(total PASSED)))
failed=$(($(lines '^not ok [0-9]+') + $(total FAILED)))
retries=$(lines '^# retry: ')
if [ $failed -eq 0 ] && [ $status -ne 0 ]; then
	failed=1
	echo "not ok 9997 - ends with status $status" >>"$log"
elif [ $own -eq 0 ] && [ $failed -eq 0 ]; then
	failed=1
	echo 'not ok 9997 - runs a test' >>"$log"
fi

[ -z "${TALLY:-}" ] ||
	echo "$job $seconds $passed $failed $skipped $retries $processor $(again)" \
		"$(cut -d' ' -f1 /proc/loadavg)" >>"$TALLY"
[ $failed -gt 0 ] || [ -z "$kernel" ] || [ -n "${KEEP:-}" ] || rm -rf "$results" "$results.lock"
place=try/${TRY:-}
[ -n "${TRY:-}" ] || place=$([ -z "${TALLY:-}" ] || wc -l <"$TALLY")/${JOBS:-}
printf '[%4ds] %7s  %-26s %4d passed, %d failed%s%s  (%d s)\n' \
	$(($(date +%s) - ${STARTED:-began})) "$place" "$job" $passed $failed \
	"$([ $skipped -eq 0 ] || echo ", $skipped skipped")" \
	"$([ "$retries" -eq 0 ] || echo ", $retries retried")" $seconds
# Show the lines that the suite marked for the summary.
sed -nE 's/^# summary: /        /p' "$log"
[ $failed -eq 0 ] || grep -aE -A 4 '^not ok|^\[  FAILED  \] .* ms\)' "$log" |
	head -n 20 | sed 's/^/        /'
exit 0
