// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// TCP sockets with timeouts. Errors raise exceptions; receive() returns the end of the stream or a
// reset as an Event.
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
inline const Millis patience = machine::one_event; // limit for an event that must occur

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
	quiet, // nothing before the timeout
};

class Socket {
public:
	Socket() = default;
	explicit Socket(int fd) : fd_(fd) {}
	Socket(Socket &&other) noexcept : fd_(other.release()) {}
	Socket &operator=(Socket &&other) noexcept;
	~Socket() { close(); }

	// In the network namespace netns; empty: in that of the thread.
	static Socket connect(const Address &to, const std::string &netns = {});
	static Socket listen(const Address &at, const std::string &netns = {});
	Socket accept(Millis timeout);
	Address local() const;

	// Sends all bytes. Throws std::system_error, for example after the other side has closed,
	// or Timeout if the other side does not read.
	void send(View bytes);
	// As send(), but returns false and sets errno where send() throws std::system_error.
	bool try_send(View bytes);
	// Waits for bytes and appends them: at least one if the result is Event::data.
	Event receive(Bytes &to, Millis timeout) const;

	// TCP: bytes in the send queue, sent or not, without acknowledgment. SCTP, which does not
	// report these: bytes of memory of its send queue.
	uint32_t unacknowledged() const;

	void finish(); // sends FIN; can still receive
	void reset();  // closes with RST
	void close();
	void urgent(uint8_t byte);

	int fd() const { return fd_; }
	explicit operator bool() const { return fd_ >= 0; }

private:
	int release();
	int fd_ = -1;
};

} // namespace iwarp
