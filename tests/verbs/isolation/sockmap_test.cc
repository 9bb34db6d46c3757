// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// An administrator's BPF program that puts accepted connections into a sockmap, as accelerators of
// local TCP connections do: these sockets belong to BPF.
#include <gtest/gtest.h>

#include <cstring>

#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rdma/endpoint.h"

using namespace rdma;

namespace {

int bpf(bpf_cmd command, bpf_attr &attr)
{
	return static_cast<int>(syscall(SYS_bpf, command, &attr, sizeof(attr)));
}

uint64_t address(const void *p)
{
	return reinterpret_cast<uintptr_t>(p);
}

// While it exists, each connection that a listener of this machine accepts enters a sockmap.
class Accelerator {
public:
	Accelerator()
	{
		bpf_attr attr{};
		attr.map_type = BPF_MAP_TYPE_SOCKMAP;
		attr.key_size = attr.value_size = sizeof(uint32_t);
		attr.max_entries = 1;
		map_ = bpf(BPF_MAP_CREATE, attr);
		if (map_ < 0)
			throw Failure("BPF_MAP_CREATE", errno);
		load();
		attr = {};
		attr.target_fd = static_cast<uint32_t>(group_);
		attr.attach_bpf_fd = static_cast<uint32_t>(program_);
		attr.attach_type = BPF_CGROUP_SOCK_OPS;
		check(bpf(BPF_PROG_ATTACH, attr), "BPF_PROG_ATTACH");
	}

	~Accelerator()
	{
		bpf_attr attr{};
		attr.target_fd = static_cast<uint32_t>(group_);
		attr.attach_bpf_fd = static_cast<uint32_t>(program_);
		attr.attach_type = BPF_CGROUP_SOCK_OPS;
		bpf(BPF_PROG_DETACH, attr);
		for (int fd : {map_, program_, group_})
			close(fd);
	}

	Accelerator(const Accelerator &) = delete;
	Accelerator &operator=(const Accelerator &) = delete;

private:
	static constexpr bpf_insn insn(int code, int dst, int src, int off, int imm)
	{
		return {static_cast<uint8_t>(code), static_cast<uint8_t>(dst & 15),
			static_cast<uint8_t>(src & 15), static_cast<int16_t>(off), imm};
	}

	// if (ops->op == PASSIVE_ESTABLISHED) bpf_sock_map_update(ops, map, &(u32){0}, BPF_ANY)
	void load()
	{
		const bpf_insn code[] = {
			insn(BPF_LDX | BPF_MEM | BPF_W, 2, 1, 0, 0), // op comes first
			insn(BPF_JMP | BPF_JNE | BPF_K, 2, 0, 7,
			     BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB),
			insn(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0),
			insn(BPF_LD | BPF_DW | BPF_IMM, 2, BPF_PSEUDO_MAP_FD, 0, map_),
			insn(0, 0, 0, 0, 0),
			insn(BPF_ALU64 | BPF_MOV | BPF_X, 3, 10, 0, 0),
			insn(BPF_ALU64 | BPF_ADD | BPF_K, 3, 0, 0, -4),
			insn(BPF_ALU64 | BPF_MOV | BPF_K, 4, 0, 0, BPF_ANY),
			insn(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_sock_map_update),
			insn(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 1),
			insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
		};
		char log[4096] = "";
		bpf_attr attr{};
		attr.prog_type = BPF_PROG_TYPE_SOCK_OPS;
		attr.insns = address(code);
		attr.insn_cnt = std::size(code);
		attr.license = address("GPL");
		attr.log_buf = address(log);
		attr.log_size = sizeof(log);
		attr.log_level = 1;
		program_ = bpf(BPF_PROG_LOAD, attr);
		if (program_ < 0)
			throw Failure(std::string("BPF_PROG_LOAD: ") + log, errno);
		group_ = open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		check(group_ < 0, "open /sys/fs/cgroup");
	}

	int map_ = -1, program_ = -1, group_ = -1;
};

bool has_bpf()
{
	bpf_attr attr{};
	return bpf(BPF_MAP_CREATE, attr) == 0 || errno != ENOSYS;
}

} // namespace

TEST(sockmap, accepted__is_closed)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	if (!lab::b().is_mpa())
		GTEST_SKIP() << "TCP only";
	if (!has_bpf())
		GTEST_SKIP() << "no BPF";
	Listener listener(lab::b());
	{
		Accelerator accelerator;
		Endpoint client(lab::a());
		client.resolve(listener);
		client.connect();
		EXPECT_NE(client.channel().next().value().status, 0);
	}
	Endpoint client(lab::a());
	client.resolve(listener);
	client.connect();
	Endpoint server(listener.request());
	server.accept();
	client.established();
}
