// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Threads on a processor of their own choice, and with priority over all others.
#pragma once

#include <fstream>
#include <functional>
#include <optional>
#include <pthread.h>
#include <sched.h>
#include <semaphore>
#include <string>
#include <thread>

#include "rdma/failure.h"

namespace rdma {

inline void stay_on(pthread_t thread, int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	check(pthread_setaffinity_np(thread, sizeof(set), &set), "pthread_setaffinity_np");
}

// Changes the contents of a kernel file until the end of the scope.
class Setting {
public:
	Setting(const std::string &file, const std::string &value) : file_(file)
	{
		std::ifstream(file) >> before_;
		if (before_.empty())
			throw Failure(file, ENOENT);
		set(value);
	}
	~Setting() { set(before_); }
	Setting(const Setting &) = delete;
	Setting &operator=(const Setting &) = delete;

private:
	void set(const std::string &value) { std::ofstream(file_) << value; }

	std::string file_, before_;
};

// A thread on a CPU with priority over all other threads, without a limit of its CPU time.
class Urgent {
public:
	explicit Urgent(int cpu = 0)
	{
		const std::string file = "/sys/kernel/debug/sched/fair_server/cpu" +
					 std::to_string(cpu) + "/runtime";
		if (std::ifstream(file))
			reserve_.emplace(file, "0");
		thread_ = std::thread([this] {
			for (due_.acquire(); job_; due_.acquire()) {
				job_();
				over_.release();
			}
		});
		const sched_param first{.sched_priority = 1};
		check(pthread_setschedparam(thread_.native_handle(), SCHED_FIFO, &first),
		      "SCHED_FIFO");
		stay_on(thread_.native_handle(), cpu);
	}
	~Urgent()
	{
		job_ = {};
		due_.release();
		thread_.join();
	}
	Urgent(const Urgent &) = delete;
	Urgent &operator=(const Urgent &) = delete;

	// The job must not throw. Each start() is followed by wait().
	void start(std::function<void()> job)
	{
		job_ = std::move(job);
		due_.release();
	}
	void wait() { over_.acquire(); }
	void run(std::function<void()> job)
	{
		start(std::move(job));
		wait();
	}

private:
	Setting limit_{"/proc/sys/kernel/sched_rt_runtime_us", "-1"};
	std::optional<Setting> reserve_;
	std::binary_semaphore due_{0}, over_{0};
	std::function<void()> job_;
	std::thread thread_;
};

} // namespace rdma
