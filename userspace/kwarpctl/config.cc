// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "config.h"

#include "error.h"
#include "keys.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <format>
#include <fstream>
#include <sstream>
#include <system_error>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace kwarpctl {
namespace {

constexpr std::string_view blanks = " \t\r";
constexpr std::size_t largest_file = 64 * 1024;

std::string_view trim(std::string_view text)
{
	const auto begin = text.find_first_not_of(blanks);
	if (begin == text.npos)
		return {};
	return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::string_view without_comment(std::string_view line)
{
	return trim(line.substr(0, line.find('#')));
}

Setting parse_line(std::string_view line, const std::string &where)
{
	const auto equals = line.find('=');
	Setting setting{std::string(trim(line.substr(0, equals))), {}, where};
	if (equals != line.npos)
		setting.value = trim(line.substr(equals + 1));
	if (setting.key.empty() || setting.value.empty())
		throw Error(failure, std::format("{}: expected 'key = value'", where));
	try {
		if (const Key *key = find_key(setting.key))
			checked_value(*key, setting.value);
	} catch (const Error &error) {
		throw Error(failure, std::format("{}: {}", where, error.what()));
	}
	return setting;
}

void add(Config &config, const Setting &setting)
{
	const bool again = setting.key == "netdev" ? !config.netdev.empty() :
						     names(config, setting.key);
	if (again)
		throw Error(failure,
			    std::format("{}: {} is set twice", setting.where, setting.key));
	if (setting.key == "netdev")
		config.netdev = setting.value;
	else
		config.settings.push_back(setting);
}

std::string to_line(const std::string &key, const std::string &value)
{
	if (value.empty() || value.find('\n') != value.npos || without_comment(value) != value)
		throw Error(failure, std::format("a file cannot hold {} '{}'", key, value));
	return std::format("{} = {}\n", key, value);
}

} // namespace

bool names(const Config &config, std::string_view key)
{
	return std::ranges::find(config.settings, key, &Setting::key) != config.settings.end();
}

Config parse_config(std::string_view text, const std::string &name)
{
	Config config;
	std::istringstream lines{std::string(text)};
	unsigned int number = 0;
	for (std::string line; std::getline(lines, line);) {
		number++;
		if (auto words = without_comment(line); !words.empty())
			add(config, parse_line(words, std::format("{}:{}", name, number)));
	}
	if (config.netdev.empty())
		throw Error(failure, std::format("{}: there is no line 'netdev = NAME'", name));
	return config;
}

Config read_config(const fs::path &file)
{
	std::ifstream in(file);
	std::string text(largest_file + 1, '\0');
	in.read(text.data(), static_cast<std::streamsize>(text.size()));
	if (!in.eof() && in.fail())
		throw Error(failure, std::format("{}: {}", file.string(),
						 std::generic_category().message(errno)));
	text.resize(static_cast<std::size_t>(in.gcount()));
	if (text.size() > largest_file)
		throw Error(failure,
			    std::format("{}: larger than {} bytes", file.string(), largest_file));
	return parse_config(text, file.string());
}

std::string to_text(const Config &config)
{
	std::string out = to_line("netdev", config.netdev);
	for (const Setting &setting : config.settings)
		out += to_line(setting.key, setting.value);
	return out;
}

void write_config(const fs::path &file, const Config &config)
{
	const std::string text = to_text(config);
	fs::create_directories(file.parent_path());
	std::string temporary = file.string() + ".XXXXXX";
	const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
	// write() sets no errno if the disk has room for a part only.
	errno = ENOSPC;
	const bool written = fd >= 0 && ::fchmod(fd, 0644) == 0 &&
			     ::write(fd, text.data(), text.size()) ==
				     static_cast<ssize_t>(text.size()) &&
			     ::fsync(fd) == 0;
	const int error = errno;
	if (fd >= 0)
		::close(fd);
	if (!written || ::rename(temporary.c_str(), file.c_str()) != 0) {
		const int why = written ? errno : error;
		::unlink(temporary.c_str());
		throw std::system_error(why, std::generic_category(), file.string());
	}
}

} // namespace kwarpctl
