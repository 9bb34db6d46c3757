// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "device.h"

#include <filesystem>

#include "../../peer/patience.h"

namespace removal {
namespace {

void restore(const lab::Host &host)
{
	if (!present(host))
		lab::shell(host,
			   "rdma link add " + host.device + " type kwarp netdev " + host.netdev);
}

} // namespace

void remove(const lab::Host &host)
{
	const auto limit = machine::patience_s(std::chrono::seconds(60));
	lab::shell(host, "timeout " + std::to_string(limit) + " rdma link delete " + host.device);
	if (present(host))
		throw std::runtime_error(host.device + " still exists");
}

bool present(const lab::Host &host)
{
	return std::filesystem::exists(host.sysfs());
}

void Devices::SetUp()
{
	restore(lab::a());
	restore(lab::b());
}

void Devices::TearDown()
{
	restore(lab::a());
	restore(lab::b());
}

} // namespace removal
