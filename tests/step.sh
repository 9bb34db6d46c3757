#!/bin/bash
# step.sh NAME COMMAND...: runs COMMAND, which builds a prerequisite of suites (tests/jobs.mk), and
# reports its duration. The output is in build/log/check-NAME.log; its last lines are printed if
# COMMAND fails.
. "$(dirname "$0")/../scripts/lib.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL # of the make that called us
name=$1
shift
# run each step once per run of the suites
[ ! -e "$TALLY.done/$name" ] || exit 0
log=$BUILD/log/check-$name.log
mkdir -p "$BUILD/log"
began=$(date +%s)
rc=0
"$@" >"$log" 2>&1 </dev/null || rc=$?
now=$(date +%s)
echo "($name) $((now - began))" >>"$TALLY.steps"
if [ $rc -eq 0 ]; then
	touch "$TALLY.done/$name"
	[ $((now - began)) -lt 2 ] ||
		printf '[%4ds]         (%s: %d s)\n' $((now - STARTED)) "$name" $((now - began))
else
	printf '[%4ds]         (%s) failed:\n' $((now - STARTED)) "$name"
	tail -n 15 "$log" | sed 's/^/        /'
fi
exit $rc
