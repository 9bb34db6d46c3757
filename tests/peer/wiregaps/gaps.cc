// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "gaps.h"

#include <algorithm>

namespace wiregaps {

void Gaps::queue(uint64_t from, uint64_t to)
{
	early_ += to - from;
	auto at = waiting_.upper_bound(from);
	if (at != waiting_.begin() && std::prev(at)->second >= from) {
		--at;
		early_ -= std::min(at->second, to) - from;
		from = at->first;
		to = std::max(to, at->second);
		at = waiting_.erase(at);
	}
	while (at != waiting_.end() && at->first <= to) {
		early_ -= std::min(at->second, to) - at->first;
		to = std::max(to, at->second);
		at = waiting_.erase(at);
	}
	waiting_[from] = to;
}

void Gaps::arrives(uint32_t seq, uint32_t length, uint64_t time)
{
	if (!closings_.empty() && !closings_.back().until)
		closings_.back().until = time;
	int32_t ahead = static_cast<int32_t>(seq - (base_ + static_cast<uint32_t>(next_)));
	int64_t from = static_cast<int64_t>(next_) + ahead, to = from + length;
	if (to <= static_cast<int64_t>(next_))
		return;
	if (ahead > 0)
		return queue(static_cast<uint64_t>(from), static_cast<uint64_t>(to));
	next_ = static_cast<uint64_t>(to);
	uint64_t released = 0;
	for (auto at = waiting_.begin(); at != waiting_.end() && at->first <= next_;
	     at = waiting_.erase(at)) {
		released += at->second - at->first;
		next_ = std::max(next_, at->second);
	}
	if (released)
		closings_.push_back({released, time, 0});
}

std::vector<uint64_t> closing_times(const std::vector<Closing> &closings,
				    const std::vector<uint64_t> &deliveries)
{
	std::vector<uint64_t> times;
	for (const Closing &c : closings) {
		auto first = std::ranges::lower_bound(deliveries, c.time);
		auto end = c.until ? std::ranges::lower_bound(deliveries, c.until) :
				     deliveries.end();
		if (first < end)
			times.push_back(*std::prev(end) - c.time);
	}
	return times;
}

std::map<wirecheck::Flow, Gaps> read_gaps(const std::string &file)
{
	std::map<wirecheck::Flow, Gaps> all;
	wirecheck::for_each_segment(file, [&](const wirecheck::TcpSegment &s) {
		if (s.syn)
			all.insert_or_assign(s.flow, Gaps(s.seq + 1));
		else if (auto found = all.find(s.flow); found != all.end())
			found->second.arrives(s.seq, s.length, s.time);
	});
	return all;
}

} // namespace wiregaps
