#!/bin/bash
# run.sh: every suite, in order, its output in build/log/check-NAME.log; the last line sums the cases.
# SUITES="unit vm-rping" runs those named; SUITES=list names them all.
# GUEST=uml: the VM's suites, and no other, in the debug kernel of scripts/uml.sh instead of QEMU.
#
# A suite is a program that prints TAP or GoogleTest lines: those in run.d run here, tests/vm/NAME.test.sh
# (suite vm-NAME) in the VM. One that fails without a failed case, or has no case at all, counts as
# a failed case.
. "$(dirname "$0")/../scripts/lib.sh"

# the long ones first
host_suites='build unit dkms sparse checkpatch kwarpctl peer bench shellcheck provider requirements fuzz'
vm_suites=$(cd "$TOP/tests/vm" && find . -name '*.test.sh' -perm -u+x | sed 's|^\./||; s|\.test\.sh$||; s|^|vm-|' | LC_ALL=C sort)

if [ "${SUITES:-}" = list ]; then
	# shellcheck disable=SC2086 # lists of words
	printf '%s\n' $host_suites $vm_suites
	exit 0
fi
need_root
guest=${GUEST:-qemu}
case $guest in
qemu) chosen=${SUITES:-$host_suites $vm_suites} boot_with=scripts/vm.sh ;;
uml) chosen=${SUITES:-$vm_suites} boot_with='scripts/uml.sh run' ;;
*) fail "GUEST is qemu or uml, not '$guest'" ;;
esac
unset SUITES
passed=0 failed=0 skipped=0
results=$BUILD/results/check-$$
# seconds: a run that takes longer than this ends, and what it has not run has failed; CI would only cut it off
deadline=${CHECK_LIMIT:-5100}

# total WORD LOG: the sum of GoogleTest's closing lines "[  WORD  ] N tests"; one for each program.
total() {
	sed -nE "s/^\[ +$1 +\] ([0-9]+) tests?[.,].*/\1/p" "$2" | awk '{ n += $1 } END { print n + 0 }'
}

# lines REGEX LOG
lines() {
	grep -acE "$1" "$2"
}

# count LOG STATUS NAME: add a suite's cases to the sums.
count() {
	local log=$1 status=$2 p f s
	s=$(($(lines '^ok [0-9]+.*# SKIP' "$log") + $(total SKIPPED "$log")))
	p=$(($(lines '^ok [0-9]+' "$log") - $(lines '^ok [0-9]+.*# SKIP' "$log") + $(total PASSED "$log")))
	f=$(($(lines '^not ok [0-9]+' "$log") + $(total FAILED "$log")))
	if [ "$f" -eq 0 ] && [ "$status" -ne 0 ]; then
		f=1
		echo "    $3 ended with status $status: $log" >&2
		tail -n 15 "$log" | sed 's/^/    /' >&2
	elif [ $((p + f + s)) -eq 0 ]; then
		f=1
		echo "    $3 ran no test: $log" >&2
	fi
	grep -aE -A 6 '^not ok|^\[  FAILED  \] .* ms\)' "$log" | head -n 60 | sed 's/^/    /' >&2
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	printf '[%4ds] %-24s %4d passed, %d failed%s\n' "$SECONDS" "$3" "$p" "$f" "$([ "$s" -eq 0 ] || echo ", $s skipped")" >&2
	# figures that a suite wants to be seen
	sed -nE 's/^# summary: /        /p' "$log" >&2
}

declare -A host_running=() # suites, by process

# host_wait: counts the next one that ends
host_wait() {
	local pid status=0 name
	wait -n -p pid || status=$?
	name=${host_running[$pid]}
	unset "host_running[$pid]"
	count "$BUILD/log/check-$name.log" $status "$name"
}

# on_host NAME...: as many at a time as there are processors
on_host() {
	local name
	for name; do
		[ ${#host_running[@]} -lt "$(nproc)" ] || host_wait
		"$TOP/tests/run.d/$name" >"$BUILD/log/check-$name.log" 2>&1 &
		host_running[$!]=$name
	done
	while [ ${#host_running[@]} -gt 0 ]; do
		host_wait
	done
}

# The guests (the VM, or user-mode Linux): two side by side, since suites wait more than they work. Each asks
# for a suite when it has nothing to do (DIR/ask), is given a name, or none at the end (DIR/next), and leaves
# NAME.tap and then NAME.status. One that takes its guest down fails; the others go on in a new one. A guest that
# asks with a suite in hand was booted again, since its emulator failed: it gets the same one.
declare -A guest_pid=() guest_dir guest_suite guest_until guest_asked
boots=0

guests_gone() {
	local lane
	for lane in "${!guest_pid[@]}"; do
		kill -KILL -- "-${guest_pid[$lane]}"
	done
}
trap guests_gone EXIT
trap 'exit 130' INT TERM

# guest_start LANE
guest_start() {
	[ $SECONDS -lt "$deadline" ] || return
	boots=$((boots + 1))
	guest_dir[$1]=$results-$boots
	guest_suite[$1]=''
	guest_asked[$1]=''
	guest_until[$1]=$deadline
	# shellcheck disable=SC2086 # a command in words
	V=0 setsid "$TOP"/$boot_with -t $((deadline - SECONDS)) -o "${guest_dir[$1]}" \
		tests/run-guest.sh - >"${guest_dir[$1]}.log" 2>&1 &
	guest_pid[$1]=$!
}

# guest_ended LANE STATUS: the suite it was given is over, or the guest is
guest_ended() {
	local dir=${guest_dir[$1]} name=${guest_suite[$1]}
	local log=$BUILD/log/check-$name.log
	cp "$dir/${name#vm-}.tap" "$log" 2>/dev/null || : >"$log"
	[ "$2" -ne 125 ] || {
		echo "the guest ended during this suite"
		tail -n 40 "$dir/console.log"
	} >>"$log"
	count "$log" "$2" "$name"
	guest_suite[$1]=''
	guest_until[$1]=$((SECONDS + 90))
}

# guest_step LANE: what there is to do for it
guest_step() {
	local dir=${guest_dir[$1]} name=${guest_suite[$1]} asks='' status
	# looked for before the status: one that was asked behind a suite's end has its status
	[ ! -f "$dir/ask" ] || asks=1
	if [ -n "$name" ] && [ -s "$dir/${name#vm-}.status" ]; then
		guest_ended "$1" "$(cat "$dir/${name#vm-}.status")"
	elif ! kill -0 "${guest_pid[$1]}" 2>/dev/null; then
		wait "${guest_pid[$1]}"
		status=$?
		unset "guest_pid[$1]"
		[ ! -f "$dir/leaks" ] || {
			leaks "$dir"
			count "$BUILD/log/check-vm-leaks.log" 0 vm-leaks
		}
		if [ -n "$name" ]; then
			guest_ended "$1" 125
		elif [ $status -eq 125 ] && [ $failed -eq 0 ]; then
			# it never came up, or complained when all suites were over
			count "$dir.log" 125 vm-guest
		fi
		# one that does not even ask is not tried again
		[ ${#queue[@]} -eq 0 ] || [ -z "${guest_asked[$1]}" ] || guest_start "$1"
	elif [ $SECONDS -ge "${guest_until[$1]}" ]; then
		kill -KILL -- "-${guest_pid[$1]}"
	elif [ -n "$asks" ]; then
		rm "$dir/ask"
		guest_asked[$1]=1
		if [ -z "$name" ]; then
			name=${queue[0]:-}
			queue=("${queue[@]:1}")
		fi
		guest_suite[$1]=$name
		# the guest ends a suite at its limit, and itself when there is none; a kernel that hangs does not
		guest_until[$1]=$((SECONDS + 90))
		[ -z "$name" ] || guest_until[$1]=$((guest_until[$1] + $(suite_limit "${name#vm-}")))
		echo "${name#vm-}" >"$dir/answer"
		mv "$dir/answer" "$dir/next"
	fi
}

# in_guests SUITE...
in_guests() {
	local queue=("$@") lane name
	guest_start a
	[ $# -lt 2 ] || guest_start b
	while [ ${#guest_pid[@]} -gt 0 ]; do
		sleep 0.5
		for lane in "${!guest_pid[@]}"; do
			guest_step "$lane"
		done
	done
	for name in "${queue[@]}"; do
		echo 'not ok 1 - no guest, or no time, was left for this suite' >"$BUILD/log/check-$name.log"
		count "$BUILD/log/check-$name.log" 1 "$name"
	done
}

# leaks RESULTS: what kmemleak found when all was over, as a case
leaks() {
	if [ -s "$1/leaks" ]; then
		echo 'not ok 1 - no memory of the module is left that nothing points to'
		sed 's/^/#   /' "$1/leaks"
	else
		echo 'ok 1 - no memory of the module is left that nothing points to'
	fi >"$BUILD/log/check-vm-leaks.log"
}

mkdir -p "$BUILD/log" "$BUILD/results"
"$TOP/scripts/setup"
"$TOP/scripts/tree.sh"
step 'suites'
set +e

in_vm='' first='' middle='' last=''
for suite in $chosen; do
	case $suite in
	vm-*)
		[ -x "$TOP/tests/vm/${suite#vm-}.test.sh" ] || fail "no suite '$suite'"
		in_vm="$in_vm $suite"
		continue
		;;
	esac
	[ -x "$TOP/tests/run.d/$suite" ] || fail "no suite '$suite'"
	case $suite in
	build) first=$suite ;; # the others use what it makes
	fuzz) last=$suite ;; # has every processor busy
	*) middle="$middle $suite" ;;
	esac
done
for suites in "$first" "$middle" "$last"; do
	# shellcheck disable=SC2086 # a list of words
	on_host $suites
done

if [ -n "$in_vm" ]; then
	step 'suites in the VM'
	log=$BUILD/log/check-stage.log
	if { [ "$guest" = qemu ] || "$TOP/scripts/uml.sh" build >"$log" 2>&1; } && "$TOP/scripts/stage.sh" >>"$log" 2>&1; then
		# shellcheck disable=SC2086 # a list of words
		in_guests $in_vm
	else
		count "$log" 1 vm-stage
	fi
fi

[ $failed -gt 0 ] || rm -rf "$results"-*
[ $skipped -eq 0 ] || tail=", $skipped skipped"
echo "$passed passed, $failed failed${tail:-}"
[ $failed -eq 0 ] && [ $((passed + skipped)) -gt 0 ]
