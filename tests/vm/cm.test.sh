#!/bin/bash
# cm: the part "cm" of tests/verbs: how connections begin and end under each policy.
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
on_a ping -qc 1 $IP6_B >"$WORK/ping"
# Over SCTP either side may send first, and there are no revision 0 and no Rtr frame. Some of the
# others have a listener of TCP on the other side, one has "ss -K" reset a connection of TCP.
mpa='peer_to_peer.off__*:peer_to_peer.on__no_kind_in_common:revision.server_first__*'
mpa+=':revision.*rdmac*:connect_fails.refused__other_end_closes'
mpa+=':connect_fails.refused__*_behind_the_request:connect_port.*__taken_by_another'
mpa+=':connect_fails.timeout__nobody_answers:disconnect_hard.reset__by_the_network'
[ "${LLP:-tcp}" != sctp ] || set -- --gtest_filter="-$mpa" "$@"
timeout -k 5 "$(patience 1100)" "$(dirname "$0")/../../build/verbs/cm" "$@"
