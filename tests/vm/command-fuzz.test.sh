#!/bin/bash
# command-fuzz: a program that gives the device commands with every field and every length at its
# limits, by write() and by ioctl(), and maps anything, from one or several threads;
# tests/verbs/local_fuzz. As in ring-fuzz, the connection of another process continues meanwhile, no
# call takes long, and nothing is left. The same variables set the duration and the first seed.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/local-fuzz.sh"

# gives modify_qp states to move to
local_fuzz command_fuzz 60 rendezvous on
done_testing
