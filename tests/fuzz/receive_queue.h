// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A TCP receive queue whose segments lie in memory in any way the kernel has: linear, in fragments, in
// chained buffers, empty ones among them. Each piece is a heap block of its own. Segments may overlap.
#pragma once

#include "fuzz.h"

extern "C" {
#include "../../kernel/rx/stream.h"
}

class ReceiveQueue {
public:
	// Choices of layout come from @layout, again and again.
	ReceiveQueue(Octets layout) : layout_(std::move(layout)) {}
	~ReceiveQueue();

	void arrive(const Octets &o);
	// As tcp_read_done(): buffers that are used up are gone.
	void consume(u32 n);

	sock sk{};

private:
	struct Buffer {
		sk_buff skb{};
		std::vector<Exact> pieces;
		std::vector<std::unique_ptr<Buffer>> chained;
	};
	u32 choice(u32 n);
	std::unique_ptr<Buffer> buffer(const Octets &o, bool chain);
	std::unique_ptr<Buffer> overlapping(const Octets &o, u32 &again);
	void link();

	Octets layout_;
	size_t next_ = 0;
	Octets seen_; // the last octets of the stream
	std::vector<std::unique_ptr<Buffer>> queue_;
};
