// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What every test needs.
#pragma once

#include <gtest/gtest.h>

#include "code.h"
