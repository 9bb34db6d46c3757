// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Waits for a condition that no event reports.
#pragma once

#include <thread>

#include "work.h"

namespace rdma {

// Whether the condition becomes true in time.
template <class What>
bool eventually(What what)
{
	const auto end = std::chrono::steady_clock::now() + patience;
	while (!what()) {
		if (std::chrono::steady_clock::now() > end)
			return false;
		std::this_thread::sleep_for(Milliseconds(1));
	}
	return true;
}

} // namespace rdma
