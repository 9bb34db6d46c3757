// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Objects that several threads or processes use at once, or after the process that made them has
// exited.
#include <gtest/gtest.h>

#include <atomic>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "cm/kwarp_only.h"
#include "rdma/endpoint.h"

using namespace rdma;

namespace {

struct shared : KwarpOnly {};

// One CmpSwap; returns the value found.
uint64_t cmp_swap(Pair &pair, Remote target, uint64_t compare, uint64_t swap)
{
	Send s(IBV_WR_ATOMIC_CMP_AND_SWP, 1, {pair.client.memory().sge(0, 8)});
	s.wr.wr.atomic.remote_addr = target.address;
	s.wr.wr.atomic.rkey = target.rkey;
	s.wr.wr.atomic.compare_add = compare;
	s.wr.wr.atomic.swap = swap;
	post(pair.client.qp(), s);
	wait_ok(pair.client.scq());
	return *reinterpret_cast<uint64_t *>(pair.client.memory().data());
}

// Adds one, by repeating a compare and swap until it succeeds.
void increment(Pair &pair, Remote target, uint64_t &expected)
{
	for (;;) {
		uint64_t found = cmp_swap(pair, target, expected, expected + 1);
		if (found == expected) {
			expected++;
			return;
		}
		expected = found;
	}
}

void send_fd(int socket, int fd, const uint32_t (&numbers)[3])
{
	char control[CMSG_SPACE(sizeof(int))] = {};
	iovec iov{const_cast<uint32_t *>(numbers), sizeof(numbers)};
	msghdr msg{};
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	msg.msg_control = control;
	msg.msg_controllen = sizeof(control);
	cmsghdr *c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	if (sendmsg(socket, &msg, 0) < 0)
		_exit(1);
}

int receive_fd(int socket, uint32_t (&numbers)[3])
{
	char control[CMSG_SPACE(sizeof(int))] = {};
	iovec iov{numbers, sizeof(numbers)};
	msghdr msg{};
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	msg.msg_control = control;
	msg.msg_controllen = sizeof(control);
	if (recvmsg(socket, &msg, 0) != sizeof(numbers) || !CMSG_FIRSTHDR(&msg))
		return -1;
	int fd;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

} // namespace

// Compare and swap from three connections and by the program itself: no increment is lost.
TEST_F(shared, atomic__cmp_swap)
{
	constexpr int connections = 3, each = 60;
	auto number = std::make_unique<std::atomic<uint64_t>[]>(1);
	std::vector<std::unique_ptr<Pair>> pairs;
	std::vector<Mr> keys;
	for (int i = 0; i < connections; i++) {
		pairs.push_back(std::make_unique<Pair>());
		keys.push_back(reg_mr(pairs[i]->server.pd(), number.get(), 8,
				      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC));
		ibv_qp_attr attr{};
		attr.qp_access_flags = all_access | IBV_ACCESS_REMOTE_ATOMIC;
		ASSERT_EQ(ibv_modify_qp(pairs[i]->server.qp(), &attr, IBV_QP_ACCESS_FLAGS), 0);
	}
	std::atomic<int> running = connections;
	std::vector<std::string> errors(connections);
	std::vector<std::thread> threads;
	for (int i = 0; i < connections; i++)
		threads.emplace_back([&, i] {
			try {
				uint64_t expected = 0;
				Remote target{reinterpret_cast<uintptr_t>(number.get()),
					      keys[i]->rkey};
				for (int n = 0; n < each; n++)
					increment(*pairs[i], target, expected);
			} catch (const std::exception &e) {
				errors[i] = e.what();
			}
			running--;
		});
	uint64_t own = 0;
	while (running) {
		uint64_t found = number[0].load();
		own += number[0].compare_exchange_strong(found, found + 1);
		usleep(100); // otherwise the others would never succeed
	}
	for (auto &t : threads)
		t.join();
	for (const std::string &e : errors)
		ASSERT_EQ(e, "");
	EXPECT_EQ(number[0].load(), own + connections * each) << "wrong data: increments are lost";
}

// A process makes a context, a domain and a region, passes them on, and exits without cleanup.
TEST_F(shared, import__after_the_exporters_end)
{
	int memfd = memfd_create("shared", 0);
	ASSERT_EQ(ftruncate(memfd, 8192), 0);
	auto *memory = static_cast<uint8_t *>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE,
						   MAP_SHARED, memfd, 0));
	ASSERT_NE(memory, MAP_FAILED);
	int ends[2];
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	pid_t child = fork();
	if (!child) {
		try {
			Context context = open_device(lab::a().device);
			Pd pd = alloc_pd(context.get());
			Mr mr = reg_mr(pd.get(), memory, 8192);
			send_fd(ends[1], context->cmd_fd, {pd->handle, mr->handle, mr->lkey});
			_exit(0); // the objects live as long as the descriptor
		} catch (...) {
			_exit(2);
		}
	}
	uint32_t numbers[3];
	int fd = receive_fd(ends[0], numbers);
	int status;
	ASSERT_EQ(waitpid(child, &status, 0), child);
	ASSERT_EQ(status, 0);
	ASSERT_GE(fd, 0);
	{
		Context context(check(ibv_import_device(fd), "ibv_import_device"));
		ibv_pd *pd = check(ibv_import_pd(context.get(), numbers[0]), "ibv_import_pd");
		ibv_mr *mr = check(ibv_import_mr(pd, numbers[1]), "ibv_import_mr");
		EXPECT_EQ(mr->lkey, numbers[2]);
		EXPECT_EQ(mr->length, 8192u);
		// new objects can be made on the imported ones
		Cq cq = create_cq(context.get(), 16);
		ibv_qp_init_attr attr = qp_attr(cq.get());
		Qp qp = create_qp(pd, attr);
		post_recv(qp.get(), 3, {{reinterpret_cast<uintptr_t>(memory), 64, mr->lkey}});
		EXPECT_EQ(modify_state(qp.get(), IBV_QPS_ERR), 0);
		EXPECT_EQ(wait(cq.get()).status, IBV_WC_WR_FLUSH_ERR);
		qp.reset();
		// the importer may also destroy the region
		EXPECT_EQ(ibv_dereg_mr(mr), 0);
		ibv_unimport_pd(pd);
	}
	munmap(memory, 8192);
	close(memfd);
	close(ends[0]);
	close(ends[1]);
}
