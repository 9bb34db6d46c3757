#!/bin/bash
# run.sh: every suite, in order, its output in build/log/check-NAME.log; the last line sums the cases.
# SUITES="unit vm-rping" runs those named; SUITES=list names them all.
# GUEST=uml: the VM's suites, and no other, in the debug kernel of scripts/uml.sh instead of QEMU.
#
# A suite is a program that prints TAP or GoogleTest lines: those in run.d run here, tests/vm/NAME.test.sh
# (suite vm-NAME) in the VM. One that fails without a failed case, or has no case at all, counts as
# a failed case.
. "$(dirname "$0")/../scripts/lib.sh"

host_suites='build sparse checkpatch shellcheck unit fuzz bench peer provider kwarpctl dkms requirements'
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

# vm_boot RESULTS SUITE...: one boot, suites in turn
vm_boot() {
	local dir=$1 status=0
	shift
	# shellcheck disable=SC2086 # a command in words
	V=0 "$TOP"/$boot_with -t 3000 -o "$dir" tests/run-guest.sh "${@#vm-}" >"$dir.log" 2>&1 || status=$?
	echo "$status" >"$dir.rc"
}

# vm_count RESULTS SUITE...: counts those that ran, adds the others to $left.
vm_count() {
	local dir=$1 name status mine='' none=1
	status=$(cat "$dir.rc")
	shift
	for name; do
		name=${name#vm-}
		if [ ! -f "$dir/$name.tap" ]; then
			mine="$mine vm-$name"
			continue
		fi
		none=
		cp "$dir/$name.tap" "$BUILD/log/check-vm-$name.log"
		[ -f "$dir/$name.status" ] || {
			echo "the VM ended during this suite (status $status)"
			tail -n 40 "$dir/console.log"
		} >>"$BUILD/log/check-vm-$name.log"
		count "$BUILD/log/check-vm-$name.log" "$(cat "$dir/$name.status" 2>/dev/null || echo 125)" "vm-$name"
	done
	[ ! -f "$dir/leaks" ] || {
		leaks "$dir"
		count "$BUILD/log/check-vm-leaks.log" 0 vm-leaks
	}
	# a VM that runs no suite at all is not tried again
	if [ -n "$none" ]; then
		cp "$dir.log" "$BUILD/log/check-vm-boot.log"
		count "$BUILD/log/check-vm-boot.log" 125 vm-boot
	else
		left="$left$mine"
	fi
}

# vm_suites SUITE...: in two VMs side by side, since suites wait more than they work. One that takes
# its VM down fails; the others go on in a new one.
vm_suites() {
	local left="$*" name a b
	while [ -n "$left" ]; do
		a='' b=''
		for name in $left; do
			if [ ${#a} -le ${#b} ]; then a="$a $name"; else b="$b $name"; fi
		done
		# shellcheck disable=SC2086 # lists of words
		{
			vm_boot "$results-a" $a &
			[ -z "$b" ] || vm_boot "$results-b" $b &
			wait
			left=
			vm_count "$results-a" $a
			[ -z "$b" ] || vm_count "$results-b" $b
		}
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

in_vm=
for suite in $chosen; do
	case $suite in
	vm-*)
		[ -x "$TOP/tests/vm/${suite#vm-}.test.sh" ] || fail "no suite '$suite'"
		in_vm="$in_vm $suite"
		;;
	*)
		[ -x "$TOP/tests/run.d/$suite" ] || fail "no suite '$suite'"
		log=$BUILD/log/check-$suite.log
		"$TOP/tests/run.d/$suite" >"$log" 2>&1
		count "$log" $? "$suite"
		;;
	esac
done

if [ -n "$in_vm" ]; then
	step 'suites in the VM'
	log=$BUILD/log/check-stage.log
	if { [ "$guest" = qemu ] || "$TOP/scripts/uml.sh" build >"$log" 2>&1; } && "$TOP/scripts/stage.sh" >>"$log" 2>&1; then
		# shellcheck disable=SC2086 # a list of words
		vm_suites $in_vm
	else
		count "$log" 1 vm-stage
	fi
fi

[ $failed -gt 0 ] || rm -rf "$results"-[ab]*
[ $skipped -eq 0 ] || tail=", $skipped skipped"
echo "$passed passed, $failed failed${tail:-}"
[ $failed -eq 0 ]
