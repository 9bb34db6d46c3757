#!/bin/bash
# blktests-nvme: the group nvme of blktests with the transport rdma, over a device of kwarp (or of
# DRIVER=siw). blktests.expected has the result of each test. The debug kernel runs the whole group;
# the stock kernel takes ten times as long and runs only the tests that the debug kernel lacks
# features for.
# Machine: programs
# Timeout: 2400
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/blktests.sh"

export NVMET_TRTYPES=rdma NVME_IMG_SIZE=4M NVME_NUM_ITER=3 TIMEOUT=10

blktests_up
if [ "$(this_kernel)" = stock ]; then
	must modules_near
	export NVME_IMG_SIZE=352M
	# shellcheck disable=SC2046 # names of tests
	[ $# -gt 0 ] || set -- $(expected nvme | grep -oE '^nvme/[0-9]+' | uniq)
fi
must modprobe loop
blktests nvme "$@"
done_testing
