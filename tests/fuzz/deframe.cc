// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "deframe.h"

#include "receive_queue.h"

using model::Event;

namespace {

constexpr size_t small_segments = 200;

// The receive engine, reduced to framing.
class Engine {
public:
	Engine(const Framing &framing, const Bytes &layout)
		: queue(layout), framing_(framing), rx_pos_(framing.pos)
	{
		hdr_len_ = layout.empty() ? 46 : layout[0] % (KWARP_FPDU_HDR_MAX + 1);
		most_ = layout.size() < 2 || layout[1] < 128 ? U32_MAX : layout[1] * 3U;
	}

	void run();

	ReceiveQueue queue;
	std::vector<Event> events;
	u32 used = 0; // bytes of the stream
	u32 need = 0; // bytes needed before the engine can continue; 0: any

private:
	bool flat_fpdu(const kwarp_cursor &st, u32 avail, kwarp_fpdu &f);
	void one_fpdu(const kwarp_cursor &st, const kwarp_fpdu &f);
	void error(int verdict, u32 known_at);

	const Framing framing_;
	u32 rx_pos_;
	u32 hdr_len_, most_;
	bool stopped_ = false;
};

void Engine::error(int verdict, u32 known_at)
{
	Event::Kind kind = verdict == KWARP_FPDU_ERR_CRC    ? Event::crc :
			   verdict == KWARP_FPDU_ERR_MARKER ? Event::marker :
							      Event::length;
	require(verdict < 0);
	events.push_back({kind, used, known_at, {}});
	stopped_ = true;
}

// As the engine does: a contiguous FPDU is checked in place; all others go to one_fpdu().
bool Engine::flat_fpdu(const kwarp_cursor &st, u32 avail, kwarp_fpdu &f)
{
	u32 n = std::min(st.r.n, avail);
	f.pos = rx_pos_;
	int ret = framing_.markers ? kwarp_fpdu_flat_marked(st.r.p, n, framing_.crc, &f) :
				     kwarp_fpdu_flat(st.r.p, n, framing_.crc, &f);
	if (ret)
		return false;
	Exact hdr(hdr_len_);
	kwarp_fpdu_flat_hdr(st.r.p, &f, hdr.data(), hdr.size());
	u32 head = std::min(hdr.size(), f.ulpdu_len);
	Bytes ulpdu = hdr.first(head);
	Exact rest(f.ulpdu_len - head);
	kwarp_reader r;
	kwarp_payload pl;
	kwarp_payload_flat(&pl, &r, st.r.p, &f, head);
	require(kwarp_payload_copy(&pl, rest.data(), rest.size()) == rest.size());
	Bytes bytes = rest.first(rest.size());
	if (f.markers) {
		Exact again(rest.size());
		kwarp_fpdu_flat_copy(st.r.p, &f, head, again.data());
		require(again.first(again.size()) == bytes);
	}
	ulpdu.insert(ulpdu.end(), bytes.begin(), bytes.end());
	events.push_back({Event::fpdu, used, used + f.len, ulpdu});
	return true;
}

void Engine::one_fpdu(const kwarp_cursor &st, const kwarp_fpdu &f)
{
	Exact hdr(hdr_len_);
	kwarp_cursor tmp = st;
	int ret = kwarp_fpdu_verify(&tmp.r, &f, framing_.crc, hdr.data(), hdr.size());

	if (ret) {
		error(ret, used + f.len);
		return;
	}
	u32 head = std::min(hdr.size(), f.ulpdu_len);
	Bytes ulpdu = hdr.first(head);
	kwarp_payload pl;
	const u8 *p;
	tmp = st;
	kwarp_payload_init(&pl, &tmp.r, &f, head);
	while (u32 n = kwarp_payload_next(&pl, &p, most_))
		ulpdu.insert(ulpdu.end(), p, p + n);
	require(ulpdu.size() == f.ulpdu_len);
	events.push_back({Event::fpdu, used, used + f.len, ulpdu});
}

void Engine::run()
{
	kwarp_cursor st;
	u32 avail = kwarp_cursor_init(&st, &queue.sk), done = 0;

	need = 0;
	while (!stopped_ && done < avail) {
		kwarp_fpdu f;

		require(kwarp_reader_more(&st.r));
		if (!flat_fpdu(st, avail - done, f)) {
			kwarp_cursor tmp = st;
			int ret = kwarp_fpdu_peek(&tmp.r, avail - done, rx_pos_, framing_.markers,
						  &f);

			require(f.need > 0 &&
				(ret != KWARP_FPDU_NEED_MORE || f.need > avail - done));
			if (ret == KWARP_FPDU_NEED_MORE) {
				need = f.need;
				break;
			}
			if (ret) {
				error(ret, used + f.need);
				break;
			}
			one_fpdu(st, f);
			if (stopped_)
				break;
		}
		require(kwarp_reader_skip(&st.r, f.len));
		done += f.len;
		used += f.len;
		rx_pos_ += f.len;
	}
	queue.consume(done);
}

} // namespace

Framing::Framing(Input &in)
{
	u8 bits = in.byte();

	markers = bits & 1;
	crc = bits & 2;
	// Full Operation begins at 0; the position wraps later.
	pos = bits & 4 ? (bits & 8 ? 0U - (bits >> 4) * 64 : in.word()) & ~3U : 0;
	// No FPDU begins right after a marker, because this marker would be part of the FPDU (RFC
	// 5044 4.3).
	if (pos % 512 == 4)
		pos -= 4;
}

std::vector<Event> deframe(const Framing &framing, const Bytes &stream, const Bytes &cuts)
{
	model::Deframer oracle(framing.pos, framing.markers, framing.crc);
	Engine engine(framing, cuts);
	size_t turn = 0, compared = 0;

	for (size_t at = 0; at < stream.size();) {
		// Each byte of cuts is the length of a segment; large values are scaled up.
		u32 n = cuts.empty() ? U32_MAX : cuts[turn++ % cuts.size()];
		n = n < 64 ? n + 1 : (n - 60) * 16;
		// Small segments at the beginning only, because a long stream of single bytes takes
		// too much time.
		if (turn > small_segments)
			n *= 64;
		Bytes segment = slice(stream, at, std::min<size_t>(n, stream.size() - at));
		u32 before = engine.used, wanted = engine.need;

		for (u8 byte : segment)
			oracle.put(byte);
		at += segment.size();
		engine.queue.arrive(segment);
		engine.run();
		require(engine.events.size() == oracle.events.size());
		for (; compared < oracle.events.size(); compared++)
			require(engine.events[compared] == oracle.events[compared]);
		// The engine may sleep until as many bytes have arrived: no event may occur before.
		if (wanted && at < before + wanted)
			require(engine.used == before && (engine.need == wanted));
	}
	return engine.events;
}
