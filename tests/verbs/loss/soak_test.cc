// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Early placement with all kinds of traffic, over a network that loses 1 % and reorders 25 % of the
// packets: SOAK_MESSAGES messages (default 10000, with KWARP_SHORT 2000; "make soak" runs 10^6), or
// until a device is removed.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "../../peer/victim/watchdog.h"
#include "network.h"
#include "soak.h"

using namespace rdma;

namespace {

constexpr unsigned int few = 16;

uint64_t wanted()
{
	const char *n = getenv("SOAK_MESSAGES");
	return n ? strtoull(n, nullptr, 10) : lab::repetitions(10000, 2000);
}

// Many, because each connection stalls for a while when its last segment is lost.
unsigned int connections()
{
	return wanted() < 100000 ? few : 4 * few;
}

// The sum of both hosts.
uint64_t counter(const char *name)
{
	return lab::a().counter(name) + lab::b().counter(name);
}

} // namespace

// The caller sets policies and network (reordering() in tests/vm/lib.sh).
TEST(soak, every_operation)
{
	static constexpr const char *names[] = {"rx_fpdus", "ooo_placed_fpdus", "ooo_placed_octets",
						"ooo_delivered_without_copy", "ooo_replaced"};
	uint64_t count[std::size(names)];
	for (size_t i = 0; i < std::size(names); i++)
		count[i] = counter(names[i]);
	const uint64_t sent_again = lab::retransmitted(lab::a()) + lab::retransmitted(lab::b());

	victim::may_take(std::chrono::minutes(5 + wanted() / 10000));
	Soak soak(connections());
	soak.run(wanted());

	const Way::Counts n = soak.counts();
	printf("# soak: Sends %llu, Writes %llu, Writes with Immediate %llu, Reads %llu, "
	       "atomics %llu; %llu bytes\n",
	       static_cast<unsigned long long>(n[Way::send]),
	       static_cast<unsigned long long>(n[Way::write]),
	       static_cast<unsigned long long>(n[Way::write_imm]),
	       static_cast<unsigned long long>(n[Way::read]),
	       static_cast<unsigned long long>(n[Way::atomic]),
	       static_cast<unsigned long long>(soak.bytes()));
	for (size_t i = 0; i < std::size(names); i++) {
		count[i] = counter(names[i]) - count[i];
		printf("# soak: %s %llu\n", names[i], static_cast<unsigned long long>(count[i]));
	}
	EXPECT_GT(lab::retransmitted(lab::a()) + lab::retransmitted(lab::b()), sent_again)
		<< "no packet was lost";
	// The numbers depend on timing.
	EXPECT_GT(count[1], 0U) << "no FPDU was placed early";
	EXPECT_GT(count[3], 0U) << "all early FPDUs were copied again";
	EXPECT_GE(count[1], count[3]);
}

// The caller removes a device or a netdev. No call may wait for ever, and all remaining objects can
// be destroyed.
TEST(soak, until_a_device_goes)
{
	Soak soak(few);
	EXPECT_THROW(soak.run(UINT64_MAX / 2), Failure);
}
