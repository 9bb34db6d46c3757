#!/bin/bash
# ring-fuzz (tests/verbs/local_fuzz): a program writes arbitrary values into the memory that it
# shares with the module, from one or several threads, while its queues are posted to, resized,
# flushed, reset and destroyed. The connection of another process must continue meanwhile, no call
# may take long, and no object may be left. Runs for KWARP_FUZZ_SECONDS (default: 60); the first
# seed is KWARP_FUZZ_SEED (default: random). KWARP_FUZZ_ROUNDS limits the number of rounds: to
# repeat a failed round, set its seed and 1.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/local-fuzz.sh"

local_fuzz ring_fuzz 60
done_testing
