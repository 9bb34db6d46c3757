// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// kernel/proto/sq_window.[ch]: the window of a send queue, also against a queue of elements.
#include <algorithm>
#include <deque>

#include "proto.h"

extern "C" {
#include "sq_window.h"
}

namespace {

constexpr u8 flushed = 5;

struct Completion {
	u64 wr_id;
	u8 status;
	bool operator==(const Completion &) const = default;
};

std::ostream &operator<<(std::ostream &out, const Completion &c)
{
	return out << c.wr_id << ":" << int(c.status);
}

class Window {
public:
	explicit Window(u32 size, u32 first = 0) : slots_(size)
	{
		w.slots = slots_.data();
		w.size = size;
		kwarp_window_reset(&w);
		w.done = w.fetched = w.built = first;
	}

	u32 fetch(u64 wr_id, u8 opcode = 0, bool signaled = true)
	{
		u32 idx = w.fetched;
		auto slot = kwarp_window_fetch(&w, wr_id, opcode, signaled);
		EXPECT_EQ(slot, kwarp_window_slot(&w, idx));
		EXPECT_EQ(slot->len, 0u);
		return idx;
	}
	// Delivers all that is due.
	std::vector<Completion> deliver(u8 flush = 0)
	{
		std::vector<Completion> out;
		while (auto slot = kwarp_window_oldest(&w, flush)) {
			if (slot->status || slot->signaled)
				out.push_back({slot->wr_id, slot->status});
			kwarp_window_retire(&w);
		}
		EXPECT_TRUE(kwarp_window_valid(&w));
		return out;
	}

	kwarp_sq_window w{};

private:
	std::vector<kwarp_slot> slots_;
};

using List = std::vector<Completion>;

} // namespace

TEST(sq_window, kwarp_window_posted__in_range)
{
	for (u32 first : {0u, 0xfffffffdu, 0x7fffffffu}) {
		Window v(8, first);
		for (u32 n = 0; n <= 8; n++)
			EXPECT_EQ(kwarp_window_posted(&v.w, first, first + n), n);
		EXPECT_EQ(kwarp_window_posted(&v.w, first, first + 9), 0u);
		EXPECT_EQ(kwarp_window_posted(&v.w, first, first - 1), 0u);
		EXPECT_EQ(kwarp_window_posted(&v.w, first, first + 0x80000000), 0u);
		v.fetch(1);
		v.fetch(2);
		EXPECT_EQ(kwarp_window_posted(&v.w, first + 2, first + 8), 6u);
		EXPECT_EQ(kwarp_window_posted(&v.w, first + 2, first + 9), 0u);
		EXPECT_EQ(kwarp_window_posted(&v.w, first + 2, first + 1), 0u);
		kwarp_window_finish(&v.w, first, 0);
		v.deliver();
		EXPECT_EQ(kwarp_window_posted(&v.w, first + 2, first + 9), 7u);
	}
}

TEST(sq_window, order__is_that_of_fetching)
{
	Window v(4);
	for (u64 id = 10; id < 14; id++)
		v.fetch(id);
	EXPECT_TRUE(kwarp_window_finish(&v.w, 2, 0));
	EXPECT_TRUE(kwarp_window_finish(&v.w, 1, 7));
	EXPECT_EQ(v.deliver(), List{});
	EXPECT_FALSE(kwarp_window_all_done(&v.w));
	EXPECT_TRUE(kwarp_window_finish(&v.w, 0, 0));
	EXPECT_EQ(v.deliver(), (List{{10, 0}, {11, 7}, {12, 0}}));
	EXPECT_FALSE(kwarp_window_finish(&v.w, 1, 0)) << "delivered already";
	EXPECT_TRUE(kwarp_window_finish(&v.w, 3, 0));
	EXPECT_TRUE(kwarp_window_all_done(&v.w));
	EXPECT_EQ(v.deliver(), (List{{13, 0}}));
}

TEST(sq_window, unsignaled__an_error_is_delivered)
{
	Window v(4);
	for (u64 id = 0; id < 3; id++)
		v.fetch(id, 0, false);
	kwarp_window_finish(&v.w, 0, 0);
	kwarp_window_finish(&v.w, 1, 9);
	EXPECT_EQ(v.deliver(), (List{{1, 9}}));
	EXPECT_EQ(v.deliver(flushed), (List{{2, flushed}}));
}

TEST(sq_window, kwarp_window_finish_built__not_what_is_in_progress)
{
	Window v(8);
	v.fetch(0);
	kwarp_window_mark_built(&v.w, 0);
	v.fetch(1); // a read: waits for its response
	v.fetch(2);
	kwarp_window_mark_built(&v.w, 2);
	v.fetch(3); // in progress
	EXPECT_TRUE(kwarp_window_finish_built(&v.w));
	EXPECT_FALSE(kwarp_window_finish_built(&v.w));
	EXPECT_EQ(v.deliver(), (List{{0, 0}}));
	kwarp_window_mark_built(&v.w, 3);
	EXPECT_TRUE(kwarp_window_finish_built(&v.w));
	kwarp_window_finish(&v.w, 1, 0);
	EXPECT_EQ(v.deliver(), (List{{1, 0}, {2, 0}, {3, 0}}));
}

TEST(sq_window, flush_status__of_one_element)
{
	Window v(8);
	for (u64 id = 0; id < 4; id++)
		v.fetch(id, 0, false);
	kwarp_window_finish(&v.w, 1, 0);
	v.w.flush_status = 12;
	EXPECT_EQ(v.deliver(flushed), (List{{0, 12}, {2, flushed}, {3, flushed}}));
	EXPECT_EQ(v.w.flush_status, 0);
}

TEST(sq_window, kwarp_window_find_built__oldest_with_the_opcode)
{
	Window v(8, 0xfffffffe);
	u32 first = v.fetch(0, 1);
	EXPECT_EQ(kwarp_window_find_built(&v.w, 1 << 2), first) << "none: the oldest";
	kwarp_window_mark_built(&v.w, first);
	v.fetch(1, 2); // not built
	u32 third = v.fetch(2, 2);
	kwarp_window_mark_built(&v.w, third);
	EXPECT_EQ(kwarp_window_find_built(&v.w, 1 << 2), third);
	EXPECT_EQ(kwarp_window_find_built(&v.w, 1 << 1 | 1 << 2), first);
	kwarp_window_ack(&v.w, third);
	EXPECT_EQ(v.deliver(), (List{{0, 0}}));
	kwarp_window_finish(&v.w, third - 1, 0);
	EXPECT_EQ(v.deliver(), (List{{1, 0}})) << "the third is not acknowledged";
}

namespace {

// Elements in a list, each with its state: what the window is to do, without indices or rings.
class Model {
public:
	struct Element {
		u32 idx;
		u64 wr_id;
		u8 opcode;
		bool signaled;
		kwarp_slot_state state = KWARP_SLOT_PENDING;
		u8 status = 0;
	};

	void finish(u32 idx, u8 status)
	{
		for (auto &e : list)
			if (e.idx == idx) {
				e.state = KWARP_SLOT_DONE;
				e.status = status;
			}
	}
	// Finishes what is built, of the first number of elements.
	void finish_built(size_t number)
	{
		for (size_t i = 0; i < std::min(number, list.size()); i++)
			if (list[i].state == KWARP_SLOT_BUILT)
				list[i].state = KWARP_SLOT_DONE;
	}
	u32 find_built(u32 opcodes, u32 none) const
	{
		for (auto &e : list)
			if (e.state == KWARP_SLOT_BUILT && opcodes >> e.opcode & 1)
				return e.idx;
		return none;
	}
	List deliver(u8 flush = 0, u8 first = 0)
	{
		List out;
		while (!list.empty() && (flush || list.front().state == KWARP_SLOT_DONE)) {
			Element e = list.front();
			list.pop_front();
			if (e.state != KWARP_SLOT_DONE) {
				e.status = first ? first : flush;
				first = 0;
			}
			if (e.status || e.signaled)
				out.push_back({e.wr_id, e.status});
		}
		return out;
	}
	bool all_done() const
	{
		return std::ranges::all_of(list,
					   [](auto &e) { return e.state == KWARP_SLOT_DONE; });
	}

	std::deque<Element> list;
};

// One queue from its first element to its flush. With acknowledgments (acks), built elements are
// finished by kwarp_window_ack(), otherwise by kwarp_window_finish_built().
void one_life(u32 size, u32 first, bool acks)
{
	Window v(size, first);
	Model model;
	u64 next_id = 0;
	u32 acked = first;

	for (int step = 0; step < 400; step++) {
		u32 oldest = v.w.done;
		bool last_pending = !model.list.empty() &&
				    model.list.back().state == KWARP_SLOT_PENDING;
		switch (pick(0, 6)) {
		case 0:
		case 1: {
			if (v.w.fetched - v.w.done == size)
				break;
			u8 opcode = static_cast<u8>(pick(0, 12));
			bool signaled = coin();
			u32 idx = v.fetch(next_id, opcode, signaled);
			model.list.push_back({idx, next_id++, opcode, signaled});
			break;
		}
		case 2:
			if (last_pending) {
				kwarp_window_mark_built(&v.w, model.list.back().idx);
				model.list.back().state = KWARP_SLOT_BUILT;
			}
			break;
		case 3: {
			// any element, also one that was delivered
			if (v.w.fetched == first)
				break;
			u32 idx = v.w.fetched - 1 -
				  pick(0, std::min(v.w.fetched - first, size) - 1);
			u8 status = static_cast<u8>(pick(0, 3));
			bool there = static_cast<s32>(idx - oldest) >= 0;
			EXPECT_EQ(kwarp_window_finish(&v.w, idx, status), there);
			model.finish(idx, status);
			break;
		}
		case 4:
			if (acks) {
				// up to any element that was built, or passed by those
				u32 limit = v.w.fetched - (last_pending ? 1 : 0);
				if (static_cast<s32>(limit - acked) > 0)
					acked += pick(0, limit - acked);
				kwarp_window_ack(&v.w, acked);
				if (static_cast<s32>(acked - oldest) > 0)
					model.finish_built(acked - oldest);
			} else {
				kwarp_window_finish_built(&v.w);
				model.finish_built(model.list.size());
			}
			break;
		case 5: {
			u32 opcodes = pick(0, (1 << 13) - 1);
			EXPECT_EQ(kwarp_window_find_built(&v.w, opcodes),
				  model.find_built(opcodes, v.w.done));
			break;
		}
		case 6:
			ASSERT_EQ(v.deliver(), model.deliver());
			break;
		}
		ASSERT_TRUE(kwarp_window_valid(&v.w));
		ASSERT_EQ(kwarp_window_all_done(&v.w), model.all_done());
		ASSERT_EQ(v.w.fetched - v.w.done, model.list.size());
	}
	u8 status = coin() ? 12 : 0;
	v.w.flush_status = status;
	ASSERT_EQ(v.deliver(flushed), model.deliver(flushed, status));
	EXPECT_EQ(v.w.done, v.w.fetched);
}

} // namespace

TEST(sq_window, model)
{
	for (int i = 0; i < 300; i++)
		for (bool acks : {false, true})
			one_life(1u << pick(0, 5), coin() ? 0 : ~0u - pick(0, 200), acks);
}
