// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Common to all tests.
#pragma once

#include <gtest/gtest.h>

#include "code.h"
