#!/bin/bash
# cm: the program "cm" of tests/verbs: how connections begin and end under each policy.
. "$(dirname "$0")/lib.sh"

hosts_up
# Resolve the neighbours first: waiting for address resolution is not under test.
on_a ping -qc 1 $IP_B >"$WORK/ping"
on_a ping -qc 1 $IP6_B >"$WORK/ping"
# Over SCTP, leave out the cases about the side that may not send first, about revision 0 and the
# Rtr frame, which only MPA has, and those that use a plain TCP listener, end a TCP socket with
# "ss -K", which has no effect on sockets of SCTP, or fill a send buffer, which SCTP has too large.
mpa='peer_to_peer.off__*:peer_to_peer.on__no_kind_in_common:peer_to_peer.on__reset*'
mpa+=':revision.server_first__*:revision.*rdmac*:connect_fails.refused__other_end_closes'
mpa+=':connect_fails.refused__*_behind_the_request:connect_port.*__taken_by_another'
mpa+=':connect_fails.timeout__nobody_answers:disconnect_hard.reset__by_the_network'
mpa+=':connect_local.establish__listener_was_ended:disconnect_cut.*full_buffer*'
[ "${LLP:-tcp}" != sctp ] || set -- --gtest_filter="-$mpa" "$@"
timeout -k 5 "$(patience 1100)" "$(dirname "$0")/../../build/verbs/cm" "$@"
