# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# What people type; "make help" lists it. The module's objects and flags are in Kbuild.

# make separates names by blanks, and the recipes quote paths
ifneq ($(words $(subst ','' ',$(CURDIR))),1)
$(error a path without blanks and quotes is needed: make cannot build in '$(CURDIR)')
endif

O ?= build
KDIR ?= /lib/modules/$(shell uname -r)/build
RDMA_CORE ?=
DESTDIR ?=
PREFIX ?= /usr
SIGN_KEY ?=
SIGN_CERT ?=
CROSS_COMPILE ?=
SUITES ?=
FUZZ_SECONDS ?=
MESSAGES ?= 1000000
RUNS ?= 20
KERNEL ?=
V ?= 0
export V SUITES FUZZ_SECONDS CROSS_COMPILE

Q := $(if $(filter 1,$(V)),,@)
silent := $(findstring s,$(firstword -$(MAKEFLAGS)))
say = $(if $(silent),@:,$(if $(Q),@printf '  %-9s%s\n' '$(1)' '$(2)'))
ifneq ($(words $(subst ','' ',$(O))),1)
$(error O=DIR must be a path without blanks and quotes, but is '$(O)')
endif
out := $(abspath $(O))
scripts := $(CURDIR)/scripts
folder = $(scripts)/build/folder.sh
mark = $(folder) mark '$(out)'
no-image = [ ! -e '$(image)' ] || { $(folder) check install '$(out)' && rm -rf '$(image)'; }

# The jobs that -jN allows, for the builds of the module and of the provider; empty without -j.
export JOBS = $(patsubst -j%,%,$(filter -j%,$(MAKEFLAGS)))

# install: laid out in $(image) first; where the kernel and libibverbs of this machine look
image = $(out)/image
kver = $(shell cat '$(KDIR)/include/config/kernel.release' 2>/dev/null)
moddir = $(image)/lib/modules/$(kver)/updates
libdir = $(shell pkg-config --variable=libdir libibverbs 2>/dev/null)
strip = $(CROSS_COMPILE)strip
cross = $(if $(CROSS_COMPILE),CXX=$(CROSS_COMPILE)g++)
# the folder of a tool's build, one for each machine
tool-out = $(out)/$(notdir $(CROSS_COMPILE))$$t
tools = $(notdir $(patsubst %/Makefile,%,$(wildcard userspace/*/Makefile)))
preflight = KDIR='$(KDIR)' RDMA_CORE='$(RDMA_CORE)' DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' \
	SIGN_KEY='$(SIGN_KEY)' SIGN_CERT='$(SIGN_CERT)' $(scripts)/install/preflight.sh

all: modules provider tools

help:
	@echo 'Build'
	@echo '  make modules   the kernel module, for KDIR=DIR (default: the running kernel), into'
	@echo '                 O=DIR (default: build). CROSS_COMPILE=PREFIX, and ARCH=NAME for the'
	@echo '                 module, build for another machine'
	@echo '  make provider  the libibverbs provider, for RDMA_CORE=DIR (or from apt)'
	@echo '  make tools     the command line tools'
	@echo '  make install   all three, services, manual pages and a dissector for Wireshark,'
	@echo '                 into this system, or below DESTDIR; PREFIX (/usr) is for what'
	@echo '                 neither the kernel nor libibverbs look for. SIGN_KEY and SIGN_CERT'
	@echo '                 sign the module'
	@echo '  make uninstall takes them away'
	@echo '  make dkms-install         the module only, by DKMS, for the running kernel (or'
	@echo '                 KVER), those that had it from DKMS, and later ones;'
	@echo '                 make dkms-uninstall takes it away'
	@echo '  make deb       packages for Debian in O=DIR/deb'
	@echo '  make clean     remove what was built in O=DIR'
	@echo '  make distclean O=DIR and build, with the cached tree and sources'
	@echo 'Try'
	@echo '  make demo      build all in a Debian 13 tree, boot it in QEMU, run the same'
	@echo '                 programs over Linux'"'"'s siw and over kwarp: a minute, the first'
	@echo '                 time minutes'
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
	@echo 'Submit'
	@echo '  make series KERNEL=DIR RDMA_CORE=DIR    the driver and the provider as patches for'
	@echo '                 the source trees of Linux 7.2 and rdma-core, with cover letters,'
	@echo '                 in O=DIR/series (default: build/series)'
	@echo 'Measure'
	@echo '  make bench     kwarp, siw, rxe and TCP in turns: ROUNDS=N, MINUTES=N, ONLY=REGEX;'
	@echo '                 TIME=0, COST=0 or MICRO=0 leave a part out'
	@echo '  make figures   the same, and replace the tables of Documentation/performance.rst'
	@echo '  make picture   measure what the picture of README.md shows, and draw it again:'
	@echo '                 10 minutes of a quiet machine'
	@echo '  make compare-pyverbs      the Python suite of rdma-core on kwarp, siw and rxe: how'
	@echo '                 many pass on each'
	@echo 'V=1 shows all that happens.'

modules:
	$(Q)$(preflight) module
	$(call say,MODULE,$(O)/kwarp.ko for $(KDIR))
	$(Q)$(mark) && $(scripts)/build/module.sh '$(KDIR)' '$(out)'

provider:
	$(Q)$(preflight) provider
	$(call say,PROVIDER,$(O)/libkwarp-rdmavN.so)
	$(Q)$(mark)
	$(Q)core='$(RDMA_CORE)'; \
	[ -n "$$core" ] || core=$$($(scripts)/build/source.sh rdma-core-here) && \
		$(scripts)/build/provider.sh "$$core" '$(out)'

tools:
	$(Q)$(preflight) tools
	$(Q)$(mark)
	$(Q)set -e; for t in $(tools); do \
		$(MAKE) --no-print-directory -C userspace/$$t O="$(tool-out)" $(cross) all; \
	done

# All that is missing is named before anything is built.
install: preflight-install
	$(Q)$(MAKE) --no-print-directory modules provider tools
	$(Q)$(MAKE) --no-print-directory image-module image-user
	$(call say,INSTALL,$(or $(DESTDIR),/))
	$(Q)DESTDIR='$(DESTDIR)' $(scripts)/install/install.sh install '$(image)'

# all but the module, for packages: see debian/rules
install-user: preflight-user
	$(Q)$(MAKE) --no-print-directory provider tools
	$(Q)$(MAKE) --no-print-directory image-user
	$(Q)mkdir -p '$(DESTDIR)/' && cp -a '$(image)/.' '$(DESTDIR)/'

preflight-install:
	$(Q)$(preflight) module provider tools place place-module
	$(Q)$(no-image)

preflight-user:
	$(Q)$(preflight) provider tools place-image
	$(Q)$(no-image)

image-module:
	$(Q)install -D -m 644 '$(out)/kwarp.ko' '$(moddir)/kwarp.ko'
	$(Q)$(strip) --strip-debug '$(moddir)/kwarp.ko'
	$(if $(SIGN_KEY),$(Q)umask 022 && '$(KDIR)/scripts/sign-file' sha256 \
		'$(SIGN_KEY)' '$(SIGN_CERT)' '$(moddir)/kwarp.ko')

image-user:
	$(Q)for file in '$(out)'/libkwarp-rdmav*.so; do \
		install -D -m 644 -t '$(image)$(libdir)/libibverbs' "$$file"; \
	done
	$(Q)install -D -m 644 '$(out)/kwarp.driver' '$(image)/etc/libibverbs.d/kwarp.driver'
	$(Q)install -D -m 644 userspace/wireshark/kwarp.lua \
		'$(image)$(libdir)/wireshark/plugins/kwarp.lua'
	$(Q)install -D -m 644 userspace/provider/kwarpdv.h \
		'$(image)$(PREFIX)/include/infiniband/kwarpdv.h'
	$(Q)install -D -m 644 -t '$(image)$(PREFIX)/include/rdma' include/uapi/rdma/*.h
	$(Q)install -D -m 644 -t '$(image)$(PREFIX)/share/man/man3' userspace/provider/man/*.3
	$(Q)set -e; for t in $(tools); do \
		$(MAKE) --no-print-directory -C userspace/$$t O="$(tool-out)" \
			DESTDIR='$(image)' PREFIX='$(PREFIX)' $(cross) install; \
	done

uninstall:
	$(call say,REMOVE,kwarp)
	$(Q)DESTDIR='$(DESTDIR)' $(scripts)/install/install.sh uninstall

dkms-install dkms-uninstall:
	$(Q)KVER='$(KVER)' $(scripts)/install/dkms.sh $(@:dkms-%=%)

deb:
	$(Q)$(scripts)/install/deb.sh '$(out)/deb'

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
	$(Q)$(mark) && FLAVOUR=fast NO_LEAKS=1 KWARP_SOAK=$(MESSAGES) \
		scripts/guest/uml.sh run -t 7200 -o '$(out)/results/soak' tests/vm/soak.test.sh

bench:
	$(Q)$(scripts)/bench.sh

figures: bench
	$(call say,FIGURES,Documentation/pictures/*.csv)
	$(Q)cp $(patsubst %,'$(out)/bench/%.csv',figures goals cost) Documentation/pictures/

picture:
	$(Q)ONLY=picture $(scripts)/bench.sh
	$(call say,PICTURE,Documentation/pictures/rate.svg)
	$(Q)cp '$(out)/bench/picture.svg' Documentation/pictures/rate.svg
	$(Q)cp '$(out)/bench/picture.csv' Documentation/pictures/rate.csv

compare-pyverbs:
	$(Q)scripts/tree/setup && scripts/tree/tree.sh && NO_TESTS=1 scripts/build/stage.sh
	$(Q)scripts/guest/vm.sh -t 1800 -o build/results/compare-pyverbs tests/vm/pyverbs-compare

series:
	$(Q)$(mark) && $(scripts)/series.sh '$(KERNEL)' '$(RDMA_CORE)' '$(out)/series'

docs:
	$(Q)scripts/tree/setup && scripts/tree/tree.sh && scripts/build/docs.sh

fuzz:
	$(Q)FUZZ_SECONDS=$(or $(FUZZ_SECONDS),60) SUITES=$@ tests/run.sh

checkpatch sparse:
	$(Q)SUITES=$@ tests/run.sh

# Only in a folder that make has made: see folder.sh.
clean:
	$(Q)$(folder) check '$(or $(filter distclean,$(MAKECMDGOALS)),clean)' '$(out)'
	$(call say,CLEAN,$(O))
	$(Q)rm -rf '$(out)'/kwarp.ko '$(out)'/kwarp.driver '$(out)'/libkwarp-rdmav*.so \
		'$(out)'/modules-* '$(out)'/provider '$(out)'/stage '$(out)'/docs '$(out)'/check \
		'$(out)'/image '$(out)'/deb $(tools:%='$(out)'/%) $(tools:%='$(out)'/*-%) \
		'$(out)'/check.tally* '$(out)'/results '$(out)'/log

distclean: clean
	$(Q)$(folder) remove '$(out)'
	$(Q)$(folder) remove '$(CURDIR)/build'

.PHONY: all help modules provider tools install install-user preflight-install preflight-user \
	image-module image-user uninstall dkms-install dkms-uninstall deb demo check quick \
	check-all flake soak bench figures picture compare-pyverbs series docs checkpatch fuzz \
	sparse clean distclean
