/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
// Explanations of a device's counters.
#pragma once

#include <string_view>

namespace kwarpctl {

// The explanation of a failure counter that is not zero; empty for other counters.
std::string_view failure_of(std::string_view counter);

} // namespace kwarpctl
