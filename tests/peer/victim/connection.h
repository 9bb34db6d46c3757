// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// One connection of the victim: rdma_cm id, QP, receive slots, and the events received.
#pragma once

#include <memory>
#include <optional>
#include <rdma/rdma_cma.h>

#include "region.h"

namespace victim {

class Victim;

class Connection {
public:
	Connection(Victim &v, rdma_cm_id *id, unsigned index);
	~Connection();
	Connection(const Connection &) = delete;
	Connection &operator=(const Connection &) = delete;

	unsigned index() const { return index_; }
	rdma_cm_id *id() const { return id_; }
	ibv_qp *qp() const { return id_->qp; }
	ibv_qp_state state() const;

	// Receive slots, each with a gap of bytes before and after it that belongs to the region
	// but to no receive.
	static constexpr size_t gap = 64;
	void post_receive(unsigned slot);
	Range slot(unsigned n) const;
	iwarp::Bytes received(unsigned slot, size_t len)
	{
		return recv.copy(static_cast<size_t>(this->slot(slot).at), len);
	}

	// Each posts a signalled work request for len bytes of a local region, from offset at. stag
	// and to are the peer's.
	void post_send(const Region &from, size_t at, size_t len)
	{
		post(IBV_WR_SEND, from, at, len, 0, 0);
	}
	void post_write(const Region &from, size_t at, size_t len, uint32_t stag, uint64_t to)
	{
		post(IBV_WR_RDMA_WRITE, from, at, len, stag, to);
	}
	void post_read(const Region &into, size_t at, size_t len, uint32_t stag, uint64_t to)
	{
		post(IBV_WR_RDMA_READ, into, at, len, stag, to);
	}

	// Posts wr, signalled, with one scatter/gather element: len bytes of r, from offset at.
	void post(ibv_send_wr wr, const Region &r, size_t at, size_t len);
	// Posts all in one call, each with a scatter/gather element of its own in r.
	struct Work {
		ibv_send_wr wr;
		size_t at, len;
	};
	void post(const Region &r, const std::vector<Work> &all);
	// Posts a signalled work request with these scatter/gather elements, at most two.
	void post_pieces(ibv_wr_opcode op, std::vector<ibv_sge> pieces);

	// Binds a memory window of type 2 to all of a region, for remote writes, and waits for the
	// completion. Returns the key.
	uint32_t bind(ibv_mw *window, const Region &r);

	// Sets the remote access rights of the QP. The default of rdma_cm is all of them.
	void allow(int access);

	void accept();
	void reject(const iwarp::Bytes &private_data);
	void disconnect();

	Region recv;

	// Guarded by the victim's lock: read the members in a condition of Victim::wait().
	struct Happened {
		iwarp::Bytes request_data; // private data of the request (passive side)
		std::optional<rdma_cm_event_type> connect; // ESTABLISHED, REJECTED, ...
		int status = 0;				   // of that event
		iwarp::Bytes reply_data;		   // private data of that event
		uint8_t ird = 0, ord = 0;		   // of the request or that event
		bool accepted = false;			   // by the victim as passive side
		bool disconnected = false;
		bool fatal = false; // asynchronous error event of the QP
	} happened;

private:
	void create_qp();
	void post(ibv_wr_opcode op, const Region &r, size_t at, size_t len, uint32_t stag,
		  uint64_t to);
	Victim &victim_;
	rdma_cm_id *id_;
	unsigned index_;
	unsigned sends_ = 0;
};

} // namespace victim
