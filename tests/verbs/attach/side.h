// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// TCP connections made by a program, and QPs without rdma_cm to attach them to.
#pragma once

#include <kwarpdv.h>

#include <optional>
#include <string>
#include <utility>

#include "lab/host.h"
#include "rdma/region.h"
#include "rdma/work.h"

namespace attach {

class Fd {
public:
	explicit Fd(int fd = -1) : fd_(fd) {}
	Fd(Fd &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
	Fd &operator=(Fd &&other) noexcept
	{
		std::swap(fd_, other.fd_);
		return *this;
	}
	~Fd() { close(); }

	int get() const { return fd_; }
	int release() { return std::exchange(fd_, -1); }
	void close();

private:
	int fd_;
};

// The two ends of an established TCP connection.
struct Connection {
	Fd a; // connected, on host A
	Fd b; // accepted, on host B
};

Connection connect(lab::Family family = lab::Family::ipv4);
// The socket on host A is an IPv6 socket with IPv4-mapped addresses.
Connection connect_mapped();
// Over lo in the namespace of the calling thread.
Connection connect_here();

void write_all(int fd, const std::string &bytes);
// Reads exactly this many bytes, or throws.
std::string read_exactly(int fd, size_t length);
// Send a descriptor through a UNIX socket, and receive it.
void pass(int unix_socket, int fd);
int passed(int unix_socket);
// Whether the peer has closed or reset the connection: nothing more can be read.
bool closed(int fd, rdma::Milliseconds limit = rdma::patience);

using Attr = kwarpdv_attach_attr;
using Result = kwarpdv_attach_result;

// This form and role, with IRD and ORD of four.
Attr attr_with_reads(kwarp_attach_form form, kwarp_attach_role role);
inline Attr key_attr(kwarp_attach_role role)
{
	return attr_with_reads(KWARP_ATTACH_START_KEY, role);
}
std::string private_data(const Result &result);

// A QP in INIT with its own memory and CQ.
class Side {
public:
	explicit Side(const lab::Host &host);

	int start(int fd, const Attr &attr) { return kwarpdv_attach_start(qp(), fd, &attr); }
	// Waits until startup has ended; returns 0 or an errno.
	int wait(Result *result = nullptr);
	int attach(int fd, const Attr &attr, Result *result = nullptr);

	ibv_context *context() const { return context_.get(); }
	ibv_qp *qp() const { return qp_.get(); }
	ibv_cq *cq() const { return cq_.get(); }
	rdma::Region &memory() const { return *memory_; }
	rdma::Remote remote(size_t offset = 0) const
	{
		return {memory_->address(offset), memory_->rkey()};
	}
	ibv_qp_state state() const { return rdma::query_qp(qp()).qp_state; }
	bool reaches(ibv_qp_state state) const;
	void destroy_qp() { qp_.reset(); }

private:
	rdma::Context context_;
	rdma::Pd pd_;
	rdma::Cq cq_;
	std::unique_ptr<rdma::Region> memory_;
	rdma::Qp qp_;
};

// One side posts a Send, a Write and a Read of this many bytes; the data must arrive unchanged.
void transfer(Side &from, Side &to, size_t length, unsigned int seed);
// In both directions, the initiator first.
void transfers(Side &initiator, Side &responder);

} // namespace attach
