// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Which side sends the first message of a connection: the client only, or the server as well.
#pragma once

#include <gtest/gtest.h>

#include "rdma/endpoint.h"

constexpr rdma::Milliseconds moment{300}; // time in which nothing may arrive

// The server posts a message before the client has sent one.
void server_sends(rdma::Pair &pair, uint64_t id);
// The server's message is held until the client sends.
void expect_held_until_client_sends(rdma::Pair &pair);
// The server's message is sent at once, and no consumer sees the RTR message that allows this.
void expect_server_speaks_first(rdma::Pair &pair);
