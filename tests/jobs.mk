# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# What each suite needs before it can run. tests/run.sh calls this with -k and with the jobs as goals, the longest
# first; twice, and steps that were done are not done again: nothing needs them any more, since make comes back to
# goals that had to wait, be it for nothing, when it has been through all others.
#
# Building gives way to suites that run (nice), and fuzzing, which has no end of its own, to both.
scripts := $(CURDIR)/../scripts
step = @$(CURDIR)/step.sh $@
suite = @$(CURDIR)/run-suite.sh $@
unless-done = $(if $(wildcard $(TALLY).done/$1),,$1)

# ---- what is built ----

packages:
	$(step) $(scripts)/tree/setup
tree: packages
	$(step) $(scripts)/tree/tree.sh
# 6.12 as Debian has it: module, provider, tools and the suites' programs, laid out for the guests
stage: tree
	$(step) nice -n 5 $(scripts)/build/stage.sh
kernel-debug: tree
	$(step) nice -n 5 $(scripts)/guest/uml.sh kernel
module-debug: kernel-debug stage
	$(step) nice -n 5 $(scripts)/guest/uml.sh module

# ---- suites of this machine ----

shellcheck requirements: packages
	$(suite)
fuzz: packages
	@nice -n 19 $(CURDIR)/run-suite.sh $@
unit bench checkpatch dkms: tree
	$(suite)
# they work on what the stage makes, in the same folders
build sparse provider kwarpctl peer: stage
	$(suite)

# ---- suites of a guest ----

%@stock: $(call unless-done,stage)
	$(suite)
%@debug: $(call unless-done,module-debug)
	$(suite)

.PHONY: packages tree stage kernel-debug module-debug \
	shellcheck requirements fuzz unit kwarpctl peer bench checkpatch dkms build sparse provider
