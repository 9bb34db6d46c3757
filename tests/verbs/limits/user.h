// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A user without privileges.
#pragma once

#include <cstddef>
#include <functional>

namespace limits {

constexpr unsigned int nobody = 65534;

// Gives up all privileges of the calling process.
void become_nobody();
// Runs the function in a child process of that user; failed expectations there count as failures
// of the caller. The function "before" runs in the child while it is still root.
void as_nobody(const std::function<void()> &what, const std::function<void()> &before = [] {});
// As as_nobody(), with the user and the privileges of the caller.
void in_child(const std::function<void()> &what);

void set_memlock(size_t bytes);
// Memory that the process has pinned, in bytes (VmPin).
size_t pinned();

} // namespace limits
