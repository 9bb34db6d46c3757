// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The length of the victim's FPDUs, and the MSS of its TCP connection: RFC 5041 3, 5.2; RFC 5044 3,
// 4.5, 5.1.
#include <arpa/inet.h>
#include <cstring>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <system_error>
#include <unistd.h>

#include "../iwarp/netns.h"
#include "../session/session.h"

namespace peer {
namespace {

constexpr size_t longest_ulpdu = 64768; // RFC 5044 3
const Options large_rw{.rw_size = 1 << 20};

// The MTU of the wire between victim and peer, restored at the end of the scope.
class Mtu {
public:
	explicit Mtu(int mtu) { set(mtu); }
	~Mtu() { set(1500); }
	void set(int mtu)
	{
		set(mtu, {}, lab().victim_ip);
		set(mtu, lab().peer_netns, lab().peer_ip);
		now_ = mtu;
	}
	// Bytes of a TCP segment: without the headers of IPv4 and TCP, and the latter's time stamp.
	size_t mss() const { return static_cast<size_t>(now_) - 20 - 32; }
	// Bytes of the longest FPDU, a multiple of 4.
	size_t longest_fpdu() const { return mss() & ~size_t{3}; }

private:
	static std::string netdev_of(const std::string &ip)
	{
		ifaddrs *all;
		std::string name;
		if (getifaddrs(&all))
			throw std::system_error(errno, std::generic_category(), "getifaddrs");
		for (const ifaddrs *a = all; a; a = a->ifa_next) {
			char text[INET_ADDRSTRLEN];
			if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET)
				continue;
			const auto *in = reinterpret_cast<const sockaddr_in *>(a->ifa_addr);
			if (ip == inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text)))
				name = a->ifa_name;
		}
		freeifaddrs(all);
		return name;
	}
	static void set(int mtu, const std::string &netns, const std::string &ip)
	{
		const NetnsScope scope(netns);
		const Socket any(socket(AF_INET, SOCK_DGRAM, 0));
		ifreq r{};
		netdev_of(ip).copy(r.ifr_name, IFNAMSIZ - 1);
		r.ifr_mtu = mtu;
		if (ioctl(any.fd(), SIOCSIFMTU, &r))
			throw std::system_error(errno, std::generic_category(), "SIOCSIFMTU");
	}

	int now_ = 0;
};

// Length, ULPDU, pad and CRC. There are no markers.
size_t fpdu_len(const Segment &s)
{
	return (2 + s.encode().size() + 3) / 4 * 4 + 4;
}

// Receives the victim's next Write, and checks it. Returns the lengths of its FPDUs.
std::vector<size_t> fpdus_of_write(Session &s, size_t len)
{
	std::vector<size_t> all;
	Bytes data;
	for (bool last = false; !last;) {
		const Segment g = s.p.next();
		EXPECT_EQ(g.opcode, op_write);
		EXPECT_EQ(g.to, data.size());
		all.push_back(fpdu_len(g));
		put(data, g.payload);
		last = g.last;
	}
	EXPECT_TRUE(same(data, s.v.rw->original(0, len)));
	s.completes(IBV_WC_RDMA_WRITE);
	return all;
}

std::vector<size_t> write_of(Session &s, size_t len)
{
	s.c().post_write(*s.v.rw, 0, len, 0x4711, 0);
	return fpdus_of_write(s, len);
}

TEST(Conformance, fpdus_follow_a_changed_mtu)
{
	Mtu mtu(9000);
	Session s(Terms{.rev = 2, .victim = large_rw});
	s.message();
	for (int value : {9000, 4000, 1500, 1280, 1499, 9000}) {
		SCOPED_TRACE(value);
		mtu.set(value);
		s.victim_sends(10); // TCP learns of the MTU when it sends
		for (size_t len : {1, 1200, 3000, 100000}) {
			const std::vector<size_t> all = write_of(s, len);
			for (size_t i = 0; i < all.size(); i++) {
				EXPECT_LE(all[i], mtu.mss());
				if (i + 1 < all.size()) {
					EXPECT_EQ(all[i], mtu.longest_fpdu());
				}
			}
		}
	}
	s.judge(lives());
}

// RFC 5041 3: data that were passed to the LLP need no new segmentation. The peer does not read
// before the change. Its receive buffer is smaller than what the victim has built by then.
TEST(Conformance, fpdus_queued_while_the_mtu_changes)
{
	constexpr size_t len = 900000, receive_buffer = 131072, queued = 180000;
	Mtu mtu(9000);
	for (int value : {1500, 9000}) {
		SCOPED_TRACE(value);
		mtu.set(9000); // TCP's segments never become longer than with the first MTU
		Session s(Terms{.rev = 2, .victim = large_rw});
		s.message();
		mtu.set(9000 + 1500 - value);
		s.victim_sends(10);
		const size_t old = mtu.longest_fpdu();
		const uint64_t before = counter("tx_octets");
		s.c().post_write(*s.v.rw, 0, len, 0x4711, 0);
		ASSERT_TRUE(eventually([&] { return counter("tx_octets") - before > queued; }));
		mtu.set(value);
		std::vector<size_t> all = fpdus_of_write(s, len);
		size_t n = 0;
		while (n < all.size() && all[n] == old)
			n++;
		EXPECT_GT(n * old, receive_buffer) << "nothing was queued";
		all.pop_back(); // the rest of the message
		ASSERT_LT(n, all.size()) << "no FPDU follows the change";
		for (; n < all.size(); n++)
			EXPECT_EQ(all[n], mtu.longest_fpdu()) << n;
		s.judge(lives());
	}
}

// RFC 5044 3: also where FPDUs do not follow the MSS.
TEST(Conformance, fpdus_that_are_large_have_a_limit)
{
	constexpr size_t len = 300001, overhead = 6;
	Session s(large_rw, {{"fpdu", "large"}});
	s.dial(request_with(1, false));
	s.message();
	const std::vector<size_t> all = write_of(s, len);
	EXPECT_GT(all.front(), 60000U) << "the FPDUs are not large";
	for (size_t n : all)
		EXPECT_LE(n - overhead, longest_ulpdu);
	s.judge(lives());
}

} // namespace
} // namespace peer
