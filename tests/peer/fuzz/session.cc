// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "session.h"

#include <algorithm>
#include <system_error>

namespace live_fuzz {

using namespace iwarp;
using victim::Region;
using victim::Victim;

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t most_calls = 150; // for one send(); the rest is sent in one call
constexpr Millis tick{2};

} // namespace

Session::Session(const Plan &plan) : plan_(plan), right_(plan.starts_right())
{
	victim::Options o;
	o.receives = receives;
	o.receive_size = receive_size;
	o.region_size = region_size;
	o.rw_size = rw_size;
	// StartupFrame takes private data for enhanced data in a reply of revision 1 with S.
	if (plan.startup.rev != 1 || !plan.startup.rtr_frame)
		o.private_data = pattern(20);
	o.answer = plan.startup.victim_rejects ? victim::Answer::reject : victim::Answer::accept;
	v_ = std::make_unique<Victim>(o);
	for (Region *r : {v_->rw.get(), v_->wo.get(), v_->spare.get()})
		image_[r] = r->copy(0, r->size());
}

void Session::fault(const std::string &what)
{
	faults_ += (faults_.empty() ? "" : "; ") + what;
}

bool Session::send(const Bytes &o)
{
	size_t calls = 0;

	for (size_t at = 0; at < o.size() && !gone_;) {
		size_t n = plan_.chunks[chunk_++ % plan_.chunks.size()];
		if (++calls > most_calls)
			n = o.size();
		n = std::min(n, o.size() - at);
		gone_ = !p_->socket.try_send(View(o).subspan(at, n));
		at += n;
	}
	return !gone_;
}

bool Session::send(const sctp::Message &m)
{
	return !(gone_ = !p_->association->try_send(m));
}

bool Session::transmit(const Segment &s)
{
	if (!plan_.sctp)
		return send(p_->out.encode(s.encode()));
	return !(gone_ = !p_->try_send(s));
}

// Answers a Read Request of the victim. In a session with faults a response may be wrong, too.
void Session::answer(const Segment &request)
{
	ReadRequest rr = ReadRequest::decode(request.payload);
	Dice dice(plan_.seed ^ request.msn);
	Bytes data = dice.bytes(rr.size);
	size_t at = 0;

	if (right_ && rr.src_stag == 0xEE)
		std::copy(data.begin(), data.end(),
			  image_[v_->spare.get()].begin() + static_cast<ptrdiff_t>(rr.src_to));
	do {
		size_t n = std::min<size_t>(data.size() - at, 1 + dice.below(1400));
		Segment s = read_response_segment(rr.sink_stag, rr.sink_to + at, slice(data, at, n),
						  at + n == data.size());
		at += n;
		if (!right_ && dice.chance(20)) {
			uint32_t what = dice.below(4);
			s.stag ^= what == 0 ? 1 + dice.below(255) : 0;
			s.to += what == 1 ? dice.word() : 0;
			s.last ^= what == 2;
			if (what == 3)
				put(s.payload, dice.bytes(1 + dice.below(300)));
		}
		s.dv = s.rv = version_0() ? 0 : 1;
		transmit(s);
	} while (at < data.size() && !gone_);
}

void Session::handle(Segment s)
{
	bool untagged_send = !s.tagged && s.qn == q_send;

	if (!s.tagged && s.qn == q_terminate) {
		terminated_ = true;
		if (!Terminate::decode(s.payload))
			fault("a Terminate that does not parse");
		else if (right_)
			fault("a Terminate although there was no error");
	} else if (!s.tagged && s.qn == q_read) {
		answer(s);
	} else if (!right_) {
		return;
	} else if (s.opcode == op_read_response) {
		if (reads_.empty() || s.stag != reads_.front().stag ||
		    s.to != reads_.front().to + reads_.front().got.size())
			return fault("a Read Response without a Read Request");
		put(reads_.front().got, s.payload);
		if (!s.last)
			return;
		if (reads_.front().got != reads_.front().data)
			fault("wrong data: a read returns other bytes than its source has");
		reads_.pop_front();
	} else if (untagged_send || s.opcode == op_write) {
		put(partial_, s.payload);
		if (!s.last)
			return;
		if (incoming_.empty() || incoming_.front().first != s.opcode ||
		    incoming_.front().second.size() != partial_.size())
			return fault("a message of the victim is not the one posted");
		if (incoming_.front().second != partial_)
			return fault("wrong data: a message has other bytes than were posted");
		partial_.clear();
		incoming_.pop_front();
	} else {
		fault("a segment that belongs to no message");
	}
}

// Receives and handles one segment. Returns false if none arrives in time; at the end of the stream
// or after a malformed FPDU also sets ended_.
bool Session::pump(Millis timeout)
{
	try {
		if (std::optional<Segment> s = p_->receive(timeout)) {
			handle(*s);
			return true;
		}
		if (p_->last_event != Event::quiet)
			gone_ = ended_ = true;
	} catch (const std::runtime_error &e) {
		fault(e.what());
		gone_ = ended_ = true;
	}
	return false;
}

void Session::completions()
{
	while (std::optional<ibv_wc> wc = v_->completion(Millis{0})) {
		if (!right_)
			continue;
		if (wc->status != IBV_WC_SUCCESS) {
			fault(std::string("a work request fails: ") +
			      ibv_wc_status_str(wc->status));
		} else if (Victim::is_send(wc->wr_id)) {
			posted_--;
		} else if (to_receive_.empty() || to_receive_.front().size() != wc->byte_len) {
			fault("a receive completes that matches no message");
		} else if (c_->received(Victim::index_of(wc->wr_id), wc->byte_len) !=
			   to_receive_.front()) {
			fault("wrong data: a receive has other bytes than were sent");
		} else {
			to_receive_.pop_front();
		}
	}
}

bool Session::settled() const
{
	return to_receive_.empty() && reads_.empty() && incoming_.empty() && !posted_;
}

// In a correct session waits until all expected results have arrived; a timeout is a fault.
void Session::settle()
{
	auto end = Clock::now() + long_patience;

	while (right_ && faults_.empty() && !settled()) {
		pump(tick);
		completions();
		if (gone_)
			fault("the connection ends before all results have arrived");
		else if (Clock::now() > end)
			fault("timeout: still missing are " + std::to_string(to_receive_.size()) +
			      " receives, " + std::to_string(reads_.size()) + " answers, " +
			      std::to_string(incoming_.size()) + " messages, " +
			      std::to_string(posted_) + " completions");
	}
}

// Receives until the end of the stream. Returns false if it does not arrive in time.
bool Session::ends_within(Millis limit)
{
	auto end = Clock::now() + limit;

	while (!ended_ && Clock::now() < end) {
		pump(Millis{100});
		completions();
	}
	return ended_;
}

void Session::drain()
{
	if (!ends_within(long_patience))
		fault("the victim does not end its stream");
}

void Session::finish_right()
{
	// When this message has arrived, all Writes before it were placed.
	Step sync;
	Dice dice(plan_.seed);
	to_receive_.push_back(dice.bytes(16));
	message(send_segment(p_->send_msn++, to_receive_.back()), sync, dice);
	settle();
	for (auto &[r, bytes] : image_)
		if (right_ && faults_.empty() && r->copy(0, r->size()) != bytes)
			fault("wrong data: the bytes placed are not those that were sent");
	// Completions from now on are flush errors.
	right_ = false;
	if (plan_.ending == Ending::victim_disconnects)
		c_->disconnect();
	else
		p_->finish();
	drain();
	if (terminated_ || (faults_.empty() && p_->last_event != Event::fin))
		fault("no orderly end of the stream");
}

void Session::finish()
{
	if (right_ && plan_.right() && faults_.empty())
		return finish_right();
	right_ = false;
	switch (plan_.ending) {
	case Ending::reset:
		p_->reset();
		return;
	case Ending::close:
		p_->close();
		return;
	case Ending::victim_disconnects:
		try {
			if (c_ && c_->happened.connect == RDMA_CM_EVENT_ESTABLISHED)
				c_->disconnect();
		} catch (const std::system_error &) {
			// The connection has already ended.
		}
		break;
	case Ending::fin_inside:
		if (!plan_.sctp)
			send(Bytes{0, 60, 1, 2, 3});
		break;
	case Ending::fin:
		break;
	}
	if (!plan_.sctp || plan_.ending != Ending::fin_inside)
		p_->finish();
	// Over SCTP a message before our Session Terminate may be missing, so that the victim waits
	// for it. SHUTDOWN ends the connection, too.
	if (plan_.sctp && !ends_within(Millis{200}))
		p_->shut();
	drain();
}

void Session::judge()
{
	auto happened = [&](auto what) {
		return v_->wait([&] { return what(c_->happened); }, long_patience);
	};

	if (!c_ && v_->connections())
		c_ = &v_->connection(0);
	// Before this event the QP may still be in use.
	if (c_ && (plan_.startup.victim_initiates || c_->happened.accepted) &&
	    !happened([](auto &h) { return h.connect.has_value(); }))
		fault("the consumer receives no event for its connection");
	v_->wait([&] {
		return established_ = c_ && c_->happened.connect == RDMA_CM_EVENT_ESTABLISHED, true;
	});
	if (established_) {
		if (!happened([](auto &h) { return h.disconnected; }))
			fault("no DISCONNECTED event");
		if (!post_failed_ && !v_->settled(c_->index(), long_patience))
			fault("a posted work request never completes");
	}
	if (!v_->ledger_fault().empty())
		fault(v_->ledger_fault());

	if (loose_) {
		allowed_[v_->rw.get()] = {{0, rw_size}};
		allowed_[v_->wo.get()] = {{0, region_size}};
	}
	if (c_)
		for (unsigned i = 0; i < receives; i++)
			allowed_[&c_->recv].push_back(c_->slot(i));
	std::vector<Region *> all = v_->all();
	all.push_back(v_->spare.get());
	if (c_)
		all.push_back(&c_->recv);
	for (Region *r : all)
		if (std::string what = r->changed(allowed_[r]); !what.empty())
			fault(what);
}

std::string Session::run()
{
	try {
		bool operating = start_up();
		if (!operating || !faults_.empty())
			right_ = false;
		for (size_t i = 0; operating && i < plan_.steps.size() && !gone_ && faults_.empty();
		     i++)
			perform(plan_.steps[i], Dice(plan_.seed * 1000003 + i));
	} catch (const std::exception &e) {
		if (right_ || plan_.startup.fault == StartupFault::none)
			fault(e.what());
		right_ = false;
	}
	try {
		if (p_ && plan_.startup.fault == StartupFault::silence)
			drain();
		if (p_)
			finish();
		listener_.reset();
		if (p_)
			p_->close();
		judge();
	} catch (const std::exception &e) {
		fault(e.what());
	}
	v_.reset();
	return faults_;
}

} // namespace live_fuzz
