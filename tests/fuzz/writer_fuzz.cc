// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The writer of FPDUs: for any division of a ULPDU into pieces, copied or by reference, the bytes
// equal those of the model, and the receiver gets the ULPDU back. Also the lengths by which the
// send engine chooses the size of ULPDUs.
#include "../unit/model.h"
#include "deframe.h"

extern "C" {
#include "mpa_writer.h"
}

namespace {

// Writes one FPDU piece by piece; each destination is as long as the writer requires.
class Fpdu {
public:
	Fpdu(kwarp_fpdu_writer &w, u32 pos, const Bytes &ulpdu) : w_(w), ulpdu_(ulpdu)
	{
		Exact dst(KWARP_FPDU_HEAD_MAX);
		add(dst, kwarp_fpdu_begin(&w_, dst.data(), pos, static_cast<u32>(ulpdu.size())));
	}

	u32 left() const { return static_cast<u32>(ulpdu_.size()) - at_; }

	// The destination is filled completely: one more byte would not fit.
	void copy(u32 room)
	{
		u32 fit = kwarp_fpdu_fit(&w_, room), n = std::min(fit, left());
		Exact dst(room), src(ulpdu_.data() + at_, n);
		kwarp_fpdu_writer more = w_;
		u32 written = kwarp_fpdu_put(&w_, dst.data(), src.data(), n);

		require(written <= room && written >= n);
		if (n < left()) {
			Bytes longer = slice(ulpdu_, at_, n + 1);
			Exact wide(room + 16);
			require(kwarp_fpdu_put(&more, wide.data(), longer.data(), n + 1) > room);
		}
		add(dst, written);
		at_ += n;
	}

	// By reference, preceded by a marker if one is due.
	void refer(u32 most)
	{
		if (!kwarp_fpdu_room(&w_)) {
			Exact dst(KWARP_MARKER_LEN);
			add(dst, kwarp_fpdu_put_marker(&w_, dst.data()));
		}
		u32 n = std::min({most, left(), kwarp_fpdu_room(&w_)});
		Exact src(ulpdu_.data() + at_, n);
		kwarp_fpdu_ref(&w_, src.data(), n);
		add(src, n);
		at_ += n;
	}

	Bytes end()
	{
		Exact dst(KWARP_FPDU_TAIL_MAX);
		add(dst, kwarp_fpdu_end(&w_, dst.data()));
		return out_;
	}

private:
	void add(const Exact &from, u32 n)
	{
		require(n <= from.size());
		out_ = out_ + from.first(n);
	}

	kwarp_fpdu_writer &w_;
	const Bytes &ulpdu_;
	u32 at_ = 0;
	Bytes out_;
};

// Every marker points to the FPDU.
void check_markers(const Bytes &o, u32 pos)
{
	for (u32 at = (0U - pos) % 512; at + 4 < o.size(); at += 512)
		require(kwarp_marker_locate(pos + at, &o[at]) == pos);
}

// Checks kwarp_mulpdu(): a ULPDU of this length fits into that many bytes, a longer one does not.
void check_mulpdu(u32 emss, u32 pos, bool markers)
{
	u32 n = kwarp_mulpdu(emss, pos, markers);

	require(n <= KWARP_ULPDU_MAX);
	if (n)
		require(kwarp_fpdu_len(n, pos, markers) <= emss);
	if (n < KWARP_ULPDU_MAX)
		require(kwarp_fpdu_len(n + 1, pos, markers) > emss);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *p, size_t n)
{
	Input in(p, n);
	Framing framing(in);
	u32 pos = framing.pos;
	Bytes stream;
	std::vector<Bytes> ulpdus;
	kwarp_fpdu_writer w;

	kwarp_fpdu_writer_init(&w, framing.markers, framing.crc);
	while (in.more() && stream.size() < 4096) {
		Bytes ulpdu = filling(in.half() % 1600, in.byte());
		Fpdu f(w, pos, ulpdu);

		check_mulpdu(in.half() * 2U, pos, framing.markers);
		while (f.left()) {
			// Take the rest at once when the input is exhausted.
			u32 size = in.more() ? in.byte() * 4U : 8192;
			if (size & 4)
				f.refer(size);
			else
				f.copy(size);
		}
		Bytes o = f.end();
		require(o == model::encode(pos, ulpdu, framing.markers, framing.crc));
		require(o.size() ==
			kwarp_fpdu_len(static_cast<u32>(ulpdu.size()), pos, framing.markers));
		if (framing.markers)
			check_markers(o, pos);
		stream = stream + o;
		pos += static_cast<u32>(o.size());
		ulpdus.push_back(ulpdu);
	}
	std::vector<model::Event> events = deframe(framing, stream, {});
	require(events.size() == ulpdus.size());
	for (size_t i = 0; i < events.size(); i++)
		require(events[i].kind == model::Event::fpdu && events[i].ulpdu == ulpdus[i]);
	return 0;
}
