// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Example: two programs connect by TCP and continue with RDMA on the same connection.
//
//	kwarp-attach DEVICE PORT [WORD]			serves one connection; with WORD,
//							a peer that does not send it is rejected
//	kwarp-attach DEVICE PORT [WORD] ADDRESS		connects
//
// They exchange private data in streaming mode, then start MPA with Start Keys (kwarpdv.h), and
// each sends a message.
#include <kwarpdv.h>

#include <arpa/inet.h>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

#include "private_data.h"

namespace {

using example::PrivateData;

void check(bool good, const char *what)
{
	if (!good)
		throw std::system_error(errno, std::generic_category(), what);
}

template <auto destroy>
struct Destroy {
	template <class T>
	void operator()(T *object) const
	{
		destroy(object);
	}
};

template <class T, auto destroy>
using Owned = std::unique_ptr<T, Destroy<destroy>>;

// A QP in INIT, with memory for one message in each direction.
class Queue {
public:
	explicit Queue(const std::string &device)
		: context_(open(device)), pd_(ibv_alloc_pd(context_.get()))
	{
		check(pd_ != nullptr, "ibv_alloc_pd");
		cq_.reset(ibv_create_cq(context_.get(), 16, nullptr, nullptr, 0));
		check(cq_ != nullptr, "ibv_create_cq");
		mr_.reset(ibv_reg_mr(pd_.get(), memory_, sizeof(memory_), IBV_ACCESS_LOCAL_WRITE));
		check(mr_ != nullptr, "ibv_reg_mr");
		ibv_qp_init_attr init{};
		init.send_cq = init.recv_cq = cq_.get();
		init.cap = {4, 4, 1, 1, 0};
		init.qp_type = IBV_QPT_RC;
		qp_.reset(ibv_create_qp(pd_.get(), &init));
		check(qp_ != nullptr, "ibv_create_qp");
		ibv_qp_attr attr{};
		attr.qp_state = IBV_QPS_INIT;
		attr.port_num = 1;
		check(!ibv_modify_qp(qp_.get(), &attr,
				     IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
					     IBV_QP_ACCESS_FLAGS),
		      "ibv_modify_qp");
	}

	ibv_qp *get() { return qp_.get(); }

	void post_receive()
	{
		ibv_sge sge{reinterpret_cast<uintptr_t>(memory_), 512, mr_->lkey};
		ibv_recv_wr wr{}, *bad;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		check(!ibv_post_recv(qp_.get(), &wr, &bad), "ibv_post_recv");
	}
	void send(const std::string &message)
	{
		message.copy(memory_ + 512, 512);
		ibv_sge sge{reinterpret_cast<uintptr_t>(memory_ + 512),
			    static_cast<uint32_t>(message.size()), mr_->lkey};
		ibv_send_wr wr{}, *bad;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		wr.opcode = IBV_WR_SEND;
		wr.send_flags = IBV_SEND_SIGNALED;
		check(!ibv_post_send(qp_.get(), &wr, &bad), "ibv_post_send");
		completion(IBV_WC_SEND);
	}
	std::string received() { return {memory_, completion(IBV_WC_RECV)}; }

private:
	static ibv_context *open(const std::string &device)
	{
		ibv_device **list = ibv_get_device_list(nullptr);
		ibv_context *context = nullptr;
		for (int i = 0; list && list[i] && !context; i++)
			if (device == ibv_get_device_name(list[i]))
				context = ibv_open_device(list[i]);
		ibv_free_device_list(list);
		if (!context)
			throw std::runtime_error("no device " + device);
		return context;
	}
	// Waits for a completion of the wanted kind; counts those of the other kind for later.
	uint32_t completion(ibv_wc_opcode wanted)
	{
		while (!pending_[wanted == IBV_WC_RECV]) {
			ibv_wc wc;
			int n = ibv_poll_cq(cq_.get(), 1, &wc);
			if (n < 0 || (n && wc.status != IBV_WC_SUCCESS))
				throw std::runtime_error("the connection is lost");
			if (!n)
				continue;
			bool receive = wc.opcode == IBV_WC_RECV;
			pending_[receive] = true;
			if (receive)
				length_ = wc.byte_len;
		}
		pending_[wanted == IBV_WC_RECV] = false;
		return length_;
	}

	char memory_[1024]{};
	bool pending_[2]{};
	uint32_t length_ = 0;
	Owned<ibv_context, ibv_close_device> context_;
	Owned<ibv_pd, ibv_dealloc_pd> pd_;
	Owned<ibv_cq, ibv_destroy_cq> cq_;
	Owned<ibv_mr, ibv_dereg_mr> mr_;
	Owned<ibv_qp, ibv_destroy_qp> qp_;
};

void attach(Queue &queue, int fd, const kwarpdv_attach_attr &attr)
{
	kwarpdv_attach_result result;
	int error = kwarpdv_attach(queue.get(), fd, &attr, &result);
	if (error)
		throw std::system_error(error, std::generic_category(), "attach");
	// closing the descriptor does not end the connection
	close(fd);
}

// The answer is the last streaming message, so that MPA is ready before the message is sent.
void serve(Queue &queue, int fd, const std::string &word)
{
	PrivateData request = example::receive_private_data(fd);
	std::cout << "private data: " << request.data << std::endl;
	if (!word.empty() && request.data != word) {
		example::send_all(fd, PrivateData{"wrong word", true}.encode());
		throw std::runtime_error("rejected");
	}
	std::string answer = PrivateData{"welcome"}.encode();
	kwarpdv_attach_attr attr{};
	attr.form = KWARP_ATTACH_START_KEY;
	attr.role = KWARP_ATTACH_RESPONDER;
	attr.message = answer.data();
	attr.message_len = answer.size();
	queue.post_receive();
	attach(queue, fd, attr);
	std::cout << "received: " << queue.received() << std::endl;
	queue.send("goodbye");
}

void request(Queue &queue, int fd, const std::string &word)
{
	example::send_all(fd, PrivateData{word}.encode());
	PrivateData answer = example::receive_private_data(fd);
	std::cout << "private data: " << answer.data << std::endl;
	if (answer.rejected)
		throw std::runtime_error("rejected");
	kwarpdv_attach_attr attr{};
	attr.form = KWARP_ATTACH_START_KEY;
	attr.role = KWARP_ATTACH_INITIATOR;
	queue.post_receive();
	attach(queue, fd, attr);
	queue.send("hello");
	std::cout << "received: " << queue.received() << std::endl;
}

int tcp_socket(uint16_t port, const char *peer)
{
	sockaddr_in at{};
	at.sin_family = AF_INET;
	at.sin_port = htons(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	check(fd >= 0, "socket");
	if (peer) {
		if (inet_pton(AF_INET, peer, &at.sin_addr) != 1)
			throw std::invalid_argument(peer);
		check(!connect(fd, reinterpret_cast<sockaddr *>(&at), sizeof(at)), "connect");
		return fd;
	}
	int on = 1;
	check(!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), "setsockopt");
	check(!bind(fd, reinterpret_cast<sockaddr *>(&at), sizeof(at)), "bind");
	check(!listen(fd, 1), "listen");
	int child = accept4(fd, nullptr, nullptr, SOCK_CLOEXEC);
	check(child >= 0, "accept");
	close(fd);
	return child;
}

bool is_address(const char *text)
{
	in_addr unused;
	return inet_pton(AF_INET, text, &unused) == 1;
}

} // namespace

int main(int argc, char **argv)
try {
	if (argc < 3 || argc > 5) {
		std::cerr << "usage: kwarp-attach DEVICE PORT [WORD] [ADDRESS]\n";
		return 2;
	}
	const char *peer = argc > 3 && is_address(argv[argc - 1]) ? argv[argc - 1] : nullptr;
	std::string word = argc - (peer != nullptr) > 3 ? argv[3] : "";
	Queue queue(argv[1]);
	int fd = tcp_socket(static_cast<uint16_t>(std::stoul(argv[2])), peer);
	peer ? request(queue, fd, word) : serve(queue, fd, word);
	return 0;
} catch (const std::exception &e) {
	std::cerr << "kwarp-attach: " << e.what() << '\n';
	return 1;
}
