#!/bin/bash
# demo.sh: goes from a bare Debian machine to rping and perftest over kwarp. DRIVER=siw shows
# Linux's own driver instead, for comparison.
. "$(dirname "$0")/lib.sh"
export DRIVER=${DRIVER:-kwarp}
STEP='set-up'
trap 'rc=$?; [ $rc -eq 0 ] || echo "make demo: failed at \"$STEP\" after $SECONDS s" >&2' EXIT

step 'host packages, Debian 13 tree, module, provider (minutes the first time, seconds later)'
"$TOP/scripts/tree/setup"
need_root
"$TOP/scripts/tree/tree.sh"
STEP='build'
NO_TESTS=1 "$TOP/scripts/build/stage.sh"
step 'boot: Debian 13, stock kernel, in QEMU'
"$TOP/scripts/guest/vm.sh" -t 480 -o "$BUILD/results/demo" scripts/guest/demo-guest.sh
step 'done'
