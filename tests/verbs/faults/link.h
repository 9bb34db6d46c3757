// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What "rdma link add" asks of the kernel, asked by this thread.
#pragma once

#include <string>

namespace faults {

// errno or 0
int link_add(const std::string &name, const std::string &netdev);

} // namespace faults
