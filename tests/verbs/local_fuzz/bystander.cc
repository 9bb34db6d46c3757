// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "bystander.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rdma/endpoint.h"

namespace local_fuzz {

struct Bystander::Shared {
	std::atomic<uint64_t> turns; // completed
	std::atomic<bool> stop;
	std::atomic<bool> failed;
	char fault[256];
};

namespace {

using namespace rdma;

constexpr size_t most = 16384;
const Milliseconds long_wait = 2 * patience;

void expect(std::span<const uint8_t> bytes, unsigned seed, const char *what)
{
	if (testing::AssertionResult same = filled(bytes, seed); !same)
		throw Failure(std::string(same.message()) + ", by " + what);
}

// Halves of the memory: source of sends, target of receives.
void do_turn(Pair &p, unsigned n)
{
	const size_t length = 1 + n * 977 % most;
	const Region &from = p.client.memory(), &to = p.server.memory();
	const size_t half = from.size() / 2;

	fill(from.span(0, half), n);
	post(p.client.qp(), write(1, {from.sge(0, length)}, p.server.remote()));
	post_recv(p.server.qp(), 2, {to.sge(half, most)});
	post(p.client.qp(), send(3, {from.sge(0, length)}));
	wait_ok(p.client.scq(), 2, long_wait);
	if (wait_ok(p.server.rcq(), long_wait).byte_len != length)
		throw Failure("send: wrong length");
	expect(to.span(0, length), n, "write");
	expect(to.span(half, length), n, "send");
	fill(from.span(half, length), n + 1);
	post(p.client.qp(), read(4, {from.sge(half, length)}, p.server.remote()));
	wait_ok(p.client.scq(), long_wait);
	expect(from.span(half, length), n, "read");
}

} // namespace

Bystander::Bystander()
	: shared_(static_cast<Shared *>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
					     MAP_SHARED | MAP_ANONYMOUS, -1, 0)))
{
	if (shared_ == MAP_FAILED)
		throw Failure("mmap", errno);
	pid_ = fork();
	if (pid_ < 0)
		throw Failure("fork", errno);
	if (pid_)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	try {
		Pair pair;
		for (unsigned n = 0; !shared_->stop; n++) {
			do_turn(pair, n);
			shared_->turns++;
			usleep(1000);
		}
	} catch (const std::exception &e) {
		snprintf(shared_->fault, sizeof(shared_->fault), "%s", e.what());
		shared_->failed = true;
	}
	_exit(shared_->failed);
}

Bystander::~Bystander()
{
	shared_->stop = true;
	waitpid(pid_, nullptr, 0);
	munmap(shared_, sizeof(Shared));
}

uint64_t Bystander::turns() const
{
	return shared_->turns;
}

std::string Bystander::turn()
{
	const uint64_t wanted = turns() + 2;
	const auto end = std::chrono::steady_clock::now() + long_wait;

	while (turns() < wanted && !shared_->failed) {
		if (std::chrono::steady_clock::now() > end)
			return "the bystander makes no progress";
		usleep(1000);
	}
	return shared_->failed ? std::string("the bystander: ") + shared_->fault : "";
}

} // namespace local_fuzz
