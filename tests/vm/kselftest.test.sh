#!/bin/bash
# kselftest: runs tests/kselftest with the kernel's own runner (scripts/build/kselftest.sh) and
# prints the runner's KTAP. The cases of each test are comments in KTAP, so this suite counts them.
# Timeout: 400
. "$(dirname "$0")/lib.sh"

drivers_load
# The runner writes to the folder of the tests.
cp -r "$(dirname "$0")/../../build/kselftest" "$WORK/kselftest"
cd "$WORK/kselftest" || bail 'no build/kselftest: scripts/build/kselftest.sh'
# The runner opens /dev/stdout a second time. In a file, both outputs would overwrite each other.
timeout "$(patience 300)" ./run_kselftest.sh -c drivers/infiniband/kwarp 2>&1 | cat >"$WORK/ktap"
sed 's/^/# /' "$WORK/ktap"

# passed NAME: true if that test of the collection has run and passed
passed() { grep -qE "^ok [0-9]+ selftests: drivers/infiniband/kwarp: $1\$" "$WORK/ktap"; }
for name in link.sh rping.sh policy; do
	ok "$name" passed $name
done
is 'no case fails' "$(grep -c '^# not ok' "$WORK/ktap")" 0
is 'no case is skipped' "$(grep -ciE '^# ok .*# SKIP' "$WORK/ktap")" 0
is 'all cases have run' "$(grep -cE '^# ok ' "$WORK/ktap")" 22
done_testing
