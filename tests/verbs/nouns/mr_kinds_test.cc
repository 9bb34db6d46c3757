// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Regions of memory other than anonymous pages: huge pages, files, buffers of other drivers; and
// restrictions of the system: limits, fork.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "lab/host.h"
#include "rdma/endpoint.h"

using namespace rdma;

namespace {

constexpr size_t page = 4096;
constexpr size_t huge_page = 2 << 20;

// A file descriptor that closes itself.
struct Fd {
	explicit Fd(int fd) : fd(fd) {}
	~Fd() { close(fd); }
	Fd(const Fd &) = delete;
	int fd;
};

// Memory of a memfd, and the buffer that the udmabuf driver makes of it.
struct Buffer {
	size_t size;
	Fd memfd{memfd_create("buffer", MFD_ALLOW_SEALING)};
	std::unique_ptr<Fd> fd;
	uint8_t *data = nullptr;

	explicit Buffer(size_t size) : size(size)
	{
		check(ftruncate(memfd.fd, size), "ftruncate");
		check(fcntl(memfd.fd, F_ADD_SEALS, F_SEAL_SHRINK), "F_ADD_SEALS");
		data = static_cast<uint8_t *>(mmap(nullptr, size, PROT_READ | PROT_WRITE,
						   MAP_SHARED, memfd.fd, 0));
		check(data == MAP_FAILED ? -1 : 0, "mmap");
		Fd driver(open("/dev/udmabuf", O_RDWR));
		udmabuf_create create{static_cast<uint32_t>(memfd.fd), UDMABUF_FLAGS_CLOEXEC, 0,
				      size};
		int made = ioctl(driver.fd, UDMABUF_CREATE, &create);
		check(made < 0 ? -1 : 0, "UDMABUF_CREATE");
		fd = std::make_unique<Fd>(made);
	}
	~Buffer() { munmap(data, size); }
	std::span<uint8_t> span(size_t offset, size_t length) const
	{
		return {data + offset, length};
	}
};

struct dmabuf : testing::Test {
	void SetUp() override
	{
		if (!lab::both_kwarp())
			GTEST_SKIP() << "kwarp only";
		if (access("/dev/udmabuf", R_OK | W_OK))
			GTEST_SKIP() << "the kernel has no udmabuf";
	}
};

int in_child(auto what)
{
	pid_t child = fork();
	if (!child) {
		int ret = 99;
		try {
			ret = what();
		} catch (const std::exception &e) {
			fprintf(stderr, "%s\n", e.what());
		}
		_exit(ret);
	}
	int status = -1;
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The client writes to remote memory and reads the data back.
void exchange(Pair &pair, Remote there, std::span<uint8_t> memory, unsigned int seed)
{
	size_t n = memory.size();
	fill(pair.client.memory().span(0, n), seed);
	post(pair.client.qp(), write(1, {pair.client.memory().sge(0, n)}, there));
	post(pair.client.qp(), read(2, {pair.client.memory().sge(n, n)}, there));
	wait_ok(pair.client.scq(), 2);
	EXPECT_TRUE(filled(memory, seed));
	EXPECT_TRUE(filled(pair.client.memory().span(n, n), seed));
}

} // namespace

// ---- buffers of other drivers ----

TEST_F(dmabuf, access__written_and_read)
{
	Pair pair;
	Buffer buffer(8 * page);
	Mr mr(check(ibv_reg_dmabuf_mr(pair.server.pd(), 0, 8 * page, 0, buffer.fd->fd, all_access),
		    "ibv_reg_dmabuf_mr"));
	EXPECT_NE(lab::output(lab::b(), "rdma -jdd resource show mr dev " + lab::b().device +
						" pid " + std::to_string(getpid()))
			  .find("\"dmabuf\""),
		  std::string::npos);
	exchange(pair, {0, mr->rkey}, buffer.span(0, 8 * page), 1);
	exchange(pair, {page + 13, mr->rkey}, buffer.span(page + 13, 5000), 2);
}

TEST_F(dmabuf, access__part_of_it_at_an_address)
{
	Pair pair;
	Buffer buffer(8 * page);
	uint64_t iova = 0x7000'0000'0000 + 100;
	Mr mr(check(ibv_reg_dmabuf_mr(pair.server.pd(), page + 100, 2 * page, iova, buffer.fd->fd,
				      all_access),
		    "ibv_reg_dmabuf_mr"));
	exchange(pair, {iova, mr->rkey}, buffer.span(page + 100, 2 * page), 1);
	EXPECT_TRUE(all_equal(buffer.span(0, page + 100), 0));
	EXPECT_TRUE(all_equal(buffer.span(3 * page + 100, page), 0));
	// not beyond the part
	post(pair.client.qp(),
	     write(1, {pair.client.memory().sge(0, 64)}, {iova + 2 * page - 63, mr->rkey}));
	EXPECT_TRUE(pair.server.reaches(IBV_QPS_ERR));
	EXPECT_TRUE(all_equal(buffer.span(3 * page + 100, page), 0));
}

TEST_F(dmabuf, access__local_buffers)
{
	Pair pair;
	Buffer buffer(4 * page);
	Mr mr(check(ibv_reg_dmabuf_mr(pair.client.pd(), 0, 4 * page, 0, buffer.fd->fd, all_access),
		    "ibv_reg_dmabuf_mr"));
	fill(buffer.span(0, page), 4);
	post(pair.client.qp(), write(1, {{0, page, mr->lkey}}, pair.server.remote()));
	post(pair.client.qp(), read(2, {{2 * page, page, mr->lkey}}, pair.server.remote()));
	wait_ok(pair.client.scq(), 2);
	EXPECT_TRUE(filled(buffer.span(2 * page, page), 4));
}

TEST_F(dmabuf, access__no_right)
{
	Pair pair;
	Buffer buffer(page);
	Mr mr(check(ibv_reg_dmabuf_mr(pair.server.pd(), 0, page, 0, buffer.fd->fd,
				      IBV_ACCESS_REMOTE_READ),
		    "ibv_reg_dmabuf_mr"));
	memset(pair.client.memory().data(), 0xaa, 64);
	post(pair.client.qp(), write(1, {pair.client.memory().sge(0, 64)}, {0, mr->rkey}));
	EXPECT_TRUE(pair.server.reaches(IBV_QPS_ERR));
	EXPECT_TRUE(all_equal(buffer.span(0, page), 0));
}

TEST_F(dmabuf, lifetime__outlives_its_descriptor)
{
	Pair pair;
	Buffer buffer(4 * page);
	Mr mr(check(ibv_reg_dmabuf_mr(pair.server.pd(), 0, 4 * page, 0, buffer.fd->fd, all_access),
		    "ibv_reg_dmabuf_mr"));
	buffer.fd.reset();
	exchange(pair, {0, mr->rkey}, buffer.span(0, 4 * page), 1);
}

TEST_F(dmabuf, register__what_is_refused)
{
	Context context = open_device(lab::a().device);
	Pd pd = alloc_pd(context.get());
	Buffer buffer(4 * page);
	auto error = [&](uint64_t offset, size_t length, uint64_t iova, int fd, int access) {
		Mr mr(ibv_reg_dmabuf_mr(pd.get(), offset, length, iova, fd, access));
		return mr ? 0 : errno;
	};
	int fd = buffer.fd->fd;
	EXPECT_EQ(error(0, 4 * page, 0, fd, all_access), 0);
	EXPECT_EQ(error(0, 4 * page + 1, 0, fd, all_access), EINVAL);
	EXPECT_EQ(error(4 * page, 1, 0, fd, all_access), EINVAL);
	EXPECT_EQ(error(0, 0, 0, fd, all_access), EINVAL);
	EXPECT_EQ(error(~0ull - page + 1, 2 * page, 0, fd, all_access), EINVAL);
	EXPECT_EQ(error(0, page, ~0ull - page + 1 + page / 2, fd, all_access),
		  EINVAL); // offset in the page
	EXPECT_EQ(error(0, 2 * page, ~0ull - page + 1, fd, all_access), EINVAL); // wraps
	EXPECT_EQ(error(0, page, 0, buffer.memfd.fd, all_access), EINVAL);
	EXPECT_EQ(error(0, page, 0, -1, all_access), EBADF);
	EXPECT_EQ(error(0, page, 0, fd, IBV_ACCESS_REMOTE_WRITE), EINVAL);
}

TEST_F(dmabuf, reregister__is_refused)
{
	Context context = open_device(lab::a().device);
	Pd pd = alloc_pd(context.get());
	Buffer buffer(page);
	Mr mr(check(ibv_reg_dmabuf_mr(pd.get(), 0, page, 0, buffer.fd->fd, all_access),
		    "ibv_reg_dmabuf_mr"));
	EXPECT_NE(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
			       IBV_ACCESS_REMOTE_READ),
		  0);
}

// ---- files and huge pages ----

TEST(mr_kinds, file__mapped_for_reading)
{
	Pair pair;
	std::string name = "/tmp/mr_kinds";
	std::ofstream(name) << std::string(page, 'k');
	Fd file(open(name.c_str(), O_RDONLY));
	void *data = mmap(nullptr, page, PROT_READ, MAP_SHARED, file.fd, 0);
	ASSERT_NE(data, MAP_FAILED);
	{
		Mr mr = reg_mr(pair.server.pd(), data, page, IBV_ACCESS_REMOTE_READ);
		post(pair.client.qp(), read(1, {pair.client.memory().sge(0, page)},
					    {reinterpret_cast<uintptr_t>(data), mr->rkey}));
		wait_ok(pair.client.scq());
		EXPECT_TRUE(all_equal(pair.client.memory().span(0, page), 'k'));
		EXPECT_EQ(ibv_reg_mr(pair.server.pd(), data, page, all_access), nullptr);
		EXPECT_EQ(errno, EFAULT);
	}
	munmap(data, page);
	unlink(name.c_str());
}

TEST(mr_kinds, huge_pages)
{
	std::ofstream("/proc/sys/vm/nr_hugepages") << 4;
	uint8_t *data =
		static_cast<uint8_t *>(mmap(nullptr, 2 * huge_page, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0));
	if (data == MAP_FAILED)
		GTEST_SKIP() << "no huge pages";
	{
		Pair pair;
		Mr mr = reg_mr(pair.server.pd(), data + 100, 2 * huge_page - 200,
			       all_access | IBV_ACCESS_HUGETLB);
		size_t middle = huge_page - 10000;
		exchange(pair, {reinterpret_cast<uintptr_t>(data) + middle, mr->rkey},
			 {data + middle, 20000}, 1);
		exchange(pair, {reinterpret_cast<uintptr_t>(data) + 100, mr->rkey},
			 {data + 100, 10000}, 2);
	}
	munmap(data, 2 * huge_page);
	std::ofstream("/proc/sys/vm/nr_hugepages") << 0;
}

// ---- restrictions of the system ----

TEST(mr_kinds, limit__of_locked_memory)
{
	EXPECT_EQ(in_child([] {
			  Context context = open_device(lab::a().device);
			  Pd pd = alloc_pd(context.get());
			  Memory memory(1 << 20);
			  rlimit limit{256 * 1024, 256 * 1024};
			  check(setrlimit(RLIMIT_MEMLOCK, &limit), "setrlimit");
			  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
			  __user_cap_data_struct none[2]{};
			  check(syscall(SYS_capset, &header, none), "capset");

			  if (!Mr(ibv_reg_mr(pd.get(), memory.data(), 128 * 1024, all_access)))
				  return 1;
			  Mr one = reg_mr(pd.get(), memory.data(), 200 * 1024);
			  if (ibv_reg_mr(pd.get(), memory.data(), 100 * 1024, all_access) ||
			      errno != ENOMEM)
				  return 2;
			  if (!ibv_rereg_mr(one.get(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr,
					    memory.data(), 1 << 20, 0))
				  return 3;
			  // Released memory can be registered again.
			  one.reset();
			  if (!Mr(ibv_reg_mr(pd.get(), memory.data(), 250 * 1024, all_access)))
				  return 4;
			  return 0;
		  }),
		  0);
}

TEST(mr_kinds, fork__needs_no_preparation)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	EXPECT_EQ(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
	// The device uses the pages of the parent, whichever process writes first.
	Pair pair;
	Region region(pair.server.pd(), 4 * page);
	memset(region.data(), 1, region.size());
	EXPECT_EQ(in_child([&] {
			  memset(region.data(), 2, region.size());
			  return 0;
		  }),
		  0);
	exchange(pair, {region.address(), region.rkey()}, region.span(0, 4 * page), 7);
	memset(region.data(), 3, region.size());
	post(pair.client.qp(),
	     read(1, {pair.client.memory().sge(0, page)}, {region.address(), region.rkey()}));
	wait_ok(pair.client.scq());
	EXPECT_TRUE(all_equal(pair.client.memory().span(0, page), 3));
}

TEST(mr_kinds, advice__is_not_taken)
{
	// All pages are pinned, so prefetching has no effect.
	Context context = open_device(lab::a().device);
	Pd pd = alloc_pd(context.get());
	Region region(pd.get(), page);
	ibv_sge sge = region.sge(0, page);
	EXPECT_EQ(ibv_advise_mr(pd.get(), IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), EOPNOTSUPP);
}

TEST(mr_kinds, zero_based)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	Pair pair;
	Memory memory(4 * page);
	Mr mr = reg_mr(pair.server.pd(), memory.data() + 77, 2 * page,
		       all_access | IBV_ACCESS_ZERO_BASED);
	exchange(pair, {0, mr->rkey}, memory.span(77, 2 * page), 1);
	exchange(pair, {page, mr->rkey}, memory.span(77 + page, page), 2);
	EXPECT_TRUE(all_equal(memory.span(0, 77), 0));
	post(pair.client.qp(),
	     write(1, {pair.client.memory().sge(0, 2)}, {2 * page - 1, mr->rkey}));
	EXPECT_TRUE(pair.server.reaches(IBV_QPS_ERR));
	EXPECT_TRUE(all_equal(memory.span(77 + 2 * page, page), 0));
}

TEST(mr_kinds, zero_based__local_buffers)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	Pair pair;
	Memory memory(2 * page);
	Mr mr = reg_mr(pair.client.pd(), memory.data(), 2 * page,
		       all_access | IBV_ACCESS_ZERO_BASED);
	fill(memory.span(100, 1000), 3);
	post(pair.client.qp(), write(1, {{100, 1000, mr->lkey}}, pair.server.remote()));
	post(pair.client.qp(), read(2, {{page, 1000, mr->lkey}}, pair.server.remote()));
	wait_ok(pair.client.scq(), 2);
	EXPECT_TRUE(filled(memory.span(page, 1000), 3));
}
