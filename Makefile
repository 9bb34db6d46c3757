# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# What people type; "make help" lists it. The module's objects and flags are in Kbuild.

O ?= build
KDIR ?= /lib/modules/$(shell uname -r)/build
RDMA_CORE ?=
DESTDIR ?=
SUITES ?=
FUZZ_SECONDS ?=
MESSAGES ?= 1000000
RUNS ?= 20
DRIVER ?= kwarp
V ?= 0
export V SUITES FUZZ_SECONDS DRIVER

Q := $(if $(filter 1,$(V)),,@)
silent := $(findstring s,$(firstword -$(MAKEFLAGS)))
say = $(if $(silent),@:,$(if $(Q),@printf '  %-9s%s\n' '$(1)' '$(2)'))
out := $(abspath $(O))
scripts := $(CURDIR)/scripts

# install: where the kernel and libibverbs of this machine look
kver = $(shell cat $(KDIR)/include/config/kernel.release 2>/dev/null)
moddir = $(DESTDIR)/lib/modules/$(kver)/updates
libdir = $(shell pkg-config --variable=libdir libibverbs 2>/dev/null)
provdir = $(DESTDIR)$(libdir)/libibverbs
confdir = $(DESTDIR)/etc/libibverbs.d
luadir = $(DESTDIR)$(libdir)/wireshark/plugins
bindir = $(DESTDIR)/usr/sbin
incdir = $(DESTDIR)/usr/include
tools = $(notdir $(patsubst %/Makefile,%,$(wildcard userspace/*/Makefile)))

all: modules provider tools

help:
	@echo 'Build'
	@echo '  make modules   the kernel module, for KDIR=DIR (default: the running kernel), into'
	@echo '                 O=DIR (default: build)'
	@echo '  make provider  the libibverbs provider, for RDMA_CORE=DIR (or from apt)'
	@echo '  make tools     the command line tools'
	@echo '  make install   all three, and a script for Wireshark, into this system (DESTDIR is'
	@echo '                 honoured)'
	@echo '  make uninstall takes them away'
	@echo '  make clean     remove what was built'
	@echo '  make distclean the cached tree and sources, too'
	@echo 'Try'
	@echo '  make demo      build all in a Debian 13 tree, boot it in QEMU, run rping and'
	@echo '                 perftest over kwarp'
	@echo 'Test'
	@echo '  make check     the gate: what is ours, in the debug kernel; 15 minutes.'
	@echo '                 SUITES="unit vm-cm vm-rping@stock" runs those named,'
	@echo '                 SUITES=list lists them, SUITES=modes says which runs where'
	@echo '  make quick     what a commit should have passed: build, unit tests, style of what'
	@echo '                 changed, a few guests'
	@echo '  make check-all everything, in each kernel, with longer fuzzing and'
	@echo '                 the soak test: hours'
	@echo '  make flake     RUNS=N (20) runs of each of SUITES beside busy loops: how often'
	@echo '                 does it fail?'
	@echo '  make fuzz      the fuzzers of the protocol code, FUZZ_SECONDS=N (60) for each'
	@echo '  make soak      MESSAGES=N (default: 10^6) with out-of-order placement, on a'
	@echo '                 network that loses and reorders'
	@echo '  make checkpatch sparse    one of them, on its own'
	@echo 'Read'
	@echo '  make docs      Documentation/ and the kernel-doc comments as HTML in'
	@echo '                 build/docs/html, man pages in build/docs/man'
	@echo 'Measure'
	@echo '  make bench     kwarp, siw, rxe and TCP side by side: ROUNDS=N, ONLY=REGEX; TIME=0,'
	@echo '                 COST=0 or MICRO=0 leave a part out'
	@echo '  make compare-pyverbs      the Python suite of rdma-core on kwarp, siw and rxe: how'
	@echo '                 many pass on each'
	@echo 'V=1 shows all that happens.'

modules:
	$(call say,MODULE,$(O)/kwarp.ko for $(KDIR))
	$(Q)$(scripts)/build/module.sh '$(KDIR)' '$(out)'

provider:
	$(call say,PROVIDER,$(O)/libkwarp-rdmavN.so)
	$(Q)core='$(RDMA_CORE)'; \
	[ -n "$$core" ] || core=$$($(scripts)/build/source.sh rdma-core-here) && \
		$(scripts)/build/provider.sh "$$core" '$(out)'

tools:
	$(Q)set -e; for t in $(tools); do \
		$(MAKE) --no-print-directory -C userspace/$$t O="$(out)/$$t" all; \
	done

install: modules provider tools
	$(Q)[ -n '$(libdir)' ] || { \
		echo 'make install: no libibverbs; install libibverbs-dev and pkgconf' >&2; \
		exit 1; \
	}
	$(call say,INSTALL,$(moddir)/kwarp.ko)
	$(Q)install -D -m 644 '$(out)/kwarp.ko' '$(moddir)/kwarp.ko'
	$(call say,INSTALL,$(provdir))
	$(Q)install -d '$(provdir)' && install -m 644 '$(out)'/libkwarp-rdmav*.so '$(provdir)/'
	$(call say,INSTALL,$(confdir)/kwarp.driver)
	$(Q)install -D -m 644 '$(out)/kwarp.driver' '$(confdir)/kwarp.driver'
	$(call say,INSTALL,$(incdir)/infiniband/kwarpdv.h)
	$(Q)install -D -m 644 userspace/provider/kwarpdv.h '$(incdir)/infiniband/kwarpdv.h'
	$(Q)install -D -m 644 include/uapi/rdma/kwarp-abi.h '$(incdir)/rdma/kwarp-abi.h'
	$(call say,INSTALL,$(luadir)/kwarp.lua)
	$(Q)install -D -m 644 userspace/wireshark/kwarp.lua '$(luadir)/kwarp.lua'
	$(Q)set -e; for t in $(tools); do \
		$(MAKE) --no-print-directory -C userspace/$$t O="$(out)/$$t" \
			DESTDIR='$(DESTDIR)' install; \
	done
	$(if $(DESTDIR),,$(Q)depmod -a '$(kver)')

uninstall:
	$(call say,REMOVE,kwarp)
	$(Q)rm -f '$(moddir)/kwarp.ko' '$(provdir)'/libkwarp-rdmav*.so '$(confdir)/kwarp.driver' \
		'$(incdir)/infiniband/kwarpdv.h' '$(incdir)/rdma/kwarp-abi.h' '$(luadir)/kwarp.lua'
	$(Q)set -e; for t in $(tools); do \
		$(MAKE) --no-print-directory -C userspace/$$t O="$(out)/$$t" \
			DESTDIR='$(DESTDIR)' uninstall; \
	done
	$(if $(DESTDIR),,$(Q)depmod -a '$(kver)')

demo:
	$(Q)$(scripts)/demo.sh

check:
	$(Q)tests/run.sh check

quick:
	$(Q)tests/run.sh quick

check-all:
	$(Q)tests/run.sh all

flake:
	$(Q)rc=0; for suite in $(SUITES); do \
		scripts/flake.sh $$suite $(RUNS) || rc=1; \
	done; exit $$rc

soak:
	$(Q)scripts/tree/setup && scripts/tree/tree.sh && FLAVOUR=fast scripts/guest/uml.sh build
	$(Q)FLAVOUR=fast NO_LEAKS=1 KWARP_SOAK=$(MESSAGES) \
		scripts/guest/uml.sh run -t 7200 -o '$(out)/results/soak' tests/vm/soak.test.sh

bench:
	$(Q)$(scripts)/bench.sh

compare-pyverbs:
	$(Q)scripts/tree/setup && scripts/tree/tree.sh && NO_TESTS=1 scripts/build/stage.sh
	$(Q)scripts/guest/vm.sh -t 1800 -o build/results/compare-pyverbs tests/vm/pyverbs-compare

docs:
	$(Q)scripts/tree/setup && scripts/tree/tree.sh && scripts/build/docs.sh

fuzz:
	$(Q)FUZZ_SECONDS=$(or $(FUZZ_SECONDS),60) SUITES=$@ tests/run.sh

checkpatch sparse:
	$(Q)SUITES=$@ tests/run.sh

clean:
	$(call say,CLEAN,$(O))
	$(Q)rm -rf '$(out)'/kwarp.ko '$(out)'/kwarp.driver '$(out)'/libkwarp-rdmav*.so \
		'$(out)'/modules-* '$(out)'/provider '$(out)'/stage '$(out)'/docs '$(out)'/check \
		'$(out)'/check.tally* '$(out)'/results '$(out)'/log

distclean: clean
	$(Q)rm -rf '$(out)'

.PHONY: all help modules provider tools install uninstall demo check quick check-all flake soak \
	bench compare-pyverbs docs checkpatch fuzz sparse clean distclean
