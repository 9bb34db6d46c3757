// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "uverbs.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/kwarp-abi.h>

#include "rdma/failure.h"

namespace local_fuzz {

using rdma::check;
using rdma::Failure;

namespace {

constexpr size_t most = 1024;

} // namespace

std::string device_node(const std::string &device)
{
	for (const auto &entry :
	     std::filesystem::directory_iterator("/sys/class/infiniband_verbs")) {
		std::string name;
		std::ifstream(entry.path() / "ibdev") >> name;
		if (name == device)
			return "/dev/infiniband/" + entry.path().filename().string();
	}
	throw Failure("no device file of " + device);
}

Uverbs::Uverbs(const std::string &device)
	: fd_(open(device_node(device).c_str(), O_RDWR | O_CLOEXEC))
{
	if (fd_ < 0)
		throw Failure("open", errno);
	ib_uverbs_get_context request{};
	ib_uverbs_get_context_resp response;
	kwarp_uresp_alloc_ctx driver;
	check(command("get_context", IB_USER_VERBS_CMD_GET_CONTEXT, request, response, &driver),
	      "get_context");
	events_ = static_cast<int>(response.async_fd);
	check(fcntl(events_, F_SETFL, O_NONBLOCK), "fcntl");
}

Uverbs::~Uverbs()
{
	if (events_ >= 0)
		close(events_);
	stopwatch()("close", [this] { return close(fd_); });
}

unsigned Uverbs::drain_events()
{
	ib_uverbs_async_event_desc event;
	unsigned count = 0;

	while (read(events_, &event, sizeof(event)) > 0)
		count++;
	return count;
}

int Uverbs::write_command(const char *name, uint32_t number, std::span<const std::byte> in,
			  std::span<std::byte> out, uint64_t bytes)
{
	alignas(8) std::byte buffer[most];
	ib_uverbs_cmd_hdr header{};
	const uint64_t response = reinterpret_cast<uintptr_t>(out.data());
	const size_t length = sizeof(header) + in.size();

	if (length > most)
		throw Failure("a command is too long");
	header.command = number;
	header.in_words = static_cast<uint16_t>(length / 4);
	header.out_words = static_cast<uint16_t>(out.size() / 4);
	memcpy(buffer, &header, sizeof(header));
	memcpy(buffer + sizeof(header), in.data(), in.size());
	if (!out.empty())
		memcpy(buffer + sizeof(header), &response, sizeof(response));
	const ssize_t n = stopwatch()(name, [&] { return write(fd_, buffer, length); }, bytes);
	return n == static_cast<ssize_t>(length) ? 0 : n < 0 ? errno : EIO;
}

Mapping::Mapping(int fd, uint64_t key, size_t length) : length_(length)
{
	void *p = stopwatch()(
		"mmap",
		[&] {
			return mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				    static_cast<off_t>(key));
		},
		length);
	if (p == MAP_FAILED)
		throw Failure("mmap of a ring", errno);
	base_ = static_cast<uint8_t *>(p);
}

Mapping::~Mapping()
{
	stopwatch()("munmap", [this] { return munmap(base_, length_); }, length_);
}

} // namespace local_fuzz
