// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// fork() with registered memory: the device continues to use the pages of the parent, whichever
// process writes, and whatever the child does. For connections see data/process_test.cc.
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rdma/endpoint.h"
#include "user.h"

using namespace rdma;

namespace {

// A child that exits on request, or when its task is done.
class Child {
public:
	explicit Child(const std::function<bool()> &what)
	{
		check(pipe(go_), "pipe");
		pid_ = fork();
		if (!pid_) {
			char c;
			close(go_[1]);
			bool done = what();
			while (read(go_[0], &c, 1) > 0)
				;
			_exit(!done);
		}
		close(go_[0]);
	}
	bool ended_well()
	{
		close(go_[1]);
		int status = -1;
		waitpid(pid_, &status, 0);
		return status == 0;
	}

private:
	int go_[2];
	pid_t pid_;
};

void exchange(Pair &pair, unsigned int seed)
{
	fill(pair.client.memory().span(0, 30000), seed);
	post(pair.client.qp(),
	     write(1, {pair.client.memory().sge(0, 30000)}, pair.server.remote()));
	wait_ok(pair.client.scq());
	// The Read is answered after the Write was placed.
	post(pair.client.qp(),
	     read(2, {pair.client.memory().sge(30000, 30000)}, pair.server.remote()));
	wait_ok(pair.client.scq());
	EXPECT_TRUE(filled(pair.server.memory().span(0, 30000), seed));
	EXPECT_TRUE(filled(pair.client.memory().span(30000, 30000), seed));
}

} // namespace

TEST(fork, init__is_accepted)
{
	EXPECT_EQ(ibv_fork_init(), 0);
	EXPECT_NE(ibv_is_fork_initialized(), IBV_FORK_DISABLED);
}

// If the parent got a copy of a page on write, the device would continue to use the old page.
TEST(fork, memory__parent_writes_while_the_child_lives)
{
	Pair pair;
	exchange(pair, 1);
	Child child([] { return true; });
	exchange(pair, 2);
	EXPECT_TRUE(child.ended_well());
	exchange(pair, 3);
}

TEST(fork, memory__child_writes)
{
	Pair pair;
	exchange(pair, 1);
	Child child([&] {
		memset(pair.client.memory().data(), 0xee, pair.client.memory().size());
		memset(pair.server.memory().data(), 0xee, pair.server.memory().size());
		return true;
	});
	exchange(pair, 2);
	EXPECT_TRUE(child.ended_well());
	exchange(pair, 3);
}

TEST(fork, memory__child_unmaps)
{
	Pair pair;
	exchange(pair, 1);
	Child child([&] {
		return !munmap(pair.client.memory().data(), pair.client.memory().size());
	});
	EXPECT_TRUE(child.ended_well());
	exchange(pair, 2);
}

// Pages that the parent has pinned are not charged to the child, and not released when it exits.
TEST(fork, memory__is_not_pinned_twice)
{
	Context context = open_device(lab::a().device);
	Pd pd = alloc_pd(context.get());
	size_t before = limits::pinned();
	Region region(pd.get(), 1 << 20);
	EXPECT_EQ(limits::pinned(), before + (1 << 20));
	EXPECT_TRUE(Child([] { return limits::pinned() == 0; }).ended_well());
	EXPECT_EQ(limits::pinned(), before + (1 << 20));
	region.deregister();
	EXPECT_EQ(limits::pinned(), before);
}

// A child that has inherited the descriptor keeps the device in use after the parent has closed it.
TEST(fork, device__outlives_the_parents_descriptor)
{
	std::optional<Pair> pair;
	pair.emplace();
	exchange(*pair, 1);
	Child child([] { return true; });
	pair.reset();
	EXPECT_TRUE(child.ended_well());
	Pair another;
	exchange(another, 1);
}
