// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// gloo_exchange DEVICE GID_INDEX RANK STORE: two processes exchange their addresses through files
// in the folder STORE and run gloo's allreduce over its ibverbs transport. Each element is
// compared; the exit status is 1 if one is wrong.
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier_all_to_all.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/ibverbs/device.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace {

using Value = std::int64_t;
constexpr int ranks = 2, rounds = 20;

Value value(int rank, int round, int place)
{
	return 1000003LL * (rank + 1) + 7919LL * round + place;
}

void compare(const char *what, int place, Value got, Value wanted)
{
	if (got == wanted)
		return;
	std::printf("wrong data: %s, element %d\n", what, place);
	std::exit(1);
}

// Algorithms are never destroyed: an algorithm does not wait for the completion of its last Write,
// and aborts the program if it is destroyed before.
template <class Algorithm, class... Arguments>
Algorithm &kept(Arguments &&...arguments)
{
	return *new Algorithm(std::forward<Arguments>(arguments)...);
}

template <class Allreduce>
void reduce(const char *what, std::shared_ptr<gloo::Context> context, int rank, int count)
{
	auto &data = kept<std::vector<Value>>(count);
	auto &algorithm = kept<Allreduce>(context, std::vector<Value *>{data.data()}, count);
	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < count; i++)
			data[i] = value(rank, round, i);
		algorithm.run();
		for (int i = 0; i < count; i++)
			compare(what, i, data[i], value(0, round, i) + value(1, round, i));
	}
	std::printf("rank %d: %s, %d elements: the same %d times\n", rank, what, count, rounds);
}

void exchange(char **argv)
{
	const int rank = std::atoi(argv[3]);
	gloo::rendezvous::FileStore store(argv[4]);
	auto device = gloo::transport::ibverbs::CreateDevice({argv[1], 1, std::atoi(argv[2])});
	auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
	context->connectFullMesh(store, device);
	for (int count : {1, 300000}) {
		reduce<gloo::AllreduceRing<Value>>("ring", context, rank, count);
		reduce<gloo::AllreduceRingChunked<Value>>("chunks", context, rank, count);
	}
	kept<gloo::BarrierAllToAll>(context).run();
	std::fflush(stdout);
	std::_Exit(0);
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 5) {
		std::fprintf(stderr, "usage: gloo_exchange DEVICE GID_INDEX RANK STORE\n");
		return 2;
	}
	try {
		exchange(argv);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "%s\n", e.what());
		return 3;
	}
}
