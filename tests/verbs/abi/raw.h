// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// uverbs commands without libibverbs, with driver data of any length, as an older or newer provider
// would send them.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include <rdma/ib_user_verbs.h>
#include <unistd.h>

#include "rdma/failure.h"

namespace raw {

using Bytes = std::vector<uint8_t>;

template <class T>
Bytes bytes(const T &value)
{
	const uint8_t *p = reinterpret_cast<const uint8_t *>(&value);
	return Bytes(p, p + sizeof(value));
}

// The first length bytes of a structure, or the whole structure followed by fill bytes.
inline Bytes cut(Bytes of, size_t length, uint8_t with = 0)
{
	of.resize(length, with);
	return of;
}

constexpr uint8_t untouched = 0xa5;

// The reply: the core's part, followed by the driver's.
template <class Response>
struct Reply {
	int error;
	Bytes driver;
	Response core; // it may end in a flexible array
};

// The room for the driver's part of the reply is given. Lengths are multiples of four.
template <class Response, class Request>
Reply<Response> command(int fd, uint32_t number, Request request, const Bytes &driver, size_t room)
{
	Bytes out(sizeof(Response) + room, untouched);
	request.response = reinterpret_cast<uintptr_t>(out.data());
	Bytes in(sizeof(ib_uverbs_cmd_hdr) + sizeof(request) + driver.size());
	ib_uverbs_cmd_hdr header{number, uint16_t(in.size() / 4), uint16_t(out.size() / 4)};
	memcpy(in.data(), &header, sizeof(header));
	memcpy(in.data() + sizeof(header), &request, sizeof(request));
	memcpy(in.data() + sizeof(header) + sizeof(request), driver.data(), driver.size());
	Reply<Response> reply{};
	reply.error = write(fd, in.data(), in.size()) < 0 ? errno : 0;
	memcpy(&reply.core, out.data(), sizeof(Response));
	reply.driver.assign(out.begin() + sizeof(Response), out.end());
	return reply;
}

// A command without a reply.
template <class Request>
int command(int fd, uint32_t number, const Request &request, const Bytes &driver)
{
	Bytes in(sizeof(ib_uverbs_cmd_hdr) + sizeof(request) + driver.size());
	ib_uverbs_cmd_hdr header{number, uint16_t(in.size() / 4), 0};
	memcpy(in.data(), &header, sizeof(header));
	memcpy(in.data() + sizeof(header), &request, sizeof(request));
	memcpy(in.data() + sizeof(header) + sizeof(request), driver.data(), driver.size());
	return write(fd, in.data(), in.size()) < 0 ? errno : 0;
}

} // namespace raw
