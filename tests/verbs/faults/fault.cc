// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "fault.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include <fcntl.h>
#include <unistd.h>

#include "../../peer/victim/nldev.h"
#include "../../peer/victim/watchdog.h"
#include "lab/host.h"
#include "rdma/eventually.h"
#include "rdma/failure.h"

namespace faults {
namespace {

constexpr const char *file = "/proc/thread-self/fail-nth";
constexpr int too_many = 10000;
const int stride = lab::repetitions(16, 61);

class FailNth {
public:
	FailNth() : fd_(open(file, O_RDWR))
	{
		if (fd_ < 0)
			throw std::runtime_error(file);
	}
	~FailNth() { close(fd_); }
	FailNth(const FailNth &) = delete;
	FailNth &operator=(const FailNth &) = delete;

	void set(int n) const
	{
		std::string text = std::to_string(n);
		if (write(fd_, text.c_str(), text.size()) < 0)
			throw std::runtime_error("fail-nth");
	}

	// Ends the injection; notes whether the failure is still pending. The read itself counts,
	// too, and may be the call that fails.
	void stop()
	{
		char text[16] = {};
		left_ |= pread(fd_, text, sizeof(text) - 1, 0) < 0 || atoi(text);
		set(0);
	}
	bool left() const { return left_; }

private:
	int fd_;
	bool left_ = false;
};

thread_local FailNth *current;

void knob(const std::string &name, const std::string &value)
{
	std::ofstream file("/sys/kernel/debug/" + name);
	if (!(file << value << std::endl))
		throw std::runtime_error(name);
}

// Injected failures are not logged, and allocations that may sleep fail, too.
void quiet()
{
	for (const char *kind :
	     {"failslab", "fail_page_alloc", "fail_skb_realloc", "fail_usercopy"})
		knob(std::string(kind) + "/verbose", "0");
	knob("failslab/ignore-gfp-wait", "N");
	knob("fail_page_alloc/ignore-gfp-wait", "N");
}

// The numbers of objects of both devices.
class Objects {
public:
	// Describes the objects that a call has left. The kernel may destroy some after the call.
	std::string left() const
	{
		std::string text;
		rdma::eventually([&] {
			return (text = victim::difference(now(), before_)).empty();
		});
		return text;
	}

private:
	static victim::Counts now()
	{
		victim::Counts sum;
		for (const lab::Host *host : {&lab::a(), &lab::b()})
			for (const auto &[name, n] : victim::Nldev(host->device).resources())
				sum[host->device + ": " + name] = n;
		return sum;
	}

	const victim::Counts before_ = now();
};

constexpr int many = 1000000;

// A range of code: first address, and the one after the last.
using Code = std::pair<uint64_t, uint64_t>;

// The code of a function of the kernel; an empty range if the kernel has no such function.
Code code_of(const std::string &function)
{
	std::ifstream symbols("/proc/kallsyms");
	std::set<uint64_t> starts;
	uint64_t start = 0;
	for (std::string address, type, name, line; std::getline(symbols, line);) {
		std::istringstream(line) >> address >> type >> name;
		uint64_t at = *starts.insert(std::stoull(address, nullptr, 16)).first;
		if (name == function)
			start = at;
	}
	auto next = starts.upper_bound(start);
	if (!start || next == starts.end())
		return {};
	return {start, *next};
}

// The driver's code.
Code driver_text()
{
	std::ifstream modules("/proc/modules");
	std::string name, size, users, by, state, address;
	for (std::string line; std::getline(modules, line);) {
		std::istringstream words(line);
		words >> name >> size >> users >> by >> state >> address;
		if (name == "kwarp") {
			uint64_t start = std::stoull(address, nullptr, 16);
			return {start, start + std::stoull(size)};
		}
	}
	throw std::runtime_error("the driver is not a module");
}

} // namespace

bool supported()
{
	return access(file, W_OK) == 0 && access("/sys/kernel/debug/failslab", X_OK) == 0;
}

Scarce::Scarce(int percent)
{
	auto [start, end] = driver_text();
	quiet();
	knob("failslab/times", std::to_string(many));
	knob("failslab/require-start", std::to_string(start));
	knob("failslab/require-end", std::to_string(end));
	// Linux 7.2: accept() over SCTP copies the listening socket. If the copy gets no endpoint,
	// the kernel frees the copy in the state LISTEN, which is reported, and loses memory.
	auto [spared, spared_end] = code_of("sctp_clone_sock");
	knob("failslab/reject-start", std::to_string(spared));
	knob("failslab/reject-end", std::to_string(spared_end));
	knob("failslab/probability", std::to_string(percent));
}

Scarce::~Scarce()
{
	knob("failslab/probability", "0");
	knob("failslab/require-start", "0");
	knob("failslab/require-end", std::to_string(~0UL));
	knob("failslab/reject-start", "0");
	knob("failslab/reject-end", "0");
}

int Scarce::failed() const
{
	int left = 0;
	std::ifstream("/sys/kernel/debug/failslab/times") >> left;
	return many - left;
}

int each(const std::function<void()> &action, int dense)
{
	int threw = 0, tried = 0;

	victim::may_take(std::chrono::minutes(25)); // "rdma link add" with KWARP_THOROUGH: 15
	dense = getenv("KWARP_THOROUGH") ? too_many : lab::repetitions(dense, std::min(dense, 100));
	quiet();
	// Libraries keep some objects from their first call on.
	FailNth none;
	current = &none;
	action();
	const Objects objects;
	for (int n = 1; n < too_many; n += n < dense ? 1 : stride, tried++) {
		SCOPED_TRACE("fault " + std::to_string(n));
		std::string error;
		FailNth fail;
		current = &fail;
		fail.set(n);
		try {
			action();
		} catch (const rdma::Timeout &e) {
			fail.stop();
			ADD_FAILURE() << e.what();
		} catch (const std::exception &e) {
			error = e.what();
			threw++;
		}
		fail.stop();
		std::string left = objects.left();
		EXPECT_EQ(left, "") << error;
		if (fail.left()) {
			std::cout << "# " << tried << " of " << n - 1 << " faults, " << threw
				  << " seen by the caller\n";
			return n;
		}
		if (testing::Test::HasFailure())
			return n;
	}
	throw std::runtime_error("no call without an injected failure");
}

void enough()
{
	current->stop();
}

} // namespace faults
