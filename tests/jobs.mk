# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The prerequisites of each suite. tests/run.sh calls this makefile twice, with -k and with the jobs
# as goals, the longest first. In the second call, goals get no prerequisites that are already
# built: if a goal has any, make considers all other goals first, and the order is lost.
#
# Builds run at a lower priority (nice) than suites, and fuzzing, which can use any time that it is
# given, at a lower priority than builds.
scripts := $(CURDIR)/../scripts
step = @$(CURDIR)/step.sh $@
suite = @$(CURDIR)/run-suite.sh $@
# the suites with the line "# Machine: $1"
machine = $(patsubst %.test.sh,vm-%,$(notdir $(shell grep -l '^\# Machine: $1' vm/*.test.sh)))
unless-done = $(if $(wildcard $(TALLY).done/$1),,$1)

# ---- what is built ----

host:
	$(step) $(scripts)/tree/setup
# with the newest kernel with PREEMPT_RT, if a suite needs that: nothing is added to the tree once
# there are copies of it
tree: host
	$(step) $(scripts)/tree/tree.sh
	$(if $(filter stage-rt,$(MAKECMDGOALS)),@$(CURDIR)/step.sh tree-rt $(scripts)/tree/rt.sh)
# for Debian's kernel 6.12: module, provider, tools and the programs of the suites, in the folders
# that guests see
stage: tree
	$(step) nice -n 5 $(scripts)/build/stage.sh
# tests/kselftest with the kernel's own runner
kselftest: tree
	$(step) $(scripts)/build/kselftest.sh
# compilers for other machines
cross-tools: tree
	$(step) nice -n 5 $(scripts)/build/cross.sh
# as "stage", and root file systems, for guests of other machines
stage-foreign: stage cross-tools
	$(step) nice -n 5 $(scripts)/build/stage-foreign.sh
# the tools that build and check the patches of "make series"
series-tools: tree
	$(step) nice -n 5 $(scripts)/build/series.sh
# the driver and rdma-core built from those patches
series-guest: series-tools kernel-debug
	$(step) nice -n 5 $(scripts)/build/series-guest.sh
# packages for Debian
debs: stage
	$(step) nice -n 5 $(scripts)/build/debs.sh
stage-rt: stage
	$(step) nice -n 5 $(scripts)/build/stage-rt.sh
# a copy of the tree with more packages, and the programs of tests/programs, which use them
programs: tree
	$(step) nice -n 5 $(scripts)/build/programs.sh
# the tests of Linux's block layer
blktests: programs
	$(step) nice -n 5 $(scripts)/build/blktests.sh
kernel-debug: tree
	$(step) nice -n 5 $(scripts)/guest/uml.sh kernel
module-debug: kernel-debug
	$(step) nice -n 5 $(scripts)/guest/uml.sh module
# modules of the debug kernel that only suites of "make check-all" load
modules-all: module-debug
	$(step) nice -n 5 $(scripts)/guest/uml.sh modules-all

# ---- suites of this machine ----

shellcheck requirements rooms runner: host
	$(suite)
fuzz: host
	@nice -n 19 $(CURDIR)/run-suite.sh $@
unit bench checkpatch dkms docs format release install guide series-quick kwarp-vm-quick: tree
	$(suite)
# These work in the folders of the stage, on the files that it has built.
build sparse provider kwarpctl peer cost demo: stage
	$(suite)
packages kwarp-vm: debs
	$(suite)
cross cross-32: cross-tools
	$(suite)
endian: stage-foreign
	$(suite)
series: series-tools
	$(suite)

# ---- suites of a guest ----

%@stock: $(call unless-done,stage)
	$(suite)
vm-kselftest@stock: $(call unless-done,stage) $(call unless-done,kselftest)
	$(suite)
vm-kselftest@debug: $(call unless-done,stage) $(call unless-done,module-debug) \
		$(call unless-done,kselftest)
	$(suite)
vm-series@debug: $(call unless-done,stage) $(call unless-done,module-debug) \
		$(call unless-done,series-guest)
	$(suite)
# suites on a guest with a disk, where Debian's packages of kwarp are installed
$(addsuffix @stock,$(call machine,systemd)): $(call unless-done,debs)
	$(suite)
# suites that need the copy of the tree with more packages
$(addsuffix @stock,$(call machine,programs)): $(call unless-done,stage) \
		$(call unless-done,programs)
	$(suite)
$(addsuffix @debug,$(call machine,programs)): $(call unless-done,stage) \
		$(call unless-done,module-debug) $(call unless-done,programs)
	$(suite)
vm-blktests-nvme@debug vm-blktests-nvme@stock vm-blktests-srp@stock: $(call unless-done,blktests)
%@rt: $(call unless-done,stage-rt)
	$(suite)
%@arm64: $(call unless-done,stage-foreign)
	$(suite)
%@s390x: $(call unless-done,stage-foreign)
	$(suite)
%@debug: $(call unless-done,stage) $(call unless-done,module-debug)
	$(suite)

.PHONY: host tree stage debs programs kselftest cross-tools series-tools series-guest stage-rt \
	stage-foreign kernel-debug module-debug modules-all blktests packages kwarp-vm \
	kwarp-vm-quick cross cross-32 endian series series-quick shellcheck requirements rooms \
	runner fuzz unit kwarpctl peer bench checkpatch dkms docs release install build sparse \
	provider cost demo format guide
