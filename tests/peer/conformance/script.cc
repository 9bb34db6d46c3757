// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "script.h"

#include <linux/tcp.h>
#include <random>
#include <sys/socket.h>

namespace peer {
namespace {

constexpr unsigned kinds[] = {12, 6, 7, 6, 8}; // messages of each kind, together 39
constexpr unsigned receives_posted = 18;
constexpr unsigned reads = 8;
constexpr size_t largest = 20000, largest_small = 40;
// With fewer cuts than these, each piece is sent only after the previous one is acknowledged, so
// that the victim processes that one alone.
constexpr size_t few = 3;

std::vector<Message> make(bool small)
{
	static constexpr size_t some_sizes[] = {0,    1,    3,	  4,	5,     511,
						1434, 1435, 4096, 9000, 19999, largest};
	static constexpr size_t segments[] = {1400, 60000, 512, 333};
	std::vector<Message> all;
	for (unsigned k = 0; k < std::size(kinds); k++)
		for (unsigned i = 0; i < kinds[k]; i++) {
			size_t len = some_sizes[(i * 5 + k) % std::size(some_sizes)];
			if (small)
				len = (i * 7 + k * 3) % (largest_small + 1);
			all.push_back({static_cast<Message::Kind>(k), len,
				       small ? 16 + 8 * (i % 4) :
					       segments[i % std::size(segments)]});
		}
	std::mt19937 random(40);
	for (size_t i = all.size(); i > 1; i--)
		std::swap(all[i - 1], all[random() % i]);
	return all;
}

uint32_t seed(Message::Kind kind, size_t n)
{
	return static_cast<uint32_t>(1000 * kind + n);
}

uint32_t data_segments_out(const Socket &s)
{
	tcp_info info{};
	socklen_t len = sizeof(info);
	if (getsockopt(s.fd(), IPPROTO_TCP, TCP_INFO, &info, &len))
		throw std::runtime_error("no TCP_INFO");
	return info.tcpi_data_segs_out;
}

} // namespace

Script::Script(bool small, bool crc, bool markers)
	: small_(small), messages_(make(small)), p_(Socket())
{
	Testbed &bed = Testbed::the();
	bed.policy.must("mpa_rev", 2U);
	bed.policy.must("crc", crc);
	bed.policy.must("markers", markers);
	Options o;
	o.receives = receives_posted + 1; // for the last message
	o.receive_size = small ? 64 : largest;
	o.ird = o.ord = reads;
	o.region_size = o.rw_size = reads * (small ? 64 : largest);
	v_ = std::make_unique<Victim>(o);
	StartupFrame r = StartupFrame::request(2, Enhanced{.ird = reads, .ord = reads});
	r.c = crc;
	p_ = Peer::connect(v_->address(), r, lab().peer_socket());
	// The peer receives nothing while it sends: its buffer must take all Read Responses.
	const int room = 4 << 20;
	if (setsockopt(p_.socket.fd(), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		throw std::system_error(errno, std::generic_category(), "SO_RCVBUFFORCE");
	v_->connection(0);
	bed.expect_count("accepts");
	p_.send(write_segment(0, 0, {})); // the first FPDU: the victim may send
}

void Script::add(Stream &to, const Segment &s)
{
	const uint32_t before = p_.out.pos();
	const size_t at = to.bytes.size();
	to.fpdus.push_back(at);
	const Bytes fpdu = p_.out.encode(s.encode());
	if (p_.out.mode().markers)
		for (size_t i = (512 - before % 512) % 512; i < fpdu.size(); i += 512)
			to.markers.push_back(at + i);
	put(to.bytes, fpdu);
}

void Script::compose_message(Stream &to, const Message &m)
{
	const size_t n = m.kind == Message::write	  ? write_at_ :
			 m.kind == Message::read_response ? response_ :
							    p_.send_msn;
	// The data of a Send depend on its MSN, so that they differ from the previous round.
	const Bytes data = pattern(m.len, seed(m.kind, n));
	Segment s;
	switch (m.kind) {
	case Message::send:
	case Message::send_se:
		s = send_segment(p_.send_msn++, data);
		s.opcode = m.kind == Message::send ? op_send : op_send_se;
		break;
	case Message::write:
		s = write_segment(v_->rw->rkey(),
				  v_->rw->base() + write_at_++ * (v_->rw->size() / reads), data);
		break;
	case Message::read_response:
		s = read_response_segment(asked_[response_].sink_stag, asked_[response_].sink_to,
					  data);
		response_++;
		break;
	case Message::read_request:
		return add(to,
			   read_request_segment(p_.read_msn++, {static_cast<uint32_t>(read_++), 0,
								static_cast<uint32_t>(m.len),
								v_->ro->rkey(), v_->ro->base()}));
	}
	for (const Segment &part : cut_every(s, m.segment))
		add(to, part);
}

// Restores all memory, posts the victim's reads and receives their Read Requests.
void Script::renew()
{
	Connection &c = v_->connection(0);
	for (Region *r : v_->all())
		r->restore();
	c.recv.restore();
	write_at_ = response_ = read_ = 0;
	asked_.clear();
	const size_t room = v_->local->size() / reads;
	for (const Message &m : messages_)
		if (m.kind == Message::read_response)
			c.post_read(*v_->local, asked_.size() * room, m.len, 1, 2),
				asked_.push_back({});
	for (ReadRequest &rr : asked_) {
		std::optional<Segment> s = p_.receive();
		if (!s || s->opcode != op_read_request)
			throw std::runtime_error("the victim sends no Read Request");
		rr = ReadRequest::decode(s->payload);
	}
}

Stream Script::compose()
{
	Stream s;
	renew();
	for (const Message &m : messages_)
		compose_message(s, m);
	return s;
}

// Sends each piece by send() with MSG_EOR and TCP_NODELAY, so that TCP does not merge two pieces.
// The number of data segments sent confirms this.
void Script::deliver(const Bytes &o, const Cuts &cuts)
{
	const uint32_t before = data_segments_out(p_.socket);
	size_t at = 0, pieces = 0;
	for (size_t i = 0; i <= cuts.size(); i++) {
		size_t to = i < cuts.size() ? cuts[i] : o.size();
		for (View piece = View(o).subspan(at, to - at); !piece.empty();) {
			ssize_t n = ::send(p_.socket.fd(), piece.data(), piece.size(),
					   MSG_NOSIGNAL | MSG_EOR);
			if (n < 0)
				throw std::runtime_error("the victim has closed the connection");
			piece = piece.subspan(static_cast<size_t>(n));
		}
		pieces += to > at;
		at = to;
		if (cuts.size() < few)
			wait_acknowledged(p_.socket);
	}
	wait_acknowledged(p_.socket);
	if (data_segments_out(p_.socket) - before < pieces)
		throw std::logic_error("TCP has merged two pieces into one segment");
}

std::string Script::judge_completions()
{
	Connection &c = v_->connection(0);
	unsigned slot = 0, read = 0;
	for (const Message &m : messages_) {
		if (m.kind == Message::write || m.kind == Message::read_request)
			continue;
		std::optional<ibv_wc> wc = v_->completion();
		const std::string which = "completion " + std::to_string(slot + read);
		const bool is_read = m.kind == Message::read_response;
		if (!wc)
			return which + " is missing";
		if (wc->status != IBV_WC_SUCCESS ||
		    wc->opcode != (is_read ? IBV_WC_RDMA_READ : IBV_WC_RECV) || wc->wc_flags)
			return which + " has status " + std::to_string(wc->status) + ", opcode " +
			       std::to_string(wc->opcode);
		if (is_read) {
			read++;
			continue;
		}
		// Receives complete in the order of posting. One more is posted than a round uses.
		unsigned want = (rounds_ * receives_posted + slot++) % (receives_posted + 1);
		if (wc->byte_len != m.len || Victim::index_of(wc->wr_id) != want)
			return which + " is of another message";
		if (c.received(want, m.len) !=
		    pattern(m.len, seed(m.kind, p_.send_msn - receives_posted + slot - 1)))
			return "wrong data: " + which + " has other bytes";
	}
	return {};
}

std::string Script::judge_memory()
{
	struct Part {
		size_t at;
		Bytes want;
	};
	std::vector<Range> written, read, received;
	const size_t room = v_->rw->size() / reads;
	std::string fault;
	size_t writes = 0, responses = 0, sends = 0;
	Connection &c = v_->connection(0);
	auto check = [&](Region &r, std::vector<Range> &ranges, size_t at, const Message &m,
			 size_t n) {
		ranges.push_back({static_cast<ptrdiff_t>(at), m.len});
		if (r.copy(at, m.len) != pattern(m.len, seed(m.kind, n)))
			fault = "wrong data: other bytes were placed";
	};
	for (const Message &m : messages_) {
		if (m.kind == Message::write)
			check(*v_->rw, written, writes * room, m, writes), writes++;
		else if (m.kind == Message::read_response)
			check(*v_->local, read, responses * room, m, responses), responses++;
		else if (m.kind != Message::read_request)
			received.push_back({c.slot((rounds_ * receives_posted +
						    static_cast<unsigned>(sends++)) %
						   (receives_posted + 1))
						    .at,
					    m.len});
	}
	if (fault.empty())
		fault = v_->rw->changed(written) + v_->local->changed(read) +
			c.recv.changed(received) + v_->ro->changed() + v_->wo->changed() +
			v_->alien->changed();
	return fault;
}

// Checks the Read Responses to the peer's reads, in order.
std::string Script::judge_answers()
{
	uint32_t n = 0;
	for (const Message &m : messages_) {
		if (m.kind != Message::read_request)
			continue;
		Bytes got;
		for (bool last = false; !last;) {
			std::optional<Segment> s = p_.receive();
			if (!s || s->opcode != op_read_response || s->stag != n ||
			    s->to != got.size())
				return "answer " + std::to_string(n) + " is wrong or missing";
			put(got, s->payload);
			last = s->last;
		}
		if (got != v_->ro->copy(0, m.len))
			return "wrong data: answer " + std::to_string(n) + " has other bytes";
		n++;
	}
	return {};
}

std::string Script::play(const Stream &s, const Cuts &cuts)
{
	deliver(s.bytes, cuts);
	std::string fault = judge_completions();
	if (fault.empty())
		fault = judge_answers();
	if (fault.empty())
		fault = judge_memory();
	if (fault.empty())
		fault = v_->ledger_fault();
	for (unsigned i = 0; i < receives_posted; i++)
		v_->connection(0).post_receive((rounds_ * receives_posted + i) %
					       (receives_posted + 1));
	rounds_++;
	return fault;
}

std::string Script::end(const std::function<Cuts(const Stream &)> &cuts)
{
	Segment s = send_segment(p_.send_msn, pattern(33));
	s.opcode = op_send_inv;
	s.inv_stag = v_->rw->rkey();
	Stream stream;
	add(stream, s);
	deliver(stream.bytes, cuts(stream));
	End e = p_.end();
	Testbed &bed = Testbed::the();
	bed.expect_count("tx_terminate");
	bed.expect_count("rdmap_protection_errors");
	bed.expect_count("stag_errors");
	p_.socket.close();
	bool settled = v_->settled(0);
	v_.reset();
	if (!settled)
		return "a work request never completed";
	if (!e.terminate || e.terminate->code.layer != 0 || e.terminate->code.code != 9)
		return "no Terminate, or not the expected one";
	if (e.terminate->ddp_header != s.header() ||
	    e.terminate->segment_len != s.encode().size() || e.event != Event::fin)
		return "the Terminate does not quote the message, or no FIN follows";
	return {};
}

} // namespace peer
