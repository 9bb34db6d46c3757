// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "endpoint.h"

#include <unistd.h>

namespace rdma {
namespace {

rdma_conn_param to_conn_param(const Param &param)
{
	rdma_conn_param p{};
	p.private_data = param.data.data();
	p.private_data_len = static_cast<uint8_t>(param.data.size());
	p.responder_resources = param.responder_resources;
	p.initiator_depth = param.initiator_depth;
	p.retry_count = 7;
	p.rnr_retry_count = 7;
	return p;
}

// Waits for the request of the connection. An event of the client before it reports that there will
// be none.
void await_first(Channel &listener, Channel &client)
{
	pollfd fds[] = {{listener.get()->fd, POLLIN, 0}, {client.get()->fd, POLLIN, 0}};
	readable(fds, patience);
	if (!fds[0].revents && fds[1].revents)
		client.expect(RDMA_CM_EVENT_ESTABLISHED);
}

} // namespace

Endpoint::Endpoint(const lab::Host &host, const Config &config)
	: config_(config), host_(&host), id_(create_id(host, channel_))
{
}

// Without memory for the channel the id must be destroyed, too.
Endpoint::Endpoint(const Event &request, const Config &config) : Endpoint(CmId(request.id), config)
{
}

Endpoint::Endpoint(CmId request, const Config &config) : config_(config), id_(std::move(request))
{
	check(rdma_migrate_id(id_.get(), channel_.get()), "rdma_migrate_id");
	create_objects();
}

Endpoint::~Endpoint()
{
	if (id_->qp)
		destroy_qp();
}

void Endpoint::create_objects()
{
	if (!config_.pd)
		pd_ = alloc_pd(context());
	comp_channel_ = create_channel(context());
	auto queue = [&] {
		return config_.extended ?
			       create_cq_ex(context(), config_.cq_entries, comp_channel_.get()) :
			       create_cq(context(), config_.cq_entries, comp_channel_.get());
	};
	if (!config_.cq) {
		scq_ = queue();
		rcq_ = queue();
	}
	memory_ = std::make_unique<Region>(pd(), config_.memory, config_.access);

	ibv_qp_init_attr attr{};
	attr.send_cq = scq();
	attr.recv_cq = rcq();
	attr.cap = {config_.send_wr, config_.recv_wr, config_.sge, config_.sge,
		    config_.inline_data};
	attr.srq = config_.srq;
	attr.qp_type = IBV_QPT_RC;
	create_qp(attr);
	cap_ = attr.cap;
}

void Endpoint::create_qp(ibv_qp_init_attr &attr)
{
	if (!config_.extended) {
		check(rdma_create_qp(id_.get(), pd(), &attr), "rdma_create_qp");
		return;
	}
	ibv_qp_init_attr_ex ex{};
	ex.send_cq = attr.send_cq;
	ex.recv_cq = attr.recv_cq;
	ex.srq = attr.srq;
	ex.cap = attr.cap;
	ex.qp_type = attr.qp_type;
	ex.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	ex.pd = pd();
	ex.send_ops_flags = all_send_ops;
	check(rdma_create_qp_ex(id_.get(), &ex), "rdma_create_qp_ex");
	attr.cap = ex.cap;
}

void Endpoint::resolve(const std::string &ip, uint16_t port)
{
	Address to(ip, port);
	check(rdma_resolve_addr(id_.get(), nullptr, to.get(), resolve_ms), "rdma_resolve_addr");
	channel_.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	resolve_rest();
}

void Endpoint::resolve_rest()
{
	check(rdma_resolve_route(id_.get(), resolve_ms), "rdma_resolve_route");
	channel_.expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	create_objects();
}

int Endpoint::try_connect(const Param &param)
{
	// for other drivers, which connect in the namespace of the caller
	lab::Inside inside(*host_);
	rdma_conn_param p = to_conn_param(param);
	return rdma_connect(id_.get(), &p) ? errno : 0;
}

void Endpoint::connect(const Param &param)
{
	check(try_connect(param), "rdma_connect");
}

int Endpoint::try_accept(const Param &param)
{
	rdma_conn_param p = to_conn_param(param);
	return rdma_accept(id_.get(), &p) ? errno : 0;
}

void Endpoint::accept(const Param &param)
{
	check(try_accept(param), "rdma_accept");
}

void Endpoint::reject(const Bytes &data)
{
	check(rdma_reject(id_.get(), data.data(), static_cast<uint8_t>(data.size())),
	      "rdma_reject");
}

void Endpoint::disconnect()
{
	check(rdma_disconnect(id_.get()), "rdma_disconnect");
}

void Endpoint::destroy_qp()
{
	rdma_destroy_qp(id_.get());
}

bool Endpoint::reaches(ibv_qp_state wanted, Milliseconds limit) const
{
	auto end = std::chrono::steady_clock::now() + limit;
	while (state() != wanted) {
		if (std::chrono::steady_clock::now() > end)
			return false;
		usleep(2000);
	}
	return true;
}

Pair::Pair(const PairConfig &config)
	: listener_(config.swapped ? lab::a() : lab::b(), config.family),
	  client(config.swapped ? lab::b() : lab::a(), config.client),
	  server(request(config), config.server)
{
	server.accept(config.accept);
	client.established();
	server.established();
	listener_.close();
}

Event Pair::request(const PairConfig &config)
{
	client.resolve(listener_);
	client.connect(config.connect);
	await_first(listener_.channel(), client.channel());
	return listener_.request(Milliseconds(0));
}

PairConfig both(const Config &config)
{
	PairConfig pair;
	pair.client = config;
	pair.server = config;
	return pair;
}

std::string crcs(const Pair &pair)
{
	return lab::a().qp_detail(pair.client.qp()->qp_num, "crc") +
	       lab::b().qp_detail(pair.server.qp()->qp_num, "crc");
}

} // namespace rdma
