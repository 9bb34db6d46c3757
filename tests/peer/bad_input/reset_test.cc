// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The peer closes or resets the connection in every state.
#include "../session/session.h"

namespace peer {
namespace {

// A state of the connection. Closing is no error in "between", where the stream ends between
// messages. In "unread" the peer closes with unread data: an error over TCP, which sends RST then,
// but not over SCTP, where the peer sends a Session Terminate.
struct Step {
	const char *name;
	std::function<void(Peer &, Victim &)> reach;
	enum { cut_off, unfinished, between, unread } state;
	bool connection = true; // the consumer has received a request
};

const StartupFrame request = StartupFrame::request(1, {}, pattern(100));

Step in_request(const char *name, size_t n)
{
	return {name,
		[n](Peer &p, Victim &) {
			p.socket.send(View(request.encode()).first(n));
			wait_acknowledged(p.connection());
		},
		n ? Step::cut_off : Step::unfinished, false};
}

void ask(Peer &p, Victim &v)
{
	p.send_request(request);
	v.connection(0);
}

auto operating(std::function<void(Peer &, Victim &)> act)
{
	return [=](Peer &p, Victim &v) {
		ask(p, v);
		p.receive_reply();
		act(p, v);
	};
}

Step in_fpdu(const char *name, size_t n)
{
	return {name, operating([n](Peer &p, Victim &) {
			const Bytes ulpdu = send_segment(1, pattern(100)).encode();
			p.socket.send(View(FpduEncoder(p.out.mode()).encode(ulpdu)).first(n));
		}),
		Step::cut_off};
}

void message(Peer &p, Victim &v)
{
	p.send_message(pattern(100));
	EXPECT_TRUE(v.completion());
}

const Step steps[] = {
	in_request("after_syn", 0),
	in_request("in_key", 5),
	in_request("before_flags", 16),
	in_request("after_header", startup_header_len),
	in_request("in_private_data", 60),
	// the consumer has not accepted yet
	{"after_request_held", ask, Step::unfinished},
	// the peer has not read the reply
	{"after_request", ask, Step::between},
	{"after_reply", operating([](Peer &, Victim &) {}), Step::between},
	in_fpdu("in_fpdu_length", 1),
	in_fpdu("in_ddp_header", 9),
	in_fpdu("in_payload", 70),
	in_fpdu("before_crc", 120),
	// between two segments
	{"in_message",
	 operating([](Peer &p, Victim &) { p.send(send_segment(1, pattern(100), 0, false)); }),
	 Step::unfinished},
	{"after_message", operating(message), Step::between},
	// the victim is sending a long Read Response
	{"in_read_response", operating([](Peer &p, Victim &v) {
		 p.read({1, 2, static_cast<uint32_t>(v.rw->size()), v.rw->rkey(), v.rw->base()});
		 EXPECT_TRUE(p.receive());
	 }),
	 Step::unread},
	// the victim waits for a Read Response
	{"read_outstanding", operating([](Peer &p, Victim &v) {
		 message(p, v);
		 v.connection(0).post_read(*v.local, 0, 100, 1, 2);
		 EXPECT_TRUE(p.receive());
	 }),
	 Step::unfinished},
	// the victim's Sends are not acknowledged
	{"send_outstanding", operating([](Peer &p, Victim &v) {
		 message(p, v);
		 for (int i = 0; i < 40; i++)
			 v.connection(0).post_send(*v.rw, 0, v.rw->size());
	 }),
	 Step::unread},
	{"after_terminate",
	 operating([](Peer &p, Victim &) { p.send(terminate_segment(mpa::crc)); }),
	 Step::unfinished},
};

struct Going {
	Step step;
	bool rst;
};

void PrintTo(const Going &g, std::ostream *os)
{
	*os << (g.rst ? "RST " : "FIN ") << g.step.name;
}

class Leave : public testing::TestWithParam<Going> {};

// The consumer accepts after the peer has left: accept() fails, or an event reports the failure.
void accept_too_late(Victim &v)
{
	std::this_thread::sleep_for(moment);
	Connection &c = v.connection(0);
	try {
		c.accept();
	} catch (const std::system_error &) {
		return;
	}
	EXPECT_TRUE(v.wait([&] { return c.happened.disconnected || c.happened.connect; }))
		<< "the consumer does not learn that the peer has left";
	EXPECT_TRUE(eventually([&] { return c.state() == IBV_QPS_ERR; }));
}

// Brings a connection of a victim of its own into the state, and lets the peer leave.
void leave(const Step &step, bool rst)
{
	const bool held = step.name == std::string("after_request_held");
	Testbed &bed = Testbed::the();
	Victim v({.answer = held ? Answer::hold : Answer::accept, .rw_size = 1 << 20});
	Peer p = Peer::reach(v.address(), lab().peer_socket());
	step.reach(p, v);
	if (rst)
		p.reset();
	else
		p.close();

	if (held) {
		accept_too_late(v);
	} else if (step.connection) {
		Connection &c = v.connection(0);
		EXPECT_TRUE(v.wait([&] {
			return c.happened.disconnected || c.happened.connect.has_value();
		}));
		EXPECT_TRUE(v.settled(0)) << "a posted work request never completed";
		EXPECT_EQ(v.ledger_fault(), "");
		EXPECT_EQ(c.state(), IBV_QPS_ERR);
	}
	const bool clean =
		!rst && (step.state == Step::between || (lab().sctp && step.state == Step::unread));
	EXPECT_TRUE(clean || eventually([&] { return bed.any_error(); }))
		<< "no error counter moved";
	if (!held) // the victim accepts no further connection
		expect_healthy(v);
}

TEST_P(Leave, leaves_nothing_behind)
{
	const auto &[step, rst] = GetParam();
	Testbed &bed = Testbed::the();
	bed.begin();
	leave(step, rst);
	// The counters differ between the states; the objects of the victim are gone.
	bed.expect_anything();
	bed.finish();
}

std::vector<Going> all()
{
	std::vector<Going> g;
	for (const Step &s : steps)
		for (bool rst : {false, true})
			if (!lab().sctp || s.state != Step::cut_off) // SCTP delivers whole messages
				g.push_back({s, rst});
	return g;
}

INSTANTIATE_TEST_SUITE_P(peer, Leave, testing::ValuesIn(all()), [](const auto &info) {
	return std::string(info.param.rst ? "rst_" : "fin_") + info.param.step.name;
});

} // namespace
} // namespace peer
