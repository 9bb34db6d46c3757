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
	std::string octets(length, '\0');
	for (size_t done = 0; done < length;) {
		ssize_t n = recv(fd, octets.data() + done, length - done, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			throw std::system_error(errno, std::generic_category(), "recv");
		if (!n)
			throw std::runtime_error("the peer has closed the connection");
		done += static_cast<size_t>(n);
	}
	return octets;
}

} // namespace

std::string PrivateData::encode() const
{
	if (data.size() > private_data_max)
		throw std::length_error("too much private data");
	std::string octets(key);
	octets += static_cast<char>(rejected ? reject_flag : 0);
	octets += '\0';
	octets += static_cast<char>(data.size() >> 8);
	octets += static_cast<char>(data.size() & 0xff);
	return octets + data;
}

PrivateData receive_private_data(int fd)
{
	std::string header = receive_exactly(fd, private_data_header);
	auto octet = [&](size_t at) { return static_cast<unsigned char>(header[at]); };
	size_t length = static_cast<size_t>(octet(10)) << 8 | octet(11);

	if (!header.starts_with(key) || octet(9) || length > private_data_max)
		throw std::runtime_error("the peer sends no private data");
	PrivateData message;
	message.rejected = octet(8) & reject_flag;
	message.data = receive_exactly(fd, length);
	return message;
}

void send_all(int fd, const std::string &octets)
{
	for (size_t done = 0; done < octets.size();) {
		ssize_t n = send(fd, octets.data() + done, octets.size() - done, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			throw std::system_error(errno, std::generic_category(), "send");
		if (n > 0)
			done += static_cast<size_t>(n);
	}
}

} // namespace example
