// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// rdma-echo ADDRESS: a server that sends one message back.
// rdma-echo ADDRESS TEXT: a client that sends TEXT to the server and prints the answer.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

namespace {

constexpr const char *port = "7471";
using Message = std::array<char, 256>;

// Ends the program if a call has failed.
void must(bool fine, const char *what)
{
	if (!fine) {
		perror(what);
		std::exit(1);
	}
}

// A connection, or a listener for one, with a queue pair.
rdma_cm_id *endpoint(const char *address, bool passive)
{
	rdma_addrinfo hints{};
	rdma_addrinfo *found = nullptr;
	ibv_qp_init_attr attr{};
	rdma_cm_id *id = nullptr;

	hints.ai_port_space = RDMA_PS_TCP;
	hints.ai_flags = passive ? RAI_PASSIVE : 0;
	must(!rdma_getaddrinfo(address, port, &hints, &found), "rdma_getaddrinfo");
	attr.cap.max_send_wr = attr.cap.max_recv_wr = 1;
	attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
	attr.sq_sig_all = 1;
	must(!rdma_create_ep(&id, found, nullptr, &attr), "rdma_create_ep");
	rdma_freeaddrinfo(found);
	return id;
}

void receive(rdma_cm_id *id, Message &message)
{
	ibv_wc wc{};

	must(rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "receive");
	message.back() = '\0';
}

void send(rdma_cm_id *id, Message &message, ibv_mr *mr)
{
	ibv_wc wc{};

	must(!rdma_post_send(id, nullptr, message.data(), message.size(), mr, 0), "post_send");
	must(rdma_get_send_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "send");
}

void serve(const char *address)
{
	Message message{};
	rdma_cm_id *listener = endpoint(address, true);
	rdma_cm_id *id = nullptr;

	must(!rdma_listen(listener, 1), "rdma_listen");
	must(!rdma_get_request(listener, &id), "rdma_get_request");
	ibv_mr *mr = rdma_reg_msgs(id, message.data(), message.size());
	must(mr != nullptr, "rdma_reg_msgs");
	must(!rdma_post_recv(id, nullptr, message.data(), message.size(), mr), "post_recv");
	must(!rdma_accept(id, nullptr), "rdma_accept");
	receive(id, message);
	send(id, message, mr);
	rdma_disconnect(id);
}

void ask(const char *address, std::string_view text)
{
	Message message{};
	Message answer{};
	rdma_cm_id *id = endpoint(address, false);
	ibv_mr *mr = rdma_reg_msgs(id, message.data(), message.size());
	ibv_mr *answer_mr = rdma_reg_msgs(id, answer.data(), answer.size());

	must(mr != nullptr && answer_mr != nullptr, "rdma_reg_msgs");
	must(text.copy(message.data(), message.size() - 1) == text.size(), "text");
	must(!rdma_post_recv(id, nullptr, answer.data(), answer.size(), answer_mr), "post_recv");
	must(!rdma_connect(id, nullptr), "rdma_connect");
	send(id, message, mr);
	receive(id, answer);
	puts(answer.data());
	rdma_disconnect(id);
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 2 || argc > 3) {
		fputs("usage: rdma-echo ADDRESS [TEXT]\n", stderr);
		return 1;
	}
	if (argc == 2)
		serve(argv[1]);
	else
		ask(argv[1], argv[2]);
}
