// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// TCP sockets with timeouts. Errors are exceptions; the peer's end of stream is a result.
#pragma once

#include <chrono>
#include <netinet/in.h>
#include <optional>
#include <stdexcept>
#include <string>

#include "../patience.h"
#include "bytes.h"

namespace iwarp {

using Millis = std::chrono::milliseconds;
inline const Millis patience = machine::one_event; // for what must come

struct Timeout : std::runtime_error {
	using std::runtime_error::runtime_error;
};

// An IPv4 or IPv6 address with port.
class Address {
public:
	Address() = default;
	Address(const std::string &ip, uint16_t port);

	const sockaddr *sa() const { return reinterpret_cast<const sockaddr *>(&ss_); }
	sockaddr *sa() { return reinterpret_cast<sockaddr *>(&ss_); }
	socklen_t len() const;
	int family() const { return ss_.ss_family; }
	uint16_t port() const;
	void port(uint16_t p);

private:
	sockaddr_storage ss_{};
};

enum class Event {
	data,
	fin,   // end of stream
	reset, // connection reset or otherwise dead
	quiet, // nothing within the time
};

struct SocketOptions {
	std::string netns;
	int rcvbuf = 0; // bytes, 0: the system's choice
};

class Socket {
public:
	Socket() = default;
	explicit Socket(int fd) : fd_(fd) {}
	Socket(Socket &&other) noexcept : fd_(other.release()) {}
	Socket &operator=(Socket &&other) noexcept;
	~Socket() { close(); }

	static Socket connect(const Address &to, const SocketOptions &o = {});
	static Socket listen(const Address &at, const SocketOptions &o = {});
	Socket accept(Millis timeout);
	Address local() const;

	// All bytes or an exception (which one may expect when the other side has closed).
	void send(View bytes);
	// As send(), but tells instead of throwing when the connection is gone.
	bool try_send(View bytes);
	// What is there, at least one byte with Event::data.
	Event receive(Bytes &to, Millis timeout) const;

	// Bytes sent and not acknowledged; of SCTP, which does not tell, of memory for them.
	uint32_t unacknowledged() const;

	void finish(); // FIN, receiving goes on
	void reset();  // RST, closes
	void close();
	void urgent(uint8_t byte);

	int fd() const { return fd_; }
	explicit operator bool() const { return fd_ >= 0; }

private:
	int release();
	int fd_ = -1;
};

} // namespace iwarp
