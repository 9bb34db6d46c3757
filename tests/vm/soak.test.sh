#!/bin/bash
# soak: KWARP_SOAK (default: 10^6) messages of every operation, with early placement, over a network
# that loses and reorders packets. The contents of each message are compared. "make soak" and "make
# check-all" run this suite.
# Timeout: 7100
. "$(dirname "$0")/lib.sh"

messages=${KWARP_SOAK:-1000000}
hosts_up
on_a ping -qc 1 $IP_B >"$WORK/ping"
reordering
start=$SECONDS
SOAK_MESSAGES=$messages LIMIT=7000 ok "the contents of $messages messages" \
	"$(dirname "$0")/../../build/verbs/loss" \
	--gtest_filter=soak.every_operation --gtest_brief=1
grep -a '^# ' "$WORK/out"
echo "# $((SECONDS - start)) s"
done_testing
