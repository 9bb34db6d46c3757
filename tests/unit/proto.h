// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Included by all unit tests.
#pragma once

#include <gtest/gtest.h>

#include "code.h"
