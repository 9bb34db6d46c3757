#!/bin/bash
# ring-fuzz: a program that writes anything into the memory that it shares with the module, from one
# or several threads, while its queues are posted to, resized, flushed, reset and destroyed;
# tests/verbs/local_fuzz. The connection of another process continues meanwhile, no call takes long,
# and nothing is left. Runs for KWARP_FUZZ_SECONDS (60), starting with KWARP_FUZZ_SEED (random).
# KWARP_FUZZ_ROUNDS limits the number of rounds: to repeat a failed one, set its seed and 1.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/local-fuzz.sh"

local_fuzz ring_fuzz 60
done_testing
