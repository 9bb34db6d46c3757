# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# shellcheck shell=sh
# KTAP functions for the scripts in this folder. A script declares its number of cases by plan N.

KSFT_FAIL=1
KSFT_SKIP=4
case_number=0
failed=0

plan() {
	echo 'TAP version 13'
	echo "1..$1"
}

# needs COMMAND...: skips the script without these commands, without root, or without the module
needs() {
	[ "$(id -u)" -eq 0 ] || skip_all 'it needs root'
	for command; do
		command -v "$command" >/dev/null || skip_all "there is no $command"
	done
	[ -d /sys/module/kwarp ] || modprobe -q kwarp || skip_all 'there is no module kwarp'
}

skip_all() {
	echo 'TAP version 13'
	echo "1..0 # SKIP $1"
	exit $KSFT_SKIP
}

result() {
	case_number=$((case_number + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $case_number $2"
	else
		echo "not ok $case_number $2"
		failed=1
	fi
}

# ok NAME COMMAND...: passes if COMMAND succeeds
ok() {
	name=$1
	shift
	output=$("$@" 2>&1)
	status=$?
	[ $status -eq 0 ] || echo "$output" | sed 's/^/# /'
	result $status "$name"
}

# fails NAME TEXT COMMAND...: passes if COMMAND fails with a message that contains TEXT
fails() {
	name=$1 text=$2
	shift 2
	output=$("$@" 2>&1)
	status=$?
	case $output in
	*"$text"*) [ $status -ne 0 ] ;;
	*) false ;;
	esac
	status=$?
	[ $status -eq 0 ] || echo "$output" | sed 's/^/# /'
	result $status "$name"
}

skip() {
	case_number=$((case_number + 1))
	echo "ok $case_number $1 # SKIP $2"
}

finish() {
	[ $failed -eq 0 ] || exit $KSFT_FAIL
	exit 0
}
