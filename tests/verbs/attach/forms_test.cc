// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Every form of startup, in both roles, between two kwarp devices: negotiated parameters, private
// data, data in both directions, the end. RFC 5044 7.1, RFC 6581 9, drafts culley-iwarp-mpa-02 and
// -03, 8.1.
#include "side.h"

#include <sys/socket.h>

using namespace attach;

namespace {

struct Form {
	const char *name;
	kwarp_attach_form form;
	uint8_t rev;
	uint16_t flags;
	bool p2p;

	bool framed() const { return form == KWARP_ATTACH_REQ_REP; }
	// The negotiated parameters, from the result of startup.
	int rev_in_force() const { return framed() ? rev : flags & KWARP_ATTACH_IETF ? 1 : 0; }
};

constexpr Form forms[] = {
	{"rev1", KWARP_ATTACH_REQ_REP, 1, 0, false},
	{"rev2", KWARP_ATTACH_REQ_REP, 2, 0, false},
	{"rev1_p2p", KWARP_ATTACH_REQ_REP, 1, 0, true},
	{"rev2_p2p", KWARP_ATTACH_REQ_REP, 2, 0, true},
	{"start_key", KWARP_ATTACH_START_KEY, 0, 0, false},
	{"start_key_ietf", KWARP_ATTACH_START_KEY, 0, KWARP_ATTACH_IETF, false},
	{"none", KWARP_ATTACH_NONE, 0, 0, false},
	{"none_ietf", KWARP_ATTACH_NONE, 0, KWARP_ATTACH_IETF, false},
};

kwarp_attach_choice choice(bool on)
{
	return on ? KWARP_ATTACH_ON : KWARP_ATTACH_OFF;
}

Attr attr_of(const Form &form, kwarp_attach_role role)
{
	Attr attr = attr_with_reads(form.form, role);
	attr.mpa_rev = form.rev;
	attr.flags = form.flags;
	if (form.framed())
		attr.p2p = choice(form.p2p);
	return attr;
}

struct Case {
	Form form;
	lab::Family family;
	bool initiator_accepted; // the MPA initiator is the side that accepted the TCP connection
	bool initiator_first;	 // it attaches first
};

std::vector<Case> all_cases()
{
	std::vector<Case> cases;
	for (const Form &form : forms)
		for (lab::Family family : {lab::Family::ipv4, lab::Family::ipv6})
			for (bool accepted : {false, true})
				// either side may attach first
				for (bool first : {false, true})
					cases.push_back({form, family, accepted, first});
	return cases;
}

std::string case_name(const testing::TestParamInfo<Case> &info)
{
	const Case &c = info.param;
	return std::string(c.form.name) + (c.family == lab::Family::ipv4 ? "_ipv4" : "_ipv6") +
	       (c.initiator_accepted ? "_reversed" : "") +
	       (c.initiator_first ? "_initiator_first" : "_responder_first");
}

class AttachForm : public testing::TestWithParam<Case> {};

// Attaches both ends of the connection; both results must be available.
struct Joined {
	Side a{lab::a()};
	Side b{lab::b()};
	Connection c;
	bool reversed;
	Result ri, rr;

	Joined(const Case &k, Attr ai, Attr ar)
		: c(connect(k.family)), reversed(k.initiator_accepted)
	{
		Side &first = k.initiator_first ? initiator() : responder();
		Side &second = k.initiator_first ? responder() : initiator();
		EXPECT_EQ(first.start(fd_of(first), k.initiator_first ? ai : ar), 0);
		EXPECT_EQ(second.start(fd_of(second), k.initiator_first ? ar : ai), 0);
		EXPECT_EQ(initiator().wait(&ri), 0);
		EXPECT_EQ(responder().wait(&rr), 0);
	}
	Side &initiator() { return reversed ? b : a; }
	Side &responder() { return reversed ? a : b; }
	int fd_of(const Side &side) const { return (&side == &a ? c.a : c.b).get(); }
};

} // namespace

TEST_P(AttachForm, connects_and_carries_data)
{
	const Case &k = GetParam();
	Joined j(k, attr_of(k.form, KWARP_ATTACH_INITIATOR),
		 attr_of(k.form, KWARP_ATTACH_RESPONDER));
	if (HasFailure())
		return;
	EXPECT_EQ(j.initiator().state(), IBV_QPS_RTS);
	EXPECT_EQ(j.responder().state(), IBV_QPS_RTS);
	EXPECT_EQ(j.ri.agreed.mpa_rev, k.form.rev_in_force());
	EXPECT_EQ(j.rr.agreed.mpa_rev, k.form.rev_in_force());
	transfers(j.initiator(), j.responder());

	// the end is that of any connection
	EXPECT_EQ(rdma::modify_state(j.initiator().qp(), IBV_QPS_SQD), 0);
	EXPECT_TRUE(j.responder().reaches(IBV_QPS_ERR));
	EXPECT_TRUE(j.initiator().reaches(IBV_QPS_ERR));
}

INSTANTIATE_TEST_SUITE_P(all, AttachForm, testing::ValuesIn(all_cases()), case_name);

// ---- markers and CRC: the choices of each side ------------------------------------------------

namespace {

class AttachFraming : public testing::TestWithParam<std::tuple<Form, unsigned int>> {};

} // namespace

// The M bit concerns what its sender receives, the C bit both directions.
TEST_P(AttachFraming, is_what_both_say)
{
	const auto &[form, bits] = GetParam();
	bool ci = bits & 1, cr = bits & 2, mi = bits & 4, mr = bits & 8;
	// With another policy no program can prefer to go without CRCs.
	lab::Policy a(lab::a(), "crc", "off"), b(lab::b(), "crc", "off");
	Attr ai = attr_of(form, KWARP_ATTACH_INITIATOR), ar = attr_of(form, KWARP_ATTACH_RESPONDER);
	ai.crc = choice(ci);
	ar.crc = choice(cr);
	ai.markers = choice(mi);
	ar.markers = choice(mr);
	Joined j({form, lab::Family::ipv4, false, false}, ai, ar);
	if (HasFailure())
		return;
	EXPECT_EQ(j.ri.agreed.crc, ci || cr);
	EXPECT_EQ(j.rr.agreed.crc, ci || cr);
	EXPECT_EQ(j.ri.agreed.rx_markers, mi);
	EXPECT_EQ(j.rr.agreed.tx_markers, mi);
	EXPECT_EQ(j.rr.agreed.rx_markers, mr);
	EXPECT_EQ(j.ri.agreed.tx_markers, mr);
	transfers(j.initiator(), j.responder());
}

INSTANTIATE_TEST_SUITE_P(all, AttachFraming,
			 testing::Combine(testing::Values(forms[0], forms[1], forms[4]),
					  testing::Range(0U, 16U)),
			 [](const auto &info) {
				 unsigned int bits = std::get<1>(info.param);
				 return std::string(std::get<0>(info.param).name) + "_C" +
					std::to_string(bits & 1) + std::to_string(bits >> 1 & 1) +
					"_M" + std::to_string(bits >> 2 & 1) +
					std::to_string(bits >> 3);
			 });

// Draft -02 has no negotiation: markers and CRC are always on.
TEST(AttachFramingNone, has_markers_and_crc)
{
	Joined j({forms[6], lab::Family::ipv4, false, false},
		 attr_of(forms[6], KWARP_ATTACH_INITIATOR),
		 attr_of(forms[6], KWARP_ATTACH_RESPONDER));
	for (const Result &r : {j.ri, j.rr}) {
		EXPECT_TRUE(r.agreed.crc);
		EXPECT_TRUE(r.agreed.tx_markers);
		EXPECT_TRUE(r.agreed.rx_markers);
	}
}

// Without startup frames there is no initiator, so either side may send first.
TEST(AttachFramingNone, lets_either_side_begin)
{
	Joined j({forms[6], lab::Family::ipv4, false, false},
		 attr_of(forms[6], KWARP_ATTACH_INITIATOR),
		 attr_of(forms[6], KWARP_ATTACH_RESPONDER));
	transfers(j.responder(), j.initiator());
}

// ---- private data and depths
// -------------------------------------------------------------------------

namespace {

class AttachPrivateData : public testing::TestWithParam<std::tuple<int, size_t, size_t>> {};

} // namespace

TEST_P(AttachPrivateData, arrive_whole)
{
	const auto &[rev, request, reply] = GetParam();
	const Form &form = forms[rev - 1];
	std::string mine(request, 'q'), yours(reply, 'p');
	for (std::string *s : {&mine, &yours})
		for (size_t i = 0; i < s->size(); i++)
			(*s)[i] = static_cast<char>((*s)[i] + i);
	Attr ai = attr_of(form, KWARP_ATTACH_INITIATOR), ar = attr_of(form, KWARP_ATTACH_RESPONDER);
	ai.private_data = mine.data();
	ai.private_data_len = mine.size();
	ar.private_data = yours.data();
	ar.private_data_len = yours.size();
	Joined j({form, lab::Family::ipv4, false, true}, ai, ar);
	EXPECT_EQ(private_data(j.ri), yours);
	EXPECT_EQ(private_data(j.rr), mine);
}

INSTANTIATE_TEST_SUITE_P(rev1, AttachPrivateData,
			 testing::Combine(testing::Values(1),
					  testing::Values(0, 1, 8, 9, 255, 256, 512),
					  testing::Values(0, 8, 512)));
INSTANTIATE_TEST_SUITE_P(rev2, AttachPrivateData,
			 testing::Combine(testing::Values(2), testing::Values(0, 8, 300, 508),
					  testing::Values(0, 9, 508)));

TEST(AttachDepths, of_start_keys_are_the_programs)
{
	Attr ai = attr_of(forms[4], KWARP_ATTACH_INITIATOR),
	     ar = attr_of(forms[4], KWARP_ATTACH_RESPONDER);
	ai.ird = 3;
	ai.ord = 5;
	ar.ird = 7;
	ar.ord = 2;
	Joined j({forms[4], lab::Family::ipv4, false, false}, ai, ar);
	EXPECT_EQ(j.ri.agreed.ird, 3);
	EXPECT_EQ(j.ri.agreed.ord, 5);
	EXPECT_EQ(j.rr.agreed.ird, 7);
	EXPECT_EQ(j.rr.agreed.ord, 2);
}

// RFC 6581 9.1: no side issues more reads than the other can answer.
TEST(AttachDepths, of_revision_2_fit_each_other)
{
	Attr ai = attr_of(forms[1], KWARP_ATTACH_INITIATOR),
	     ar = attr_of(forms[1], KWARP_ATTACH_RESPONDER);
	ai.ird = 2;
	ai.ord = 9;
	ar.ird = 3;
	ar.ord = 8;
	Joined j({forms[1], lab::Family::ipv4, false, false}, ai, ar);
	EXPECT_LE(j.ri.agreed.ord, j.rr.agreed.ird);
	EXPECT_LE(j.rr.agreed.ord, j.ri.agreed.ird);
}

// ---- the last streaming message
// ------------------------------------------------------------------------

namespace {

class AttachMessage : public testing::TestWithParam<std::tuple<Form, size_t>> {};

} // namespace

// The other side reads exactly the message; the bytes after it stay in the socket for its attach.
TEST_P(AttachMessage, precedes_everything)
{
	const auto &[form, length] = GetParam();
	Side a(lab::a()), b(lab::b());
	Connection c = connect();
	std::string message(length, 'm');
	message.back() = '\n';
	Attr ar = attr_of(form, KWARP_ATTACH_RESPONDER);
	ar.message = message.data();
	ar.message_len = message.size();
	ASSERT_EQ(b.start(c.b.get(), ar), 0);
	ASSERT_EQ(read_exactly(c.a.get(), length), message);
	ASSERT_EQ(a.start(c.a.get(), attr_of(form, KWARP_ATTACH_INITIATOR)), 0);
	ASSERT_EQ(a.wait(), 0);
	ASSERT_EQ(b.wait(), 0);
	transfers(a, b);
}

INSTANTIATE_TEST_SUITE_P(all, AttachMessage,
			 testing::Combine(testing::ValuesIn(forms), testing::Values(1, 9, 4096)),
			 [](const auto &info) {
				 return std::string(std::get<0>(info.param).name) + "_" +
					std::to_string(std::get<1>(info.param));
			 });

// TCP takes no bytes beyond net.ipv4.tcp_notsent_lowat that are not sent yet: there is no room for
// the first frame behind the message. The result says so; EAGAIN would mean that startup goes on.
TEST(AttachMessage, no_room_behind_it)
{
	Side a(lab::a()), b(lab::b());
	lab::shell(lab::b(), "sysctl -qw net.ipv4.tcp_notsent_lowat=16384");
	Connection c = connect();
	int big = 1 << 20, small = 4096;
	ASSERT_EQ(setsockopt(c.b.get(), SOL_SOCKET, SO_SNDBUF, &big, sizeof(big)), 0);
	ASSERT_EQ(setsockopt(c.a.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	const std::string chunk(512, 'x');
	while (send(c.b.get(), chunk.data(), chunk.size(), MSG_DONTWAIT) > 0)
		;
	Attr ar = attr_of(forms[0], KWARP_ATTACH_INITIATOR);
	ar.message = "m";
	ar.message_len = 1;
	const int ret = b.attach(c.b.get(), ar);
	lab::shell(lab::b(), "sysctl -qw net.ipv4.tcp_notsent_lowat=4294967295");
	EXPECT_EQ(ret, ENOBUFS);
}

// The program's send buffer is full, with bytes that TCP has not sent yet.
TEST(AttachMessage, waits_for_no_room)
{
	Side a(lab::a()), b(lab::b());
	Connection c = connect();
	int small = 4096;
	ASSERT_EQ(setsockopt(c.b.get(), SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
	ASSERT_EQ(setsockopt(c.a.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	std::string before;
	for (;;) {
		std::string chunk(512, static_cast<char>('a' + before.size() / 512 % 26));
		ssize_t n = send(c.b.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
		if (n <= 0)
			break;
		before += chunk.substr(0, static_cast<size_t>(n));
	}
	Attr ar = attr_of(forms[4], KWARP_ATTACH_RESPONDER);
	std::string message(4096, 'M');
	ar.message = message.data();
	ar.message_len = message.size();
	ASSERT_EQ(b.start(c.b.get(), ar), 0);
	EXPECT_EQ(read_exactly(c.a.get(), before.size() + message.size()), before + message);
	ASSERT_EQ(a.attach(c.a.get(), attr_of(forms[4], KWARP_ATTACH_INITIATOR)), 0);
	ASSERT_EQ(b.wait(), 0);
	transfers(a, b);
}
