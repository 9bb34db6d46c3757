#!/bin/bash
# kselftest: tests/kselftest, by the kernel's own runner (scripts/build/kselftest.sh). Its KTAP is
# shown as it is; each test's own cases are comments there, and counted here.
# Timeout: 400
. "$(dirname "$0")/lib.sh"

drivers_load
# The runner writes beside what it runs.
cp -r "$(dirname "$0")/../../build/kselftest" "$WORK/kselftest"
cd "$WORK/kselftest" || bail 'it was not built'
# It opens /dev/stdout again. If that was a file, what is written there twice would overlap.
timeout "$(patience 300)" ./run_kselftest.sh -c drivers/infiniband/kwarp 2>&1 | cat >"$WORK/ktap"
sed 's/^/# /' "$WORK/ktap"

# tests NAME: that test of the collection is there and has passed
passed() { grep -qE "^ok [0-9]+ selftests: drivers/infiniband/kwarp: $1\$" "$WORK/ktap"; }
for name in link.sh rping.sh policy; do
	ok "$name" passed $name
done
is 'no case of them fails' "$(grep -c '^# not ok' "$WORK/ktap")" 0
is 'no case of them is skipped' "$(grep -ciE '^# ok .*# SKIP' "$WORK/ktap")" 0
is 'as many cases as they have' "$(grep -cE '^# ok ' "$WORK/ktap")" 22
done_testing
