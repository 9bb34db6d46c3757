// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Who sends the first message of a connection: the client, or the server as well.
#pragma once

#include <gtest/gtest.h>

#include "rdma/endpoint.h"

constexpr rdma::Milliseconds moment{300}; // for what must not come

// The server has something to say before the client has said anything.
void server_sends(rdma::Pair &pair, uint64_t id);
// It is held until the client sends.
void expect_held_until_client_sends(rdma::Pair &pair);
// It goes out at once, and what made that possible is not seen by either consumer.
void expect_server_speaks_first(rdma::Pair &pair);
