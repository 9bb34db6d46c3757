// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// kernel/proto/qp_state.[ch]: the whole table, compared with rules and with invariants of any such
// table.
#include "proto.h"

#include <set>

extern "C" {
#include "qp_state.h"
}

namespace {

enum class Connection { none, awaited, up, lost };

// The properties that the name of a state implies.
struct Meaning {
	kwarp_qp_shown shown;
	Connection connection;
	bool partner;
	bool failed;

	bool operator==(const Meaning &) const = default;
};

Meaning meaning(kwarp_qp_state state)
{
	using enum Connection;
	switch (state) {
	case KWARP_QP_RESET:
		return {KWARP_QP_SHOWN_RESET, none, false, false};
	case KWARP_QP_IDLE:
		return {KWARP_QP_SHOWN_INIT, none, false, false};
	case KWARP_QP_READY:
		return {KWARP_QP_SHOWN_RTR, none, false, false};
	case KWARP_QP_ACCEPTED:
		return {KWARP_QP_SHOWN_RTR, awaited, false, false};
	case KWARP_QP_SEEKING_RTR:
		return {KWARP_QP_SHOWN_RTR, none, true, false};
	case KWARP_QP_SEEKING_RTS:
		return {KWARP_QP_SHOWN_RTS, none, true, false};
	case KWARP_QP_SEEKING_SQD:
		return {KWARP_QP_SHOWN_SQD, none, true, false};
	case KWARP_QP_OPEN:
		return {KWARP_QP_SHOWN_RTS, up, false, false};
	case KWARP_QP_CLOSING:
		return {KWARP_QP_SHOWN_SQD, up, false, false};
	case KWARP_QP_MET_RTR:
		return {KWARP_QP_SHOWN_RTR, up, true, false};
	case KWARP_QP_MET_RTS:
		return {KWARP_QP_SHOWN_RTS, up, true, false};
	case KWARP_QP_MET_SQD:
		return {KWARP_QP_SHOWN_SQD, up, true, false};
	case KWARP_QP_LOST_RTR:
		return {KWARP_QP_SHOWN_RTR, lost, true, false};
	case KWARP_QP_LOST_RTS:
		return {KWARP_QP_SHOWN_RTS, lost, true, false};
	case KWARP_QP_LOST_SQD:
		return {KWARP_QP_SHOWN_SQD, lost, true, false};
	case KWARP_QP_ERROR:
		return {KWARP_QP_SHOWN_ERR, none, false, true};
	case KWARP_QP_PARTNER_ERROR:
		return {KWARP_QP_SHOWN_ERR, none, true, true};
	default:
		break;
	}
	ADD_FAILURE() << "no meaning: " << state;
	return {};
}

std::vector<kwarp_qp_state> states()
{
	std::vector<kwarp_qp_state> all;
	for (int i = KWARP_QP_RESET; i < KWARP_QP_STATES; i++)
		all.push_back(static_cast<kwarp_qp_state>(i));
	return all;
}

std::vector<kwarp_qp_step> steps()
{
	std::vector<kwarp_qp_step> all;
	for (int i = 0; i < KWARP_QP_STEPS; i++)
		all.push_back(static_cast<kwarp_qp_step>(i));
	return all;
}

kwarp_qp_state state_of(const Meaning &m)
{
	for (auto s : states())
		if (meaning(s) == m)
			return s;
	ADD_FAILURE() << "no state shows " << m.shown;
	return KWARP_QP_REFUSED;
}

kwarp_qp_state refused()
{
	return KWARP_QP_REFUSED;
}

// A queue pair of iWARP: the connection moves the queue pair to RTS, modify_qp does not.
kwarp_qp_state expected_alone(const Meaning &from, kwarp_qp_step step)
{
	bool no_connection = from.connection == Connection::none ||
			     from.connection == Connection::awaited;
	bool idle = no_connection && !from.failed && from.shown != KWARP_QP_SHOWN_RESET;
	bool awaited = from.connection == Connection::awaited;
	switch (step) {
	case KWARP_QP_TO_RESET:
		return no_connection ? KWARP_QP_RESET : refused();
	case KWARP_QP_TO_INIT:
		if (awaited)
			return KWARP_QP_ACCEPTED;
		return no_connection ? KWARP_QP_IDLE : refused();
	case KWARP_QP_TO_RTR:
		if (awaited)
			return KWARP_QP_ACCEPTED;
		return idle ? KWARP_QP_READY : refused();
	case KWARP_QP_TO_PARTNER:
		return idle && !awaited ? KWARP_QP_SEEKING_RTR : refused();
	case KWARP_QP_TO_RTS:
		return from.connection == Connection::up && from.shown == KWARP_QP_SHOWN_RTS ?
			       KWARP_QP_OPEN :
			       refused();
	case KWARP_QP_TO_SQD:
		if (from.failed)
			return KWARP_QP_ERROR;
		return from.connection == Connection::up ? KWARP_QP_CLOSING : refused();
	case KWARP_QP_TO_ERR:
		return KWARP_QP_ERROR;
	case KWARP_QP_ACCEPT:
		return idle ? KWARP_QP_ACCEPTED : refused();
	case KWARP_QP_ATTACH:
		return idle ? KWARP_QP_OPEN : refused();
	default:
		return refused();
	}
}

// As a reliable connection of InfiniBand, except that a queue pair reaches INIT only through RESET,
// before which its connection ends.
kwarp_qp_state expected_with_partner(const Meaning &from, kwarp_qp_step step)
{
	Meaning to = from;
	switch (step) {
	case KWARP_QP_TO_RESET:
		return from.connection == Connection::none ? KWARP_QP_RESET : refused();
	case KWARP_QP_TO_RTS:
		to.shown = KWARP_QP_SHOWN_RTS;
		return from.failed ? refused() : state_of(to);
	case KWARP_QP_TO_SQD:
		to.shown = KWARP_QP_SHOWN_SQD;
		return from.failed || from.shown == KWARP_QP_SHOWN_RTR ? refused() : state_of(to);
	case KWARP_QP_TO_ERR:
		return KWARP_QP_PARTNER_ERROR;
	case KWARP_QP_ATTACH:
		to.connection = Connection::up;
		return from.failed || from.connection != Connection::none ? refused() :
									    state_of(to);
	case KWARP_QP_UNMEET:
		to.connection = Connection::none;
		return from.connection == Connection::up ? state_of(to) : refused();
	case KWARP_QP_LOSE:
		to.connection = Connection::lost;
		return from.connection == Connection::up || from.connection == Connection::lost ?
			       state_of(to) :
			       refused();
	default:
		return refused();
	}
}

} // namespace

TEST(qp_state, kwarp_qp_next__every_state_and_step)
{
	for (auto from : states())
		for (auto step : steps()) {
			Meaning m = meaning(from);
			EXPECT_EQ(kwarp_qp_next(from, step),
				  m.partner ? expected_with_partner(m, step) :
					      expected_alone(m, step))
				<< "state " << from << ", step " << step;
		}
}

TEST(qp_state, kwarp_qp_next__each_state_can_be_reached)
{
	std::set<kwarp_qp_state> reached{KWARP_QP_IDLE};
	for (bool more = true; more;) {
		more = false;
		for (auto from : std::set(reached))
			for (auto step : steps()) {
				auto next = kwarp_qp_next(from, step);
				more |= next != KWARP_QP_REFUSED && reached.insert(next).second;
			}
	}
	EXPECT_EQ(reached.size(), states().size());
}

// A consumer can return the queue pair from any state to the initial one.
TEST(qp_state, kwarp_qp_next__there_is_a_way_back)
{
	for (auto from : states()) {
		auto failed = kwarp_qp_next(from, KWARP_QP_TO_ERR);
		EXPECT_TRUE(kwarp_qp_is_failed(failed)) << from;
		EXPECT_EQ(kwarp_qp_next(failed, KWARP_QP_TO_RESET), KWARP_QP_RESET) << from;
	}
	EXPECT_EQ(kwarp_qp_next(KWARP_QP_RESET, KWARP_QP_TO_INIT), KWARP_QP_IDLE);
}

TEST(qp_state, kwarp_qp_next__no_state_no_step)
{
	for (auto step : steps()) {
		EXPECT_EQ(kwarp_qp_next(KWARP_QP_REFUSED, step), KWARP_QP_REFUSED);
		EXPECT_EQ(kwarp_qp_next(KWARP_QP_STATES, step), KWARP_QP_REFUSED);
	}
	for (auto from : states())
		EXPECT_EQ(kwarp_qp_next(from, KWARP_QP_STEPS), KWARP_QP_REFUSED);
}

TEST(qp_state, kwarp_qp_traits__as_the_state_is_called)
{
	for (auto s : states()) {
		Meaning m = meaning(s);
		const kwarp_qp_traits &is = kwarp_qp_traits_of[s];
		bool reset = m.shown == KWARP_QP_SHOWN_RESET;
		EXPECT_EQ(is.shown, m.shown) << s;
		EXPECT_EQ(is.partner, m.partner) << s;
		EXPECT_EQ(is.idle, kwarp_qp_next(s, KWARP_QP_ATTACH) != KWARP_QP_REFUSED) << s;
		// In SQD a queue pair with a partner pauses; one without drains its sends.
		EXPECT_EQ(is.sends, m.connection == Connection::up &&
					    !(m.partner && m.shown == KWARP_QP_SHOWN_SQD))
			<< s;
		EXPECT_EQ(is.rq_closed, reset) << s;
		EXPECT_EQ(is.sq_closed, reset || s == KWARP_QP_IDLE || s == KWARP_QP_READY) << s;
		EXPECT_EQ(kwarp_qp_is_failed(s), m.failed) << s;
		EXPECT_EQ(kwarp_qp_is_met(s), m.partner && m.connection == Connection::up) << s;
		EXPECT_EQ(kwarp_qp_is_lost(s), m.connection == Connection::lost) << s;
	}
}
