// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA devices that are removed while programs use them, and made again.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>

#include "lab/host.h"

namespace removal {

// Runs "rdma link delete". Returns when the device is removed; throws if this takes too long.
void remove(const lab::Host &host);
bool present(const lab::Host &host);

// Both devices exist when a test begins and after it.
struct Devices : testing::Test {
	void SetUp() override;
	void TearDown() override;
};

// The errno or 0 of verbs that return a pointer, and of verbs that return a number.
inline int error_of(const void *object)
{
	return object ? 0 : errno;
}
inline int error_of(int ret)
{
	return ret < 0 ? errno : ret;
}

} // namespace removal
