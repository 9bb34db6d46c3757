// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Startup forms besides revisions 1 and 2 as everybody speaks them, with a peer that plays them by
// hand: revision 0 (RFC 5044 appendix C), the Rtr frame (2007 proposal), RTR indications (RFC
// 6581 9.2).
#pragma once

#include "../session/frames.h"
#include "../session/traffic.h"

namespace peer {

// A request with these flags and nothing else.
StartupFrame request_with(uint8_t rev, bool s, bool c = true, bool m = false);
// Likewise a reply.
StartupFrame reply_with_flags(uint8_t rev, bool s, bool c = true, bool m = false);

// A counter of the device.
uint64_t counter(const std::string &name);

// Large enough for data both ways.
Options roomy();

// The device's own timeout does not end a form that is played slowly.
class Forms : public testing::Test {
protected:
	void SetUp() override;

	// Where the victim connects to.
	Address target() const { return listener_.address(); }
	// Its request there.
	Peer asked() { return listener_.asked(); }
	// The other way round: what the victim makes of a request.
	static Peer ask(Victim &v, const StartupFrame &request);

	static void expect_established(Victim &v, Connection &c);
	// The passive consumer learns that nothing came of what it accepted.
	static void expect_failed(Victim &v, Connection &c);
	// The connection is closed without a word.
	static void expect_closed(Peer &p);
	// The counter is above what it was, soon.
	static void expect_moves(const std::string &name, uint64_t before);

private:
	PolicyScope timeout_{lab().device, "startup_timeout_ms", "60000"};
	Listener listener_;
};

} // namespace peer
