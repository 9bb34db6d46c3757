// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Faults of the network between the two hosts, until the end of a scope.
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "lab/host.h"

namespace lab {

// Applies tc netem to the packets of both hosts. Segmentation offload is off, so that each segment
// is lost, delayed or duplicated by itself.
class BadNetwork {
public:
	explicit BadNetwork(const std::string &how);
	~BadNetwork();
	BadNetwork(const BadNetwork &) = delete;
	BadNetwork &operator=(const BadNetwork &) = delete;

private:
	Netem a_, b_;
};

// Sets a sysctl in both hosts' namespaces.
class Sysctl {
public:
	Sysctl(std::string name, const std::string &value);
	~Sysctl();
	Sysctl(const Sysctl &) = delete;
	Sysctl &operator=(const Sysctl &) = delete;

private:
	void set(const std::string &value) const;
	std::string name_;
	std::string before_;
};

// Sets the MTU of both ends of the wire; 1500 again at the end.
class Mtu {
public:
	explicit Mtu(int mtu) { set(mtu); }
	~Mtu() { set(1500); }
	Mtu(const Mtu &) = delete;
	Mtu &operator=(const Mtu &) = delete;
	static void set(int mtu);
};

// Sets the MTU of both hosts' IPv4 routes to each other, which may be smaller than IPv6 allows.
class RouteMtu {
public:
	explicit RouteMtu(int mtu) { set(mtu); }
	~RouteMtu() { set(0); }
	RouteMtu(const RouteMtu &) = delete;
	RouteMtu &operator=(const RouteMtu &) = delete;
	static void set(int mtu); // 0: the netdev's
};

// Lets packets of TCP have one segment, without segmentation offload, until the end of the scope.
class OneSegment {
public:
	explicit OneSegment(const Host &host) : host_(host) { set(1); }
	~OneSegment() { set(65535); }
	OneSegment(const OneSegment &) = delete;
	OneSegment &operator=(const OneSegment &) = delete;

private:
	void set(int segments) const;

	const Host &host_;
};

// Segments that the host has retransmitted since it was made.
uint64_t retransmitted(const Host &host);

// Performs the steps one after the other in a thread of its own, with pauses between them.
class Meanwhile {
public:
	template <class Step>
	Meanwhile(int steps, Step step)
		: thread_([this, steps, step] {
			  for (int i = 0; i < steps && !failed_; i++)
				  attempt([&] { step(i); });
			  over_ = true;
		  })
	{
	}
	~Meanwhile() { thread_.join(); }
	Meanwhile(const Meanwhile &) = delete;
	Meanwhile &operator=(const Meanwhile &) = delete;

	bool over() const { return over_; }
	bool failed() const { return failed_; }

private:
	template <class Action>
	void attempt(Action action)
	{
		try {
			action();
		} catch (const std::exception &) {
			failed_ = true;
		}
		std::this_thread::sleep_for(std::chrono::milliseconds(20));
	}

	std::atomic<bool> over_ = false;
	std::atomic<bool> failed_ = false;
	std::thread thread_;
};

} // namespace lab
