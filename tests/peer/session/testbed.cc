// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "testbed.h"

#include <set>

namespace peer {
namespace {

// All counters of errors, by class and by kind.
const std::set<std::string> errors{
	"access_errors",
	"backlog_drops",
	"bounds_errors",
	"chunk_errors",
	"cq_overflows",
	"crc_errors",
	"ddp_tagged_errors",
	"ddp_untagged_errors",
	"length_errors",
	"llp_lost",
	"local_errors",
	"marker_errors",
	"mpa_errors",
	"no_buffer_errors",
	"opcode_errors",
	"rdmap_operation_errors",
	"rdmap_protection_errors",
	"sequence_errors",
	"session_errors",
	"ssn_errors",
	"stag_errors",
	"startup_closed",
	"startup_crc_errors",
	"startup_ird_errors",
	"startup_key_errors",
	"startup_length_errors",
	"startup_negotiation_errors",
	"startup_revision_errors",
	"startup_role_errors",
	"startup_rtr_errors",
	"startup_timeouts",
	"too_long_errors",
	"version_errors",
};
const std::set<std::string> events{"accepts",	   "connects",	 "revision_fallbacks", "rx_rejects",
				   "rx_terminate", "tx_rejects", "tx_terminate"};
// Counters of which another one is the sum: that one moves, too.
const std::map<std::string, std::string> sums{
	{"startup_crc_errors", "startup_negotiation_errors"},
	{"startup_ird_errors", "startup_negotiation_errors"},
	{"startup_role_errors", "startup_key_errors"},
	{"startup_rtr_errors", "startup_negotiation_errors"},
};

} // namespace

bool eventually(const std::function<bool()> &condition)
{
	return soon(condition);
}

void wait_acknowledged(const Socket &s)
{
	for (auto end = std::chrono::steady_clock::now() + patience; s.unacknowledged();) {
		if (std::chrono::steady_clock::now() > end)
			throw Timeout("the victim does not acknowledge all bytes");
		std::this_thread::sleep_for(std::chrono::microseconds(50));
	}
}

void send_cut(Socket &s, View bytes, size_t first)
{
	s.send(bytes.first(first));
	wait_acknowledged(s);
	s.send(bytes.subspan(first));
}

void expect_healthy(Victim &v)
{
	EXPECT_EQ(Witness(v).turn(), "") << "a new connection does not work";
}

void expect_silent_end(Socket &s, Millis timeout)
{
	Bytes got;
	Event e;
	while ((e = s.receive(got, timeout)) == Event::data)
		;
	EXPECT_TRUE(e == Event::fin || e == Event::reset) << "the victim does not close";
	EXPECT_TRUE(got.empty()) << "the victim sends bytes before it closes";
}

void expect_silent_end(Peer &p)
{
	const End e = p.end();
	EXPECT_TRUE(e.closed()) << "the victim does not close";
	EXPECT_TRUE(e.before.empty() && !e.terminate) << "the victim sends before it closes";
}

Testbed &Testbed::the(const Options &o)
{
	Victim &victim = lasting_victim(o); // created first, so it outlives the Testbed
	static std::vector<std::unique_ptr<Testbed>> all;
	for (const auto &bed : all)
		if (&bed->v == &victim)
			return *bed;
	all.emplace_back(new Testbed(victim));
	return *all.back();
}

namespace {

Policy &device_policy()
{
	static Policy p;
	return p;
}

} // namespace

Testbed::Testbed(Victim &victim)
	: v(victim), policy(device_policy()), nldev_(lab().device.name()),
	  bystander_(new Witness(victim))
{
}

void Testbed::begin()
{
	const Counts all = nldev_.counters();
	if (judged_ && !usual.shared) {
		EXPECT_EQ(difference(judged(all), judged(counters_)), "")
			<< "counters moved after the check of the previous case";
	}
	if (!judged_) // the previous case ended without finish(), which restores the regions
		restore();
	counters_ = all;
	resources_ = nldev_.resources();
	expected_.clear();
	some_error_ = anything_ = judged_ = false;
}

void Testbed::expect_count(const std::string &name, uint64_t n)
{
	expected_[name] += n;
	if (const auto sum = sums.find(name); sum != sums.end())
		expected_[sum->second] += n;
}

void Testbed::finish()
{
	check_counters();
	check_resources();
	EXPECT_EQ(v.ledger_fault(), "");
	restore();
	judged_ = true;
	check_bystander();
}

void Testbed::restore()
{
	for (Region *r : v.all())
		r->restore();
}

// Keeps the counters of errors and events, and those that the case expects. The bystander moves the
// counters of traffic, too.
Counts Testbed::judged(Counts all) const
{
	std::erase_if(all, [this](const auto &c) {
		return !errors.contains(c.first) && !events.contains(c.first) &&
		       !expected_.contains(c.first);
	});
	return all;
}

Counts Testbed::now()
{
	return judged(nldev_.counters());
}

bool Testbed::any_error()
{
	const Counts all = nldev_.counters();
	return std::ranges::any_of(all, [&](const auto &c) {
		const bool from_peer = c.first == "rx_terminate" || c.first == "rx_rejects";
		return (from_peer || errors.contains(c.first)) && c.second > counters_[c.first];
	});
}

std::string Testbed::missing_counters()
{
	const Counts all = nldev_.counters();
	std::string names;
	for (const auto *class_of : {&errors, &events})
		for (const std::string &name : *class_of)
			if (!all.contains(name))
				names += name + " ";
	return names;
}

// Returns the expected values. Reports a failure for an expected counter that does not exist.
Counts Testbed::wanted() const
{
	Counts all = judged(counters_);
	for (const auto &[name, n] : expected_) {
		EXPECT_TRUE(all.contains(name)) << "no such counter: " << name;
		all[name] += n;
	}
	return all;
}

bool Testbed::all_counted()
{
	return now() == wanted();
}

void Testbed::check_counters()
{
	const Counts want = wanted();
	Counts got;
	auto right = [&] {
		got = now();
		if (anything_)
			return true;
		if (!some_error_)
			return got == want;
		// At least one error counter has moved, and none by more than one.
		bool any = false;
		for (auto &[name, n] : got) {
			const bool error = errors.contains(name) || name == "rx_terminate";
			if ((!error && name != "tx_terminate") || n > want.at(name) + 1)
				continue;
			any |= error && n > want.at(name);
			n = want.at(name);
		}
		return any && got == want;
	};
	EXPECT_TRUE(eventually(right)) << "counters: " << difference(got, want)
				       << (some_error_ ? "no error counted, or one twice" : "");
	counters_ = nldev_.counters();
}

void Testbed::check_resources()
{
	Counts now;
	EXPECT_TRUE(eventually([&] { return (now = nldev_.resources()) == resources_; }))
		<< "objects left: " << difference(now, resources_);
}

void Testbed::check_bystander()
{
	const std::string fault = bystander_->turn();
	EXPECT_EQ(fault, "") << "the bystander does not work";
	if (fault.empty())
		return;
	// Start the next case with a new bystander, so that it does not fail for this reason.
	judged_ = false;
	while (v.completion(Millis{200}))
		;
	bystander_ = std::make_unique<Witness>(v);
}

} // namespace peer
