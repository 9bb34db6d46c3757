// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA devices that are removed while programs use them, and come back.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>

#include "lab/host.h"

namespace removal {

// Like an administrator's "rdma link delete". Returns when it is done; throws if it takes too long.
void remove(const lab::Host &host);
bool present(const lab::Host &host);

// Both devices exist when a test begins and after it.
struct Devices : testing::Test {
	void SetUp() override;
	void TearDown() override;
};

// errno, or 0: for verbs that return a pointer, and for those that return a number.
inline int error_of(const void *object)
{
	return object ? 0 : errno;
}
inline int error_of(int ret)
{
	return ret < 0 ? errno : ret;
}

} // namespace removal
