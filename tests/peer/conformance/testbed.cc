// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "testbed.h"

#include <linux/sockios.h>
#include <set>
#include <sys/ioctl.h>

namespace conformance {

using iwarp::Octets;
using iwarp::Peer;
using iwarp::StartupFrame;
using victim::lab;

namespace {

constexpr iwarp::Millis long_patience{20000};

// Errors by class. A device may have finer counters besides.
const std::set<std::string> errors{
	"backlog_drops",	   "cq_overflows",	     "crc_errors",		"ddp_tagged_errors",
	"ddp_untagged_errors",	   "length_errors",	     "llp_lost",		"local_errors",
	"marker_errors",	   "rdmap_operation_errors", "rdmap_protection_errors", "startup_closed",
	"startup_key_errors",	   "startup_length_errors",  "startup_negotiation_errors", "startup_revision_errors",
	"startup_timeouts",
};
const std::set<std::string> events{"accepts", "connects", "revision_fallbacks", "rx_rejects", "rx_terminate", "tx_rejects", "tx_terminate"};

// Not those of traffic, which the other connection has, too.
Counts known(Counts all)
{
	std::erase_if(all, [](const auto &c) { return !errors.contains(c.first) && !events.contains(c.first); });
	return all;
}

std::string difference(const Counts &got, const Counts &wanted)
{
	std::string text;
	for (const auto &[name, n] : got) {
		auto w = wanted.find(name);
		uint64_t want = w == wanted.end() ? 0 : w->second;
		if (n != want)
			text += name + " is " + std::to_string(n) + ", not " + std::to_string(want) + "; ";
	}
	return text;
}

} // namespace

bool eventually(const std::function<bool()> &condition)
{
	return victim::soon(condition, long_patience);
}

void wait_acknowledged(const iwarp::Socket &s)
{
	int left = 0;
	for (auto end = std::chrono::steady_clock::now() + long_patience; !ioctl(s.fd(), SIOCOUTQ, &left) && left;) {
		if (std::chrono::steady_clock::now() > end)
			throw iwarp::Timeout("the other side acknowledges nothing");
		std::this_thread::sleep_for(std::chrono::microseconds(50));
	}
}

Policy::~Policy()
{
	for (const auto &[knob, k] : knobs_)
		lab().device.policy(knob, k.before);
}

bool Policy::set(const std::string &knob, const std::string &value)
{
	auto k = knobs_.find(knob);
	if (k == knobs_.end()) {
		std::optional<std::string> before = lab().device.policy(knob);
		if (!before)
			return false;
		k = knobs_.emplace(knob, Knob{*before, *before}).first;
	}
	if (k->second.now == value)
		return true;
	if (!lab().device.policy(knob, value))
		return false;
	k->second.now = value;
	return true;
}

void Policy::must(const std::string &knob, const std::string &value)
{
	if (!set(knob, value))
		throw std::runtime_error("the device refuses " + knob + " = " + value);
}

void Policy::crc(bool wanted)
{
	must("crc", wanted ? "1" : "0");
}

Testbed &Testbed::the()
{
	static Testbed t;
	return t;
}

victim::Options Testbed::options()
{
	victim::Options o;
	o.receives = receives;
	o.receive_size = receive_size;
	o.ird = o.ord = depth;
	o.region_size = region_size;
	o.rw_size = rw_size;
	return o;
}

Testbed::Testbed() : v(options()), nldev_(lab().device.name())
{
	open_bystander();
}

Testbed::~Testbed()
{
	bystander_.reset();
}

void Testbed::open_bystander()
{
	bystander_index_ = v.connections();
	bystander_ = std::make_unique<Peer>(
		Peer::connect(v.address(), StartupFrame::request(1), lab().peer_socket()));
	v.connection(bystander_index_);
}

void Testbed::begin()
{
	Counts now = known(nldev_.counters());
	if (begun_) {
		EXPECT_EQ(difference(now, counters_), "") << "counted after the case before was judged";
	}
	counters_ = now;
	resources_ = nldev_.resources();
	expected_.clear();
	some_error_ = false;
	begun_ = true;
}

void Testbed::finish()
{
	check_counters();
	check_resources();
	EXPECT_EQ(v.ledger_fault(), "");
	for (victim::Region *r : v.all())
		r->restore();
	check_bystander();
}

// What the counters are to be; names that do not exist are a failure.
Counts Testbed::wanted() const
{
	Counts all = counters_;
	for (const auto &[name, n] : expected_) {
		EXPECT_TRUE(all.contains(name)) << "no such counter: " << name;
		all[name] += n;
	}
	return all;
}

bool Testbed::all_counted()
{
	return known(nldev_.counters()) == wanted();
}

void Testbed::check_counters()
{
	const Counts want = wanted();
	Counts now;
	auto right = [&] {
		now = known(nldev_.counters());
		if (!some_error_)
			return now == want;
		// At least one error, each of its classes once.
		bool any = false;
		for (auto &[name, n] : now) {
			bool free = errors.contains(name) || name == "tx_terminate";
			if (!free || n > want.at(name) + 1)
				continue;
			any |= errors.contains(name) && n > want.at(name);
			n = want.at(name);
		}
		return any && now == want;
	};
	EXPECT_TRUE(eventually(right)) << "counters: " << difference(now, want)
				       << (some_error_ ? "no error counted, or one twice" : "");
	counters_ = known(nldev_.counters());
}

void Testbed::check_resources()
{
	Counts now;
	EXPECT_TRUE(eventually([&] { return (now = nldev_.resources()) == resources_; }))
		<< "objects left: " << difference(now, resources_);
}

void Testbed::check_bystander()
{
	const Octets message = iwarp::pattern(24, ++bystander_messages_);
	victim::Connection &c = v.connection(bystander_index_);
	bool well = bystander_->socket.try_send(
		bystander_->out.encode(iwarp::send_segment(bystander_->send_msn++, message).encode()));
	std::optional<ibv_wc> wc;
	if (well)
		wc = v.completion();
	well = wc && wc->status == IBV_WC_SUCCESS && victim::Victim::connection_of(wc->wr_id) == bystander_index_ &&
	       c.received(victim::Victim::index_of(wc->wr_id), message.size()) == message;
	EXPECT_TRUE(well) << "another connection has suffered";
	if (well) {
		c.post_receive(victim::Victim::index_of(wc->wr_id));
		return;
	}
	// The next case shall be judged by itself.
	begun_ = false;
	while (v.completion(iwarp::Millis{200}))
		;
	open_bystander();
}

} // namespace conformance
