// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "private_data.h"

#include <cerrno>
#include <stdexcept>
#include <string_view>
#include <sys/socket.h>
#include <system_error>

namespace example {
namespace {

constexpr std::string_view key = "KWARP PD";
constexpr unsigned char reject_flag = 0x80;

std::string receive_exactly(int fd, size_t length)
{
	std::string bytes(length, '\0');
	for (size_t done = 0; done < length;) {
		ssize_t n = recv(fd, bytes.data() + done, length - done, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			throw std::system_error(errno, std::generic_category(), "recv");
		if (!n)
			throw std::runtime_error("the peer has closed the connection");
		done += static_cast<size_t>(n);
	}
	return bytes;
}

} // namespace

std::string PrivateData::encode() const
{
	if (data.size() > private_data_max)
		throw std::length_error("too much private data");
	std::string bytes(key);
	bytes += static_cast<char>(rejected ? reject_flag : 0);
	bytes += '\0';
	bytes += static_cast<char>(data.size() >> 8);
	bytes += static_cast<char>(data.size() & 0xff);
	return bytes + data;
}

PrivateData receive_private_data(int fd)
{
	std::string header = receive_exactly(fd, private_data_header);
	auto byte = [&](size_t at) { return static_cast<unsigned char>(header[at]); };
	size_t length = static_cast<size_t>(byte(10)) << 8 | byte(11);

	if (!header.starts_with(key) || byte(9) || length > private_data_max)
		throw std::runtime_error("the peer sends no private data");
	PrivateData message;
	message.rejected = byte(8) & reject_flag;
	message.data = receive_exactly(fd, length);
	return message;
}

void send_all(int fd, const std::string &bytes)
{
	for (size_t done = 0; done < bytes.size();) {
		ssize_t n = send(fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			throw std::system_error(errno, std::generic_category(), "send");
		if (n > 0)
			done += static_cast<size_t>(n);
	}
}

} // namespace example
