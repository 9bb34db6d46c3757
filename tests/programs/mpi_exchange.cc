// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// mpi_exchange MESSAGES: two ranks send that many messages of 1 to 300000 bytes to each other,
// first in bursts to a rank that only receives, then both at once. Each byte is compared with the
// value that follows from rank, message and position. The exit status is 1 if one is wrong.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

// Most messages are small: those go as Sends, and hundreds of them may be in flight.
constexpr std::array<int, 8> lengths{1, 64, 256, 256, 1429, 4096, 65536, 300000};
constexpr int burst = 256;

using Bytes = std::vector<std::uint8_t>;

int length_of(int message)
{
	return message % burst ? lengths[message % 5] : lengths[message / burst % lengths.size()];
}

Bytes content(int rank, int message, int length)
{
	Bytes bytes(length);
	std::uint32_t x = 2654435761u * (message + 1) + 40503u * (rank + 1);
	for (std::uint8_t &b : bytes) {
		x = x * 1664525u + 1013904223u;
		b = x >> 24;
	}
	return bytes;
}

void compare(const Bytes &got, int rank, int message)
{
	const Bytes wanted = content(rank, message, got.size());
	const auto differ = std::ranges::mismatch(got, wanted).in1;
	if (differ == got.end())
		return;
	std::printf("wrong data: from rank %d, message %d of %zu bytes, byte %td\n", rank, message,
		    got.size(), differ - got.begin());
	MPI_Abort(MPI_COMM_WORLD, 1);
}

// The receiver lets a burst arrive before it receives the first message.
void one_way(int from, int me, int messages)
{
	for (int first = 0; first < messages; first += burst) {
		const int last = std::min(first + burst, messages);
		if (me == from) {
			std::vector<Bytes> sent;
			std::vector<MPI_Request> requests(last - first);
			for (int m = first; m < last; m++) {
				sent.push_back(content(me, m, length_of(m)));
				MPI_Isend(sent.back().data(), sent.back().size(), MPI_BYTE, 1 - me,
					  m % 1000, MPI_COMM_WORLD, &requests[m - first]);
			}
			MPI_Waitall(requests.size(), requests.data(), MPI_STATUSES_IGNORE);
			continue;
		}
		for (int m = first; m < last; m++) {
			Bytes got(length_of(m));
			MPI_Recv(got.data(), got.size(), MPI_BYTE, from, m % 1000, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
			compare(got, from, m);
		}
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

void both_ways(int me, int messages)
{
	for (int m = 0; m < messages; m++) {
		const Bytes sent = content(me, m, length_of(m));
		Bytes got(sent.size());
		MPI_Sendrecv(sent.data(), sent.size(), MPI_BYTE, 1 - me, 1, got.data(), got.size(),
			     MPI_BYTE, 1 - me, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		compare(got, 1 - me, m);
	}
}

} // namespace

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	int me, all;
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &all);
	const int messages = argc == 2 ? std::atoi(argv[1]) : 0;
	if (all != 2 || messages <= 0) {
		std::fprintf(stderr, "usage: mpirun -np 2 mpi_exchange MESSAGES\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	one_way(0, me, messages);
	one_way(1, me, messages);
	both_ways(me, messages);
	std::printf("rank %d: compared %d messages\n", me, 2 * messages);
	MPI_Finalize();
}
