// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Memory that the program itself serves, and a call that sleeps in it while it holds a socket's
// lock.
#pragma once

#include <cstddef>
#include <string>
#include <thread>

#include <sys/types.h>

namespace attach {

// Whether FUSE is available.
bool have_fuse();

// A page of a FUSE file: whatever reads it first, including the kernel, sleeps until it is served.
class Fault {
public:
	Fault();
	~Fault();
	Fault(const Fault &) = delete;
	Fault &operator=(const Fault &) = delete;

	const void *memory() const { return memory_; }
	// Waits until a reader sleeps in it.
	void wait();
	// Serves it, with these bytes at its beginning. Only the first call has an effect.
	void serve(const void *bytes = nullptr, size_t length = 0);

private:
	std::string path_;
	void *memory_;
	void *page_; // shared with the server
	int asked_, go_;
	pid_t server_;
};

// A thread in setsockopt(): first outside of the socket lock, then holding it, then finished.
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
