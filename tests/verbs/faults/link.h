// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Sends the netlink request of "rdma link add" from this thread.
#pragma once

#include <string>

namespace faults {

// errno or 0
int link_add(const std::string &name, const std::string &netdev);

} // namespace faults
