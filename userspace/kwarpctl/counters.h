/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
// What a device's counters mean for a person.
#pragma once

#include <string_view>

namespace kwarpctl {

// What has happened if the counter is above zero; empty unless it tells of a failure.
std::string_view failure_of(std::string_view counter);

} // namespace kwarpctl
