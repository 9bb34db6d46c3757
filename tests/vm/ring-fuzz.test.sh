#!/bin/bash
# ring-fuzz: a program that writes whatever it likes into the memory that it shares with the module, from one thread or
# several, while its queues are posted to, resized, flushed, reset and destroyed; tests/verbs/local_fuzz. Another
# process's connection goes on meanwhile, no call takes long, nothing is left. For KWARP_FUZZ_SECONDS (60), from
# KWARP_FUZZ_SEED (random) on; KWARP_FUZZ_ROUNDS limits their number: a round that fails is repeated with its seed and 1.
# Timeout: 1200
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/local-fuzz.sh"

local_fuzz ring_fuzz
done_testing
