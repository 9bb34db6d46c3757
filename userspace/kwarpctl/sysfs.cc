// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "sysfs.h"

#include "error.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <format>
#include <sched.h>
#include <sys/mount.h>
#include <system_error>
#include <unistd.h>

namespace fs = std::filesystem;

namespace kwarpctl {
namespace {

[[noreturn]] void throw_errno(const fs::path &file)
{
	throw std::system_error(errno, std::generic_category(), file.string());
}

class Fd {
public:
	Fd(const fs::path &file, int flags) : fd_(::open(file.c_str(), flags | O_CLOEXEC))
	{
		if (fd_ < 0)
			throw_errno(file);
	}
	Fd(const Fd &) = delete;
	Fd &operator=(const Fd &) = delete;
	~Fd() { ::close(fd_); }
	operator int() const { return fd_; }

private:
	int fd_;
};

} // namespace

bool is_plain_name(const std::string &name)
{
	return !name.empty() && name != "." && name != ".." &&
	       name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

std::vector<std::string> Sysfs::devices() const
{
	std::vector<std::string> names;
	std::error_code none;
	for (const auto &entry : fs::directory_iterator(class_dir_, none)) {
		std::string name = entry.path().filename();
		if (has_device(name))
			names.push_back(name);
	}
	std::ranges::sort(names);
	return names;
}

std::optional<std::string> Sysfs::module_parameter(const std::string &name) const
{
	const fs::path file = root_ / "module/kwarp/parameters" / name;
	if (!exists(file))
		return std::nullopt;
	return read_attribute(file);
}

bool Sysfs::has_device(const std::string &device) const
{
	std::error_code none;
	return is_plain_name(device) && fs::is_directory(policy_dir(device), none);
}

bool Sysfs::shows(const std::string &device) const
{
	std::error_code none;
	return is_plain_name(device) && fs::is_directory(class_dir_ / device, none);
}

void Sysfs::mount() const
{
	constexpr unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
	if (root_ == "/sys" && ::unshare(CLONE_NEWNS) == 0 &&
	    ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0)
		::mount("sysfs", root_.c_str(), "sysfs", flags, nullptr);
}

void Sysfs::require_device(const std::string &device) const
{
	if (!shows(device))
		throw Error(failure, std::format("there is no RDMA device '{}'", device));
	if (!has_device(device))
		throw Error(failure, std::format("'{}' is not a kwarp device", device));
}

std::vector<std::string> attribute_names(const fs::path &dir)
{
	std::vector<std::string> names;
	std::error_code error, none;
	fs::directory_iterator entries(dir, error);
	if (error)
		throw std::system_error(error, dir.string());
	for (const auto &entry : entries)
		if (entry.is_regular_file(none))
			names.push_back(entry.path().filename());
	std::ranges::sort(names);
	return names;
}

std::string read_attribute(const fs::path &file)
{
	char buffer[4096]; // the limit of sysfs
	Fd fd(file, O_RDONLY);
	ssize_t length = ::read(fd, buffer, sizeof(buffer));
	if (length < 0)
		throw_errno(file);

	std::string text(buffer, static_cast<std::size_t>(length));
	text.erase(text.find_last_not_of(" \n") + 1);
	return text;
}

void write_attribute(const fs::path &file, const std::string &value)
{
	Fd fd(file, O_WRONLY | O_TRUNC);
	std::string line = value + '\n';
	ssize_t written = ::write(fd, line.data(), line.size());
	if (written < 0)
		throw_errno(file);
	if (static_cast<std::size_t>(written) != line.size())
		throw std::system_error(EIO, std::generic_category(), file.string());
}

} // namespace kwarpctl
