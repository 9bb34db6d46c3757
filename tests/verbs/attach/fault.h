// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Memory whose pages the program itself provides (FUSE), and a call that sleeps in a page fault
// there while it holds the lock of a socket.
#pragma once

#include <cstddef>
#include <string>
#include <thread>

#include <sys/types.h>

namespace attach {

// Whether FUSE is available.
bool have_fuse();

// A page of a FUSE file: the first reader, including the kernel, sleeps until serve() is called.
class Fault {
public:
	Fault();
	~Fault();
	Fault(const Fault &) = delete;
	Fault &operator=(const Fault &) = delete;

	const void *memory() const { return memory_; }
	// Waits until a reader sleeps.
	void wait();
	// Provides the page, which begins with these bytes. Only the first call has an effect.
	void serve(const void *bytes = nullptr, size_t length = 0);

private:
	std::string path_;
	void *memory_;
	void *page_; // shared with the server
	int asked_, go_;
	pid_t server_;
};

// A thread in setsockopt(): first without the socket lock, then with the lock, then finished.
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
