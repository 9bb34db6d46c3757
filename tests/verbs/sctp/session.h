// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// An association between the peer of tests/peer, on host A, and the device of host B.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "iwarp/sctp.h"
#include "iwarp/segment.h"
#include "rdma/endpoint.h"
#include "rdma/eventually.h"

namespace sctp {

using iwarp::sctp::Association;
using iwarp::sctp::Message;

using rdma::eventually;

inline Association associate(const rdma::Listener &listener, iwarp::sctp::Options options = {})
{
	options.netns = "/run/netns/" + lab::a().netns;
	return Association::connect({listener.ip(), listener.port()}, options);
}

// A session that the device has accepted; the next DDP-SSN of the peer is 1.
struct Session {
	rdma::Listener listener{lab::b()};
	Association peer;
	rdma::Endpoint server;

	explicit Session(const iwarp::sctp::Options &options = {}, const rdma::Config &config = {})
		: peer(associate(listener, options)), server(request(), config)
	{
		server.accept();
		server.established();
		auto reply = peer.receive();
		if (!reply || reply->code() != iwarp::sctp::accept)
			throw rdma::Failure("no Accept");
	}

	// Expects the Send with this MSN, which carries a pattern of its own.
	void expect_send(uint32_t msn, size_t size)
	{
		EXPECT_EQ(rdma::wait_ok(server.rcq()).byte_len, size);
		EXPECT_TRUE(rdma::filled(server.memory().span(0, size), msn)) << msn;
	}

private:
	rdma::Event request()
	{
		peer.control(iwarp::sctp::initiate);
		return listener.request();
	}
};

inline iwarp::Bytes pattern(uint32_t seed, size_t size)
{
	iwarp::Bytes bytes(size);
	rdma::fill(bytes, seed);
	return bytes;
}

// The segment as a message with that DDP-SSN.
inline Message segment_at(uint16_t ssn, const iwarp::Bytes &segment)
{
	iwarp::Bytes data;
	iwarp::put16(data, ssn);
	iwarp::put(data, segment);
	return {.data = data};
}

inline iwarp::Bytes send_of(uint32_t msn, size_t size)
{
	return iwarp::send_segment(msn, pattern(msn, size)).encode();
}

} // namespace sctp
