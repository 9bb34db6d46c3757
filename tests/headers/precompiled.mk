# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# For makefiles of programs with many files that include GoogleTest. Set CXXFLAGS, and $(pch) to the
# name of the precompiled header. Add $(precompiled) to the flags of an object and $(pch) to its
# prerequisites; then the compiler uses the precompiled header instead of common.h. Flags of an
# object may differ from CXXFLAGS only by -I.
.DEFAULT_GOAL := all
headers := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))
CXXFLAGS += -I$(headers)
pch_flags := $(CXXFLAGS)
precompiled := -Winvalid-pch -include $(basename $(pch))

# ccache must ignore these differences to cache objects with a precompiled header.
export CCACHE_SLOPPINESS := pch_defines,time_macros

$(pch): $(headers)common.h
	$(call say,CXX,common.h)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(pch_flags) -MMD -MP -MF $(@:.gch=.d) -x c++-header -c $< -o $@

-include $(pch:.gch=.d)
