// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// rpma_copy ADDRESS FILE [server]: the client writes FILE into the memory of the server in pieces
// with librpma, flushes each piece, reads it back and compares. The server writes its memory to
// FILE when it ends.
#include <librpma.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <new>
#include <string>

namespace {

constexpr std::size_t page = 4096, size = 4 << 20;
constexpr std::array<std::size_t, 5> pieces{1, 1429, 4096, 65536, 1 << 20};
constexpr int served = RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_READ_SRC |
		       RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY;
constexpr char port[] = "7700";

void must(int ret, const char *what)
{
	if (!ret)
		return;
	std::fprintf(stderr, "%s: %s\n", what, rpma_err_2str(ret));
	std::exit(1);
}

rpma_peer *peer_at(const char *address, rpma_util_ibv_context_type type)
{
	ibv_context *context;
	rpma_peer *peer;
	must(rpma_utils_get_ibv_context(address, type, &context), "no device has this address");
	must(rpma_peer_new(context, &peer), "rpma_peer_new");
	return peer;
}

char *memory()
{
	return static_cast<char *>(std::aligned_alloc(page, size));
}

void expect(rpma_conn *connection, rpma_conn_event wanted)
{
	rpma_conn_event event;
	must(rpma_conn_next_event(connection, &event), "rpma_conn_next_event");
	if (event == wanted)
		return;
	std::fprintf(stderr, "event: %s\n", rpma_utils_conn_event_2str(event));
	std::exit(1);
}

void serve(const char *address, const char *file)
{
	rpma_peer *peer = peer_at(address, RPMA_UTIL_IBV_CONTEXT_LOCAL);
	char *const bytes = memory();
	std::memset(bytes, 0, size);
	rpma_mr_local *region;
	must(rpma_mr_reg(peer, bytes, size, served, &region), "rpma_mr_reg");
	std::size_t length;
	must(rpma_mr_get_descriptor_size(region, &length), "rpma_mr_get_descriptor_size");
	std::string descriptor(length, 0);
	must(rpma_mr_get_descriptor(region, descriptor.data()), "rpma_mr_get_descriptor");

	rpma_ep *endpoint;
	rpma_conn_req *request;
	rpma_conn *connection;
	must(rpma_ep_listen(peer, address, port, &endpoint), "rpma_ep_listen");
	must(rpma_ep_next_conn_req(endpoint, nullptr, &request), "rpma_ep_next_conn_req");
	const rpma_conn_private_data said{descriptor.data(), static_cast<std::uint8_t>(length)};
	must(rpma_conn_req_connect(&request, &said, &connection), "rpma_conn_req_connect");
	expect(connection, RPMA_CONN_ESTABLISHED);
	expect(connection, RPMA_CONN_CLOSED);
	rpma_conn_disconnect(connection);
	must(rpma_conn_delete(&connection), "rpma_conn_delete");
	std::ofstream(file, std::ios::binary).write(bytes, size);
	must(rpma_mr_dereg(&region), "rpma_mr_dereg");
	must(rpma_ep_shutdown(&endpoint), "rpma_ep_shutdown");
	must(rpma_peer_delete(&peer), "rpma_peer_delete");
}

void completed(rpma_cq *queue)
{
	ibv_wc completion;
	must(rpma_cq_wait(queue), "rpma_cq_wait");
	must(rpma_cq_get_wc(queue, 1, &completion, nullptr), "rpma_cq_get_wc");
	if (completion.status == IBV_WC_SUCCESS)
		return;
	std::fprintf(stderr, "%s\n", ibv_wc_status_str(completion.status));
	std::exit(1);
}

void copy(const char *address, const char *file)
{
	rpma_peer *peer = peer_at(address, RPMA_UTIL_IBV_CONTEXT_REMOTE);
	char *const sent = memory(), *const got = memory();
	std::ifstream(file, std::ios::binary).read(sent, size);
	std::memset(got, 0, size);
	rpma_mr_local *from, *to;
	must(rpma_mr_reg(peer, sent, size, RPMA_MR_USAGE_WRITE_SRC, &from), "rpma_mr_reg");
	must(rpma_mr_reg(peer, got, size,
			 RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY, &to),
	     "rpma_mr_reg");

	rpma_conn_req *request;
	rpma_conn *connection;
	must(rpma_conn_req_new(peer, address, port, nullptr, &request), "rpma_conn_req_new");
	must(rpma_conn_req_connect(&request, nullptr, &connection), "rpma_conn_req_connect");
	expect(connection, RPMA_CONN_ESTABLISHED);
	rpma_conn_private_data said;
	must(rpma_conn_get_private_data(connection, &said), "rpma_conn_get_private_data");
	rpma_mr_remote *remote;
	must(rpma_mr_remote_from_descriptor(said.ptr, said.len, &remote), "the descriptor");
	rpma_cq *queue;
	must(rpma_conn_get_cq(connection, &queue), "rpma_conn_get_cq");

	std::size_t at = 0;
	for (int i = 0; at < size; i++) {
		const std::size_t length = std::min(pieces[i % pieces.size()], size - at);
		must(rpma_write(connection, remote, at, from, at, length,
				RPMA_F_COMPLETION_ON_ERROR, nullptr),
		     "rpma_write");
		must(rpma_flush(connection, remote, at, length, RPMA_FLUSH_TYPE_VISIBILITY,
				RPMA_F_COMPLETION_ALWAYS, nullptr),
		     "rpma_flush");
		completed(queue);
		must(rpma_read(connection, to, at, remote, at, length, RPMA_F_COMPLETION_ALWAYS,
			       nullptr),
		     "rpma_read");
		completed(queue);
		at += length;
	}
	const char *const differ = std::mismatch(sent, sent + size, got).first;
	if (differ != sent + size) {
		std::printf("wrong data: byte %td\n", differ - sent);
		std::exit(1);
	}
	std::printf("compared %zu bytes\n", size);
	must(rpma_conn_disconnect(connection), "rpma_conn_disconnect");
	expect(connection, RPMA_CONN_CLOSED);
	must(rpma_mr_remote_delete(&remote), "rpma_mr_remote_delete");
	must(rpma_conn_delete(&connection), "rpma_conn_delete");
	must(rpma_mr_dereg(&from), "rpma_mr_dereg");
	must(rpma_mr_dereg(&to), "rpma_mr_dereg");
	must(rpma_peer_delete(&peer), "rpma_peer_delete");
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 3 || argc > 4) {
		std::fprintf(stderr, "usage: rpma_copy ADDRESS FILE [server]\n");
		return 2;
	}
	if (argc == 4)
		serve(argv[1], argv[2]);
	else
		copy(argv[1], argv[2]);
}
