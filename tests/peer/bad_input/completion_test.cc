// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RFC 5040 5.5 rule 14: a Send or Write completes after DDP has completed it, which requires that
// all its bytes were given to the LLP (RFC 5041 5.4).
#include <algorithm>

#include "../session/session.h"

namespace peer {
namespace {

// The victim's messages: the first ones fit into the buffers of TCP or SCTP, all of them do not.
constexpr size_t messages = 60, few = 20, small = 4000;

// TCP's buffers grow to several megabytes.
size_t large()
{
	return lab().sctp ? 50000 : 150000;
}

struct Range {
	size_t at, len;
};

Range range_of(size_t i)
{
	if (i < few)
		return {i * small, small};
	return {few * small + (i - few) * large(), large()};
}

bool is_send(size_t i)
{
	return i % 3 == 0;
}

void post_all(Session &s)
{
	for (size_t i = 0; i < messages; i++) {
		const Range r = range_of(i);
		if (is_send(i))
			s.c().post_send(*s.v.rw, r.at, r.len);
		else
			s.c().post_write(*s.v.rw, r.at, r.len, 0x4711, i << 32);
	}
}

// Polls until no completion comes within the limit. Overwrites the source of each message that is
// complete, as a consumer may. Returns the number of completions.
size_t overwrite_completed(Session &s, size_t done, Millis limit)
{
	while (done < messages) {
		const std::optional<ibv_wc> wc = s.v.completion(limit);
		if (!wc)
			break;
		EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
		EXPECT_EQ(Victim::index_of(wc->wr_id), done);
		const Range r = range_of(done++);
		std::fill_n(s.v.rw->data() + r.at, r.len, uint8_t{0xEE});
	}
	return done;
}

TEST(Conformance, no_completion_before_the_bytes_are_taken)
{
	const size_t all_bytes = range_of(messages).at;
	Session s(Terms{.victim = Options{.rw_size = all_bytes}});
	s.may_touch(*s.v.rw, {0, all_bytes});
	s.message();
	post_all(s);
	// The peer does not read.
	size_t done = overwrite_completed(s, 0, moment);
	EXPECT_LT(done, messages) << "all have completed before the peer reads";
	for (size_t i = 0; i < messages; i++) {
		const Range r = range_of(i);
		const Segment got = s.receives(is_send(i) ? op_send : op_write);
		EXPECT_TRUE(same(got.payload, s.v.rw->original(r.at, r.len))) << "message " << i;
		done = overwrite_completed(s, done, Millis{0});
	}
	EXPECT_EQ(overwrite_completed(s, done, patience), messages);
	s.judge(lives());
}

} // namespace
} // namespace peer
