// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "player.h"

#include <arpa/inet.h>

#include <thread>

#include "rdma/failure.h"

namespace ib_style {

constexpr size_t half = 32 * 1024; // of the memory: the lower half sends, the upper half receives

ibv_gid gid_of(const std::string &ip)
{
	ibv_gid gid{};
	if (inet_pton(AF_INET6, ip.c_str(), gid.raw) == 1)
		return gid;
	gid.raw[10] = gid.raw[11] = 0xff;
	if (inet_pton(AF_INET, ip.c_str(), gid.raw + 12) != 1)
		throw rdma::Failure(ip + " is no address");
	return gid;
}

static int find_gid(ibv_context *context, const ibv_gid &wanted)
{
	ibv_gid gid;
	for (int i = 0; !ibv_query_gid(context, 1, i, &gid); i++)
		if (!memcmp(&gid, &wanted, sizeof(gid)))
			return i;
	return -1;
}

int gid_index(ibv_context *context, const std::string &ip)
{
	return find_gid(context, gid_of(ip));
}

int index_of(const lab::Host &host, const ibv_gid &gid)
{
	rdma::Context context = rdma::open_device(host.device);
	return find_gid(context.get(), gid);
}

ibv_gid link_local(const lab::Host &host)
{
	rdma::Context context = rdma::open_device(host.device);
	ibv_gid gid;
	for (int i = 0; !ibv_query_gid(context.get(), 1, i, &gid); i++)
		if (gid.raw[0] == 0xfe && gid.raw[1] == 0x80)
			return gid;
	throw rdma::Failure(host.device + " has no link-local GID");
}

// The table follows the netdev's addresses after a short delay.
static int await_gid(ibv_context *context, const std::string &ip)
{
	auto end = std::chrono::steady_clock::now() + rdma::patience;
	int index;
	while ((index = gid_index(context, ip)) < 0 && std::chrono::steady_clock::now() < end)
		std::this_thread::sleep_for(rdma::Milliseconds(10));
	if (index < 0)
		throw rdma::Failure("no GID for " + ip);
	return index;
}

Player::Player(const lab::Host &host, const Settings &settings)
	: host_(&host), settings_(settings), own_context_(rdma::open_device(host.device)),
	  context_(own_context_.get()), events_(std::make_unique<rdma::AsyncEvents>(context_))
{
	create();
}

Player::Player(Player &neighbour, const Settings &settings)
	: host_(neighbour.host_), settings_(settings), context_(neighbour.context_)
{
	create();
}

void Player::create()
{
	if (settings_.gid_index < 0)
		settings_.gid_index = await_gid(context_, host_->ip4);
	pd_ = rdma::alloc_pd(context_);
	const int entries = std::max(256, static_cast<int>(settings_.depth));
	scq_ = rdma::create_cq(context_, entries);
	rcq_ = rdma::create_cq(context_, entries);
	memory_ = std::make_unique<rdma::Region>(pd_.get(), 2 * half);
	ibv_qp_init_attr attr = rdma::qp_attr(scq_.get(), settings_.depth);
	attr.recv_cq = rcq();
	attr.srq = settings_.srq;
	qp_ = rdma::create_qp(pd_.get(), attr);
}

Name Player::name() const
{
	Name name{qp_->qp_num, {}, settings_.psn};
	rdma::check(ibv_query_gid(context_, 1, settings_.gid_index, &name.gid), "ibv_query_gid");
	return name;
}

ibv_qp_attr Player::rtr(const Name &partner) const
{
	ibv_qp_attr attr{};
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = IBV_MTU_2048;
	attr.dest_qp_num = partner.qpn;
	attr.rq_psn = partner.psn;
	attr.max_dest_rd_atomic = 3;
	attr.min_rnr_timer = 11;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.sl = 2;
	attr.ah_attr.grh.dgid = partner.gid;
	attr.ah_attr.grh.sgid_index = static_cast<uint8_t>(settings_.gid_index);
	attr.ah_attr.grh.hop_limit = 63;
	attr.ah_attr.grh.flow_label = 0x1234;
	return attr;
}

ibv_qp_attr Player::rts() const
{
	ibv_qp_attr attr{};
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 13;
	attr.retry_cnt = 5;
	attr.rnr_retry = 6;
	attr.sq_psn = settings_.psn;
	attr.max_rd_atomic = 2;
	return attr;
}

int Player::try_init()
{
	ibv_qp_attr attr{};
	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 1;
	attr.qp_access_flags = static_cast<unsigned int>(settings_.access);
	return ibv_modify_qp(qp(), &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

int Player::try_rtr(ibv_qp_attr attr)
{
	return ibv_modify_qp(qp(), &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER);
}

int Player::try_rts(ibv_qp_attr attr)
{
	return ibv_modify_qp(qp(), &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

void Player::to_init()
{
	rdma::check(try_init(), "INIT");
}

void Player::to_rtr(const Name &partner)
{
	rdma::check(try_rtr(rtr(partner)), "RTR");
}

void Player::to_rts()
{
	rdma::check(try_rts(rts()), "RTS");
}

void Player::bring_up(const Name &partner)
{
	to_init();
	to_rtr(partner);
	to_rts();
}

void Player::post_recv(uint64_t id, size_t offset, size_t length)
{
	rdma::post_recv(qp(), id, {memory_->sge(offset, length)});
}

void Player::post_send(uint64_t id, size_t offset, size_t length)
{
	rdma::post(qp(), rdma::send(id, {memory_->sge(offset, length)}));
}

bool Player::reaches(ibv_qp_state wanted) const
{
	auto end = std::chrono::steady_clock::now() + rdma::patience;
	while (state() != wanted && std::chrono::steady_clock::now() < end)
		std::this_thread::sleep_for(rdma::Milliseconds(5));
	return state() == wanted;
}

void introduce(Player &first, Player &second)
{
	first.bring_up(second.name());
	second.bring_up(first.name());
}

void transfer(Player &from, Player &to, unsigned int seed, size_t length)
{
	rdma::fill(from.memory().span(0, length), seed);
	to.post_recv(1, half, length);
	from.post_send(2, 0, length);
	EXPECT_EQ(rdma::wait_ok(to.rcq()).wr_id, 1u);
	EXPECT_EQ(rdma::wait_ok(from.scq()).wr_id, 2u);
	EXPECT_TRUE(rdma::filled(to.memory().span(half, length), seed));

	memset(to.memory().data() + half, 0, length);
	rdma::post(from.qp(), rdma::write(3, {from.memory().sge(0, length)}, to.remote(half)));
	rdma::post(from.qp(), rdma::read(4, {from.memory().sge(half, length)}, to.remote(half)));
	for (uint64_t id : {3, 4})
		EXPECT_EQ(rdma::wait_ok(from.scq()).wr_id, id);
	EXPECT_TRUE(rdma::filled(to.memory().span(half, length), seed));
	EXPECT_TRUE(rdma::filled(from.memory().span(half, length), seed));
}

void transfers(Player &one, Player &other)
{
	transfer(one, other, 1);
	transfer(other, one, 2);
}

} // namespace ib_style
