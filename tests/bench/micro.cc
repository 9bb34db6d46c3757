// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// micro: Google Benchmark of kernel/proto, compiled as in the kernel except for crc32c(). Measures
// the cost of framing per segment and, for comparison, memcpy() and crc32c() of the same bytes.
// Bytes per second are those of payload. Variants are numbers: markers 0 or 1, crc 0 or 1.
#include <algorithm>
#include <vector>

#include <benchmark/benchmark.h>

#include "code.h"

namespace {

constexpr u32 header = KWARP_DDP_UNTAGGED_LEN;

// Payload of a small message, and of full segments at MTU 1500 and 9000.
const std::vector<int64_t> sizes{64, 1424, 8924};

struct Format {
	bool markers;
	bool crc;
};

// One FPDU at stream position pos. Returns its length.
u32 build(u8 *dst, const u8 *payload, u32 len, u32 pos, Format f)
{
	kwarp_ddp_hdr h{};
	kwarp_fpdu_writer w;
	u8 hdr[KWARP_DDP_HDR_MAX];

	h.last = true;
	h.dv = h.rv = 1;
	h.opcode = RDMAP_SEND;
	h.msn = 1;
	kwarp_fpdu_writer_init(&w, f.markers, f.crc);
	u32 n = kwarp_fpdu_begin(&w, dst, pos, header + len);
	n += kwarp_fpdu_put(&w, dst + n, hdr, kwarp_ddp_encode(&h, hdr));
	n += kwarp_fpdu_put(&w, dst + n, payload, len);
	return n + kwarp_fpdu_end(&w, dst + n);
}

// A row of FPDUs: the stream as TCP delivers it.
struct Row {
	Row(u32 len, Format f)
	{
		std::vector<u8> payload(len, 0xa5);
		bytes.resize(count * (len + 512));
		for (size_t i = 0; i < count; i++)
			used += build(bytes.data() + used, payload.data(), len, used, f);
	}

	static constexpr size_t count = 16;
	std::vector<u8> bytes;
	u32 used = 0;
};

// ---- for comparison ----

void copy(benchmark::State &state)
{
	std::vector<u8> from(state.range(0), 0xa5), to(from.size());
	for (auto _ : state) {
		std::copy(from.begin(), from.end(), to.begin());
		benchmark::DoNotOptimize(to.data());
		benchmark::ClobberMemory();
	}
	state.SetBytesProcessed(state.iterations() * state.range(0));
}

void crc(benchmark::State &state)
{
	std::vector<u8> from(state.range(0), 0xa5);
	for (auto _ : state)
		benchmark::DoNotOptimize(crc32c(~0U, from.data(), from.size()));
	state.SetBytesProcessed(state.iterations() * state.range(0));
}

// ---- the sender ----

void fpdu_build(benchmark::State &state)
{
	const Format f{state.range(1) != 0, state.range(2) != 0};
	const u32 len = state.range(0);
	std::vector<u8> from(len, 0xa5), to(len + 512);
	u32 pos = 0;
	for (auto _ : state) {
		pos += build(to.data(), from.data(), len, pos, f);
		benchmark::DoNotOptimize(to.data());
		benchmark::ClobberMemory();
	}
	state.SetBytesProcessed(state.iterations() * len);
}

// ---- the receiver: extent, verification, headers, payload copied to its place ----

// Returns the number of bytes of the FPDU, 0 if it is invalid.
u32 take(const u8 *p, u32 avail, u32 pos, Format f, u8 *to)
{
	kwarp_reader r;
	kwarp_ddp_hdr h;
	kwarp_payload pl;
	kwarp_fpdu fpdu{};
	fpdu.pos = pos;
	u8 seg[KWARP_FPDU_HDR_MAX];

	if (f.markers ? kwarp_fpdu_flat_marked(p, avail, f.crc, &fpdu) :
			kwarp_fpdu_flat(p, avail, f.crc, &fpdu))
		return 0;
	kwarp_fpdu_flat_hdr(p, &fpdu, seg, sizeof(seg));
	if (kwarp_ddp_parse(seg, fpdu.ulpdu_len, &h) || kwarp_rdmap_check(&h, fpdu.ulpdu_len, 1, 0))
		return 0;
	kwarp_payload_flat(&pl, &r, p, &fpdu, h.len);
	kwarp_payload_copy(&pl, to, U32_MAX);
	return fpdu.len;
}

void fpdu_parse(benchmark::State &state)
{
	const Format f{state.range(1) != 0, state.range(2) != 0};
	const u32 len = state.range(0);
	const Row row(len, f);
	std::vector<u8> to(len);
	u32 pos = 0;
	for (auto _ : state) {
		u32 n = take(row.bytes.data() + pos, row.used - pos, pos, f, to.data());
		if (!n) {
			state.SkipWithError("the receiver refuses a valid FPDU");
			break;
		}
		pos += n;
		if (pos == row.used)
			pos = 0;
		benchmark::ClobberMemory();
	}
	state.SetBytesProcessed(state.iterations() * len);
}

void all_formats(benchmark::internal::Benchmark *b)
{
	b->ArgNames({"payload", "markers", "crc"})->ArgsProduct({sizes, {0, 1}, {0, 1}});
}

void all_sizes(benchmark::internal::Benchmark *b)
{
	b->ArgName("payload")->ArgsProduct({sizes});
}

BENCHMARK(copy)->Name("memcpy")->Apply(all_sizes);
BENCHMARK(crc)->Name("crc32c")->Apply(all_sizes);
BENCHMARK(fpdu_build)->Apply(all_formats);
BENCHMARK(fpdu_parse)->Apply(all_formats);

} // namespace

BENCHMARK_MAIN();
