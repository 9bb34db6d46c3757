// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The device file: commands as the kernel reads them, and mappings of the rings, without a library.
#pragma once

#include <cstddef>
#include <cstring>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <rdma/ib_user_verbs.h>

#include "stopwatch.h"

namespace local_fuzz {

// /dev/infiniband/uverbsN of a device.
std::string device_node(const std::string &device);

struct Nothing {};

class Uverbs {
public:
	explicit Uverbs(const std::string &device);
	~Uverbs();
	Uverbs(const Uverbs &) = delete;
	Uverbs &operator=(const Uverbs &) = delete;

	int fd() const { return fd_; }
	// Reads all asynchronous events. Return: how many.
	unsigned drain_events();

	// A command by write(). The address of the response is stored at the beginning of the
	// request. Returns an errno or 0.
	template <class Request, class Response, class Driver = Nothing>
	int command(const char *name, uint32_t number, const Request &request, Response &response,
		    Driver *driver = nullptr, uint64_t bytes = 0)
	{
		alignas(8) std::byte out[sizeof(Response) + sizeof(Driver)];
		const size_t length = sizeof(Response) + (driver ? sizeof(Driver) : 0);
		const int ret =
			write_command(name, number, as_bytes(request), {out, length}, bytes);
		memcpy(&response, out, sizeof(Response));
		if (driver)
			memcpy(driver, out + sizeof(Response), sizeof(Driver));
		return ret;
	}
	// A command without a response.
	template <class Request>
	int command(const char *name, uint32_t number, const Request &request, uint64_t bytes = 0)
	{
		return write_command(name, number, as_bytes(request), {}, bytes);
	}

	template <class T>
	static std::span<const std::byte> as_bytes(const T &t)
	{
		return std::as_bytes(std::span(&t, 1));
	}

private:
	int write_command(const char *name, uint32_t number, std::span<const std::byte> in,
			  std::span<std::byte> out, uint64_t bytes);
	int fd_;
	int events_ = -1;
};

// A mapping of the device file.
class Mapping {
public:
	Mapping(int fd, uint64_t key, size_t length);
	~Mapping();
	Mapping(const Mapping &) = delete;
	Mapping &operator=(const Mapping &) = delete;

	uint8_t *base() const { return base_; }
	size_t length() const { return length_; }

private:
	uint8_t *base_;
	size_t length_;
};

} // namespace local_fuzz
