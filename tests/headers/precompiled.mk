# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Included by makefiles of many files that include GoogleTest; it needs their CXXFLAGS, and in
# $(pch) the name of a file. With $(precompiled) in an object's flags and $(pch) among its
# prerequisites the compiler does not read common.h, but what an earlier run has made of it with the
# same flags. Those of an object may add -I alone.
.DEFAULT_GOAL := all
headers := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))
CXXFLAGS += -I$(headers)
pch_flags := $(CXXFLAGS)
precompiled := -Winvalid-pch -include $(basename $(pch))

# What ccache must not mind for it.
export CCACHE_SLOPPINESS := pch_defines,time_macros

$(pch): $(headers)common.h
	$(call say,CXX,common.h)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(pch_flags) -MMD -MP -MF $(@:.gch=.d) -x c++-header -c $< -o $@

-include $(pch:.gch=.d)
