// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A TCP receive queue whose segments are in memory in all forms that the kernel uses: linear, in
// fragments, in chained buffers, some of them empty. Each piece is a heap block of its own.
// Segments may overlap.
#pragma once

#include "fuzz.h"

extern "C" {
#include "llp/mpa/cursor.h"
}

class ReceiveQueue {
public:
	// Layout choices come from @layout, which is repeated.
	ReceiveQueue(Bytes layout) : layout_(std::move(layout)) {}
	~ReceiveQueue();

	void arrive(const Bytes &o);
	// Like tcp_read_done(): frees buffers that are used up.
	void consume(u32 n);

	sock sk{};

private:
	struct Buffer {
		sk_buff skb{};
		std::vector<Exact> pieces;
		std::vector<std::unique_ptr<Buffer>> chained;
	};
	u32 choice(u32 n);
	std::unique_ptr<Buffer> buffer(const Bytes &o, bool chain);
	std::unique_ptr<Buffer> overlapping(const Bytes &o, u32 &again);
	void link();

	Bytes layout_;
	size_t next_ = 0;
	Bytes seen_; // the last bytes of the stream
	std::vector<std::unique_ptr<Buffer>> queue_;
};
