// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Memory that a program serves by itself, and a call that sleeps in it while it has a socket's lock.
#pragma once

#include <cstddef>
#include <string>
#include <thread>

#include <sys/types.h>

namespace attach {

// Whether FUSE is there.
bool have_fuse();

// A page of a file of FUSE: whoever reads it first, the kernel too, sleeps until it is served.
class Fault {
public:
	Fault();
	~Fault();
	Fault(const Fault &) = delete;
	Fault &operator=(const Fault &) = delete;

	const void *memory() const { return memory_; }
	// Until somebody sleeps in it.
	void wait();
	// With these octets at its beginning. Only the first time counts.
	void serve(const void *octets = nullptr, size_t length = 0);

private:
	std::string path_;
	void *memory_;
	void *page_; // shared with the server
	int asked_, go_;
	pid_t server_;
};

// A thread in setsockopt(): first outside of the socket lock, then with it, then through.
class Stuck {
public:
	explicit Stuck(int fd);
	~Stuck() { release(); }

	void take_lock();
	void release();

private:
	Fault option_, program_;
	std::thread thread_;
};

} // namespace attach
