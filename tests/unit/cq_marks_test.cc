// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// kernel/core/cq_marks.h: a CQ's marks of its last event and its last solicited completion, over
// more completions than the indices of the CQ can distinguish.
#include <gtest/gtest.h>

#include "code.h"

extern "C" {
#include "../core/cq_marks.h"
}

namespace {

constexpr u32 ring = 1U << 20; // the largest CQ

// A CQ that is always polled empty, and keeps its marks as core/cq.c does.
struct Queue {
	kwarp_cq_marks marks{};
	u32 prod = 0;
	u32 cons = 0;

	void push(bool solicited = false)
	{
		kwarp_cq_marks_follow(&marks, cons);
		prod++;
		if (solicited)
			marks.solicited = prod;
	}
	void event() { marks.event = prod; }
	void poll() { cons = prod; }
	// As many completions as the ring holds, all polled: more never pass without an update of
	// the marks.
	void ringful()
	{
		kwarp_cq_marks_follow(&marks, cons);
		prod += ring;
		poll();
	}
	bool missed() const { return kwarp_cq_marks_missed(&marks, prod, cons); }
	bool missed_solicited() const
	{
		return kwarp_cq_marks_missed(&marks, marks.solicited, cons);
	}
};

// Starting points, including the wraps of signed and unsigned comparison.
const u32 starts[] = {0,	 1, 0x7fffffff - ring, 0x7fffffff, 0x80000000, 0xffffffff - ring,
		      0xffffffff};

Queue queue_at(u32 start)
{
	Queue q;
	q.marks = {start, start};
	q.prod = q.cons = start;
	return q;
}

} // namespace

TEST(cq_marks, no_completion)
{
	for (u32 start : starts) {
		Queue q = queue_at(start);
		EXPECT_FALSE(q.missed());
		EXPECT_FALSE(q.missed_solicited());
	}
}

TEST(cq_marks, pushed_reported_polled)
{
	for (u32 start : starts) {
		Queue q = queue_at(start);
		q.push();
		EXPECT_TRUE(q.missed());
		EXPECT_FALSE(q.missed_solicited());
		q.push(true);
		EXPECT_TRUE(q.missed_solicited());
		q.event();
		EXPECT_FALSE(q.missed());
		EXPECT_FALSE(q.missed_solicited());
		q.push();
		EXPECT_TRUE(q.missed());
		EXPECT_FALSE(q.missed_solicited());
		q.poll();
		EXPECT_FALSE(q.missed());
	}
}

TEST(cq_marks, old_solicited_one_does_not_come_back)
{
	for (u32 start : starts) {
		Queue q = queue_at(start);
		q.push(true);
		q.poll();
		q.event();
		// four times around, with an occasional event, none of them solicited
		for (unsigned int n = 0; n < 4 * (1U << 12); n++) {
			q.ringful();
			q.event();
			q.push();
			ASSERT_FALSE(q.missed_solicited()) << n << " ringfuls from " << start;
			ASSERT_TRUE(q.missed()) << n << " ringfuls from " << start;
		}
	}
}

TEST(cq_marks, old_event_does_not_hide_what_comes)
{
	for (u32 start : starts) {
		Queue q = queue_at(start);
		q.push();
		q.event();
		q.poll();
		// no event at all: a program that polls and then decides to sleep
		for (unsigned int n = 0; n < 4 * (1U << 12); n++) {
			q.ringful();
			q.push(true);
			ASSERT_TRUE(q.missed()) << n << " ringfuls from " << start;
			ASSERT_TRUE(q.missed_solicited()) << n << " ringfuls from " << start;
		}
	}
}

TEST(cq_marks, full_ring_waits)
{
	for (u32 start : starts) {
		Queue q = queue_at(start);
		q.push(true);
		q.prod += ring - 1;
		EXPECT_TRUE(q.missed());
		EXPECT_TRUE(q.missed_solicited());
	}
}
