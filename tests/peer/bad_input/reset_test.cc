// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The peer goes away, by FIN or RST, at every step of a connection's life.
#include "../session/session.h"
#include "../session/traffic.h"

namespace peer {
namespace {

enum class Step {
	after_syn,
	in_key,
	before_flags,
	after_header,
	in_private_data,
	after_request_held, // the consumer has not answered yet
	after_request,	    // and not read the reply
	after_reply,
	in_fpdu_length,
	in_ddp_header,
	in_payload,
	before_crc,
	in_message, // between two segments
	after_message,
	in_read_response, // the victim is sending much
	read_outstanding, // the victim waits for a response
	send_outstanding, // the victim's Send is not acknowledged
	after_terminate,
	last,
};

constexpr const char *names[] = {
	"after_syn",	    "in_key",		"before_flags",
	"after_header",	    "in_private_data",	"after_request_held",
	"after_request",    "after_reply",	"in_fpdu_length",
	"in_ddp_header",    "in_payload",	"before_crc",
	"in_message",	    "after_message",	"in_read_response",
	"read_outstanding", "send_outstanding", "after_terminate",
};

struct Going {
	Step step;
	bool rst;
};

class Leave : public testing::TestWithParam<Going> {
protected:
	static void go(Peer &p, bool rst)
	{
		if (rst)
			p.reset();
		else
			p.close();
	}

	// Up to the step, beginning with a connected socket.
	static void advance(Peer &p, Victim &v, Step step)
	{
		const Bytes request = StartupFrame::request(1, {}, pattern(100)).encode();
		const size_t lengths[] = {0, 5, 16, startup_header_len, 60};
		if (step <= Step::in_private_data) {
			p.socket.send(View(request).first(lengths[static_cast<size_t>(step)]));
			std::this_thread::sleep_for(Millis{10});
			return;
		}
		p.send_request(StartupFrame::request(1, {}, pattern(100)));
		v.connection(0);
		if (step == Step::after_request_held || step == Step::after_request)
			return;
		p.receive_reply();
		in_operation(p, v, step);
	}

	static void in_operation(Peer &p, Victim &v, Step step)
	{
		const Bytes fpdu =
			FpduEncoder(p.out.mode()).encode(send_segment(1, pattern(100)).encode());
		auto first = [&](size_t n) { p.socket.send(View(fpdu).first(n)); };
		auto message = [&] {
			p.send_message(pattern(100));
			EXPECT_TRUE(v.completion());
		};
		switch (step) {
		case Step::in_fpdu_length:
			return first(1);
		case Step::in_ddp_header:
			return first(9);
		case Step::in_payload:
			return first(70);
		case Step::before_crc:
			return first(fpdu.size() - 4);
		case Step::in_message:
			return p.send(send_segment(1, pattern(100), 0, false));
		case Step::after_message:
			return message();
		case Step::in_read_response:
			p.read({1, 2, static_cast<uint32_t>(v.rw->size()), v.rw->rkey(),
				v.rw->base()});
			EXPECT_TRUE(p.receive());
			return;
		case Step::read_outstanding:
			message();
			v.connection(0).post_read(*v.local, 0, 100, 1, 2);
			EXPECT_TRUE(p.receive());
			return;
		case Step::send_outstanding:
			message();
			for (int i = 0; i < 40; i++)
				v.connection(0).post_send(*v.rw, 0, v.rw->size());
			return;
		case Step::after_terminate:
			return p.send(terminate_segment(mpa::crc));
		default:
			return;
		}
	}
};

TEST_P(Leave, leaves_nothing_behind)
{
	const auto [step, rst] = GetParam();
	const uint64_t errors = lab().device.errors();
	Options o{.rw_size = 1 << 20};
	if (step == Step::after_request_held)
		o.answer = Answer::hold;
	Victim v(o);
	Peer p = Peer::reach(v.address(), lab().peer_socket(4096));
	advance(p, v, step);
	go(p, rst);

	if (step == Step::after_request_held) {
		std::this_thread::sleep_for(moment);
		// It may fail here or tell later, but it must not pretend.
		try {
			v.connection(0).accept();
		} catch (const std::system_error &) {
		}
		return;
	}
	if (step > Step::in_private_data) {
		Connection &c = v.connection(0);
		EXPECT_TRUE(v.wait([&] {
			return c.happened.disconnected || c.happened.connect.has_value();
		}));
		EXPECT_TRUE(v.settled(0)) << "a posted work request never completed";
		EXPECT_EQ(v.ledger_fault(), "");
		EXPECT_EQ(c.state(), IBV_QPS_ERR);
	}
	// Who closes with data unread resets; over SCTP behind a Session Terminate, if at all.
	const bool unread = step == Step::send_outstanding || step == Step::in_read_response;
	bool clean = !rst && (step == Step::after_message || step == Step::after_reply ||
			      step == Step::after_request || (lab().sctp && unread));
	if (!clean && lab().device.has_counters()) {
		EXPECT_TRUE(soon([&] { return lab().device.errors() > errors; }, patience))
			<< "no error counter moved";
	}
	expect_healthy(v);
}

// SCTP has no part of a message.
bool within(Step s)
{
	return (s > Step::after_syn && s <= Step::in_private_data) ||
	       (s >= Step::in_fpdu_length && s <= Step::before_crc);
}

std::vector<Going> all()
{
	std::vector<Going> g;
	for (int s = 0; s < static_cast<int>(Step::last); s++)
		for (bool rst : {false, true})
			if (!lab().sctp || !within(static_cast<Step>(s)))
				g.push_back({static_cast<Step>(s), rst});
	return g;
}

INSTANTIATE_TEST_SUITE_P(peer, Leave, testing::ValuesIn(all()), [](const auto &info) {
	return std::string(info.param.rst ? "rst_" : "fin_") +
	       names[static_cast<size_t>(info.param.step)];
});

} // namespace
} // namespace peer
