// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Which side sends the first message of a connection: the client only, or the server as well.
#pragma once

#include <gtest/gtest.h>

#include "rdma/endpoint.h"

constexpr rdma::Milliseconds moment{300}; // time in which nothing may arrive

// The server posts a message before the client has sent one.
void server_sends(rdma::Pair &pair, uint64_t id);
// The message is held until the client sends.
void expect_held_until_client_sends(rdma::Pair &pair);
// The message is sent at once, and neither consumer sees the frame that made this possible.
void expect_server_speaks_first(rdma::Pair &pair);
