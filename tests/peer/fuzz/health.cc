// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "health.h"

#include <cstdio>
#include <stdexcept>

namespace live_fuzz {

using namespace iwarp;
using victim::lab;
using victim::Victim;

namespace {

constexpr Millis long_wait{25000};

} // namespace

PolicyFiles::PolicyFiles()
{
	for (const char *knob : {"mpa_rev", "permissive", "crc", "markers", "p2p", "fpdu", "startup_timeout_ms"}) {
		std::optional<std::string> value = lab().device.policy(knob);
		if (!value)
			throw std::runtime_error(std::string("the device has no policy ") + knob);
		before_[knob] = now_[knob] = *value;
	}
}

PolicyFiles::~PolicyFiles()
{
	for (auto &[knob, value] : before_)
		lab().device.policy(knob, value);
}

void PolicyFiles::write(const std::string &knob, const std::string &value)
{
	if (now_[knob] == value)
		return;
	if (!lab().device.policy(knob, value))
		throw std::runtime_error("the device refuses " + value + " as " + knob);
	now_[knob] = value;
}

void PolicyFiles::set(const Policy &p)
{
	write("mpa_rev", std::to_string(p.mpa_rev));
	write("permissive", p.permissive ? "1" : "0");
	write("crc", p.crc);
	write("markers", p.markers ? "1" : "0");
	write("p2p", p.p2p);
	write("fpdu", p.fpdu);
	write("startup_timeout_ms", std::to_string(p.startup_timeout_ms));
}

Witness::Witness()
{
	p_.emplace(Peer::connect(v_.address(), StartupFrame::request(1), lab().peer_socket()));
	v_.connection(0, long_wait);
}

std::string Witness::turn()
try {
	const uint32_t slot = turns_++ % v_.options().receives;
	Octets written = pattern(300, turns_), sent = pattern(100, turns_ + 7), got;
	victim::Region &r = *v_.rw;

	p_->send(write_segment(r.rkey(), r.base(), written));
	p_->send_message(sent);
	std::optional<ibv_wc> wc = v_.completion(long_wait);
	if (!wc || wc->status != IBV_WC_SUCCESS || Victim::index_of(wc->wr_id) != slot)
		return "its message does not arrive";
	if (v_.connection(0).received(slot, sent.size()) != sent || r.copy(0, written.size()) != written)
		return "octets arrive changed";
	v_.connection(0).post_receive(slot);
	p_->read({1, 2, static_cast<uint32_t>(written.size()), r.rkey(), r.base()});
	while (got.size() < written.size()) {
		std::optional<Segment> s = p_->receive(long_wait);
		if (!s || s->opcode != op_read_response)
			return "its read is not answered";
		put(got, s->payload);
	}
	if (got != written)
		return "its read returns other octets";
	return r.changed({{0, written.size()}});
} catch (const std::exception &e) {
	return e.what();
}

std::string resources()
{
	std::string all, key = " " + lab().device.name() + ": ";
	char line[256];
	FILE *f = popen("rdma resource show", "re");

	if (!f)
		throw std::runtime_error("cannot run rdma");
	while (fgets(line, sizeof(line), f))
		if (std::string s = line; s.find(key) != std::string::npos)
			all = s.substr(s.find(key) + key.size());
	pclose(f);
	while (!all.empty() && (all.back() == '\n' || all.back() == ' '))
		all.pop_back();
	return all;
}

} // namespace live_fuzz
