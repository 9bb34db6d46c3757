// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A peer for consumers in the kernel, which connects with any private data. This program implements
// no protocol and posts no receives, so the consumer's first message ends the connection. It prints
// a line for each event.
//
//	private_data server IP PORT accept|reject DATA
//	private_data client IP PORT DATA...
//
// The server answers the first request, rejects all others, and runs until a signal ends it. The
// client makes one connection for each DATA; its exit status is 0 if each request is accepted or
// rejected. DATA is hexadecimal, or +N for N random bytes, or both (f6ab0e18+4), or "-" for none.
// The environment variable SEED is the seed of random data.
#include <rdma/rdma_cma.h>

#include <arpa/inet.h>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <netdb.h>
#include <random>
#include <string>
#include <vector>

#include "need.h"

namespace {

using Bytes = std::vector<uint8_t>;

std::mt19937 random_numbers;

[[noreturn]] void usage()
{
	fprintf(stderr, "usage: private_data server IP PORT accept|reject DATA |"
			" client IP PORT DATA...\n");
	exit(2);
}

Bytes parse(const std::string &text)
{
	size_t plus = text.find('+');
	std::string hex = text == "-" ? "" : text.substr(0, plus);
	Bytes data;

	if (hex.size() % 2 || hex.find_first_not_of("0123456789abcdef") != std::string::npos)
		usage();
	for (size_t i = 0; i < hex.size(); i += 2)
		data.push_back(std::stoul(hex.substr(i, 2), nullptr, 16));
	if (plus != std::string::npos)
		for (int n = atoi(text.c_str() + plus + 1); n > 0; n--)
			data.push_back(random_numbers());
	// rdma_cm has a length of one byte
	if (data.size() > UINT8_MAX)
		usage();
	return data;
}

std::string as_text(const Bytes &data)
{
	std::string text = std::to_string(data.size()) + " bytes";
	char digits[3];

	for (size_t i = 0; i < data.size(); i++) {
		snprintf(digits, sizeof(digits), "%02x", data[i]);
		text += (i ? "" : " ") + std::string(digits);
	}
	return text;
}

// A copy of an event, which has been printed and acknowledged.
struct Event {
	rdma_cm_event_type type;
	rdma_cm_id *id;
	uint8_t responder_resources;
	uint8_t initiator_depth;
};

Event next(rdma_event_channel *channel)
{
	rdma_cm_event *event;
	need(rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
	const rdma_conn_param &conn = event->param.conn;
	Event copy{event->event, event->id, conn.responder_resources, conn.initiator_depth};
	auto *data = static_cast<const uint8_t *>(conn.private_data);
	Bytes theirs(data, data + (data ? conn.private_data_len : 0));
	printf("%s, status %d, %s\n", rdma_event_str(copy.type), event->status,
	       as_text(theirs).c_str());
	rdma_ack_cm_event(event);
	return copy;
}

void create_qp(rdma_cm_id *id)
{
	ibv_qp_init_attr attr{};
	attr.qp_type = IBV_QPT_RC;
	attr.cap = {4, 4, 1, 1, 0};
	need(rdma_create_qp(id, nullptr, &attr), "rdma_create_qp");
}

void destroy(rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

rdma_conn_param with(const Bytes &data)
{
	rdma_conn_param param{};
	param.private_data = data.data();
	param.private_data_len = data.size();
	param.responder_resources = 8;
	param.initiator_depth = 8;
	return param;
}

void answer(const Event &request, bool accept, const Bytes &data)
{
	printf("answer: %s\n", as_text(data).c_str());
	if (!accept) {
		need(rdma_reject(request.id, data.data(), data.size()), "rdma_reject");
		destroy(request.id);
		return;
	}
	rdma_conn_param param = with(data);
	param.responder_resources = request.responder_resources;
	param.initiator_depth = request.initiator_depth;
	create_qp(request.id);
	// The client may have given up.
	if (rdma_accept(request.id, &param)) {
		printf("rdma_accept: %s\n", strerror(errno));
		destroy(request.id);
	}
}

int serve(rdma_event_channel *channel, sockaddr *address, bool accept, const Bytes &data)
{
	rdma_cm_id *listener;
	bool first = true;

	need(rdma_create_id(channel, &listener, nullptr, RDMA_PS_TCP), "rdma_create_id");
	need(rdma_bind_addr(listener, address), "rdma_bind_addr");
	need(rdma_listen(listener, 64), "rdma_listen");
	for (;;) {
		Event event = next(channel);
		if (event.type == RDMA_CM_EVENT_CONNECT_REQUEST) {
			answer(event, first && accept, first ? data : Bytes{});
			first = false;
		} else if (event.type != RDMA_CM_EVENT_ESTABLISHED) {
			destroy(event.id);
		}
	}
}

bool expect(rdma_event_channel *channel, rdma_cm_event_type type)
{
	return next(channel).type == type;
}

// True if the request has been answered.
bool connect(rdma_event_channel *channel, sockaddr *address, const Bytes &data)
{
	rdma_conn_param param = with(data);
	rdma_cm_id *id;

	need(rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP), "rdma_create_id");
	need(rdma_resolve_addr(id, nullptr, address, 5000), "rdma_resolve_addr");
	if (!expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED))
		return false;
	need(rdma_resolve_route(id, 5000), "rdma_resolve_route");
	if (!expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED))
		return false;
	create_qp(id);
	printf("request: %s\n", as_text(data).c_str());
	need(rdma_connect(id, &param), "rdma_connect");
	rdma_cm_event_type result = next(channel).type;
	if (result == RDMA_CM_EVENT_ESTABLISHED) {
		// The server may have disconnected already.
		rdma_disconnect(id);
		expect(channel, RDMA_CM_EVENT_DISCONNECTED);
	}
	destroy(id);
	return result == RDMA_CM_EVENT_ESTABLISHED || result == RDMA_CM_EVENT_REJECTED;
}

} // namespace

int main(int argc, char **argv)
{
	addrinfo hints{}, *address;
	const char *seed = getenv("SEED");
	bool answered = true;

	setvbuf(stdout, nullptr, _IOLBF, 0);
	if (argc < 5)
		usage();
	random_numbers.seed(seed ? strtoul(seed, nullptr, 10) : std::random_device{}());
	hints.ai_flags = AI_NUMERICHOST;
	hints.ai_socktype = SOCK_STREAM;
	need(getaddrinfo(argv[2], argv[3], &hints, &address), "getaddrinfo");
	rdma_event_channel *channel =
		need(rdma_create_event_channel(), "rdma_create_event_channel");
	if (argv[1] == std::string("server") && argc == 6)
		return serve(channel, address->ai_addr, argv[4] == std::string("accept"),
			     parse(argv[5]));
	if (argv[1] != std::string("client"))
		usage();
	for (int i = 4; i < argc; i++)
		answered &= connect(channel, address->ai_addr, parse(argv[i]));
	return answered ? 0 : 1;
}
