#!/bin/bash
# command-fuzz (tests/verbs/local_fuzz): a program gives the device commands by write() and ioctl(),
# with every field and every length at its limits, and maps arbitrary offsets, from one or several
# threads. As in ring-fuzz, the connection of another process must continue meanwhile, no call may
# take long, and no object may be left. The same variables set the duration and the first seed.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/local-fuzz.sh"

# With the policy on, modify_qp can bring queue pairs to all states.
local_fuzz command_fuzz 60 rendezvous on
done_testing
