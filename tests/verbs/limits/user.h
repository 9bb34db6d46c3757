// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A user without privileges.
#pragma once

#include <cstddef>
#include <functional>

namespace limits {

constexpr unsigned int nobody = 65534;

// Runs it in a child of that user, whose expectations count as the caller's. Before: as root still, in the
// child.
void as_nobody(const std::function<void()> &what, const std::function<void()> &before = [] {});
// The same, with the user and the privileges of the caller.
void in_child(const std::function<void()> &what);

void set_memlock(size_t octets);
// What the process has pinned, in octets (VmPin).
size_t pinned();

} // namespace limits
