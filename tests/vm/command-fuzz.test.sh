#!/bin/bash
# command-fuzz: a program that gives the device commands with every field and every length at its limits, by write() and
# by ioctl(), maps what it likes, from one thread or several; tests/verbs/local_fuzz. As for ring-fuzz, another process's
# connection goes on meanwhile, no call takes long, nothing is left; the same variables say how long, and from where on.
# Timeout: 1200
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/local-fuzz.sh"

# so that modify_qp has somewhere to go
local_fuzz command_fuzz rendezvous on
done_testing
