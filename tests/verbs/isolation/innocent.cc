// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "innocent.h"

#include <algorithm>
#include <vector>

namespace isolation {

std::string to_string(Clock::duration time)
{
	return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) +
	       " ms";
}

std::string to_string(const Figures &figures)
{
	return std::to_string(figures.count) + " set-ups, median " + to_string(figures.median) +
	       ", longest " + to_string(figures.longest);
}

void Innocent::set_up()
{
	rdma::Endpoint client(lab::a());
	client.resolve(listener_);
	client.connect();
	rdma::Endpoint server(listener_.request());
	server.accept();
	client.established();
}

Figures Innocent::connect(size_t count, const std::function<bool()> &over)
{
	std::vector<Clock::duration> all;
	Figures figures;
	while (all.size() < count || !over()) {
		const auto begin = Clock::now();
		try {
			set_up();
		} catch (const std::exception &e) {
			figures.failed++;
			figures.failure = e.what();
		}
		all.push_back(Clock::now() - begin);
	}
	std::sort(all.begin(), all.end());
	figures.count = all.size();
	figures.median = all[all.size() / 2];
	figures.longest = all.back();
	return figures;
}

} // namespace isolation
