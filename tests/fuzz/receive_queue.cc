// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "receive_queue.h"

ReceiveQueue::~ReceiveQueue() = default;

u32 ReceiveQueue::choice(u32 n)
{
	if (layout_.empty())
		return 0;
	u32 v = layout_[next_++ % layout_.size()];
	// Vary the layout in the next round.
	return (v + static_cast<u32>(next_ / layout_.size()) * 7) % n;
}

// A linear part, fragments, and the rest in chained buffers or the last fragment.
std::unique_ptr<ReceiveQueue::Buffer> ReceiveQueue::buffer(const Bytes &o, bool chain)
{
	auto b = std::make_unique<Buffer>();
	size_t at = 0;
	u32 kind = choice(8);
	auto piece = [&](size_t n) -> Exact & {
		n = std::min(n, o.size() - at);
		b->pieces.emplace_back(o.data() + at, n);
		at += n;
		return b->pieces.back();
	};

	b->pieces.reserve(MAX_SKB_FRAGS + 1);
	b->skb.len = static_cast<u32>(o.size());
	Exact &head = piece(kind & 1 ? o.size() : choice(200));
	b->skb.data = head.data();
	b->skb.headlen = head.size();
	if (chain && kind & 4) {
		while (at < o.size() && b->chained.size() < 4) {
			size_t n = std::min<size_t>(1 + choice(255) * 3, o.size() - at);
			b->chained.push_back(buffer(slice(o, at, n), false));
			at += n;
		}
		for (size_t i = b->chained.size(); i-- > 0;) {
			b->chained[i]->skb.next = b->skb.shared.frag_list;
			b->skb.shared.frag_list = &b->chained[i]->skb;
		}
		b->skb.len = static_cast<u32>(at);
		return b;
	}
	auto fragment = [&](u8 *p, u32 n) {
		b->skb.shared.frags[b->skb.shared.nr_frags++] = {p, n};
	};
	while (at < o.size()) {
		bool last = b->skb.shared.nr_frags == MAX_SKB_FRAGS - 1;
		Exact &frag = piece(last ? o.size() : choice(256) * 2);
		// Adjacent in memory: pages of one allocation.
		u32 cut = b->skb.shared.nr_frags > MAX_SKB_FRAGS - 3 || choice(3) ?
				  0 :
				  choice(256) % (frag.size() + 1);
		if (cut)
			fragment(frag.data(), cut);
		fragment(frag.data() + cut, frag.size() - cut);
		if (last)
			break;
	}
	return b;
}

// An out-of-order segment is queued unchanged, even if the data that filled the gap cover its
// beginning.
std::unique_ptr<ReceiveQueue::Buffer> ReceiveQueue::overlapping(const Bytes &o, u32 &again)
{
	again = choice(3) ? 0 : std::min<u32>(choice(100), static_cast<u32>(seen_.size()));
	Bytes all(seen_.end() - again, seen_.end());
	all.insert(all.end(), o.begin(), o.end());
	auto b = buffer(all, true);
	if (b->skb.len > again)
		return b;
	again = 0;
	return buffer(o, true);
}

void ReceiveQueue::arrive(const Bytes &o)
{
	for (size_t at = 0; at < o.size();) {
		u32 again;
		auto b = overlapping(slice(o, at, o.size() - at), again);
		u32 fresh = b->skb.len - again;
		b->skb.seq = sk.rcv_nxt - again;
		seen_.insert(seen_.end(), o.begin() + at, o.begin() + at + fresh);
		at += fresh;
		sk.rcv_nxt += fresh;
		queue_.push_back(std::move(b));
	}
	if (seen_.size() > 1000)
		seen_.erase(seen_.begin(), seen_.end() - 100);
	link();
}

void ReceiveQueue::consume(u32 n)
{
	sk.copied_seq += n;
	std::erase_if(queue_, [&](const auto &b) {
		return static_cast<int>(b->skb.seq + b->skb.len - sk.copied_seq) <= 0;
	});
	link();
}

void ReceiveQueue::link()
{
	sk.sk_receive_queue.first = queue_.empty() ? nullptr : &queue_.front()->skb;
	for (size_t i = 0; i < queue_.size(); i++)
		queue_[i]->skb.next = i + 1 < queue_.size() ? &queue_[i + 1]->skb : nullptr;
}
