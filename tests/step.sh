#!/bin/bash
# step.sh NAME COMMAND...: runs a prerequisite of suites for tests/jobs.mk and reports how long it
# took. Its output is in build/log/check-NAME.log; the end of it is printed if it fails.
. "$(dirname "$0")/../scripts/lib.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL # of the make that called us
name=$1
shift
# only once per run
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
