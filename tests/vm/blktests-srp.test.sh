#!/bin/bash
# blktests-srp: the group srp of blktests, SCSI over RDMA with multipath on top, over a device of
# kwarp (or of DRIVER=siw). blktests.expected has the result of each test.
# Machine: programs
# Timeout: 2400
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/blktests.sh"

export TIMEOUT=15

blktests_up
must modules_near
must /usr/lib/systemd/systemd-udevd --daemon
blktests srp "$@"
done_testing
