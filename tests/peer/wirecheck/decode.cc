// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "decode.h"

#include <algorithm>
#include <set>

#include "../iwarp/fpdu.h"
#include "../iwarp/segment.h"
#include "../iwarp/startup.h"

namespace wirecheck {

using namespace iwarp;

namespace {

bool begins(const Bytes &o, std::string_view key)
{
	return o.size() >= startup_header_len && std::equal(key.begin(), key.end(), o.begin());
}

void decode_stream(const Stream &s, size_t start, FpduMode mode, Sums &sums)
{
	FpduDecoder d(mode);
	std::set<size_t> fpdu_starts;
	View rest = View(s.bytes).subspan(start);
	size_t at = start;
	d.feed(rest);
	for (;;) {
		size_t before = d.pending();
		fpdu_starts.insert(at);
		std::optional<Fpdu> f = d.next();
		if (!f)
			break;
		at += before - d.pending();
		sums.fpdus++;
		sums.markers += f->markers;
		sums.crc_bad += !f->crc_ok;
		sums.marker_bad += !f->marker_ok;
		sums.pad_bad += !f->pad_ok;
		sums.header_bad += !Segment::decode(f->ulpdu);
	}
	sums.incomplete += d.pending() > 0 || !s.complete;
	for (size_t segment : s.segments)
		if (segment >= start) {
			sums.segments++;
			sums.unaligned += !fpdu_starts.contains(segment);
		}
}

} // namespace

bool Sums::sound() const
{
	return fpdus && !crc_bad && !marker_bad && !pad_bad && !header_bad && !incomplete;
}

Sums decode(const std::map<Flow, Stream> &streams)
{
	Sums sums;
	for (auto &[flow, stream] : streams) {
		auto back = streams.find(flow.reverse());
		if (!begins(stream.bytes, request_key) || back == streams.end() ||
		    !begins(back->second.bytes, reply_key))
			continue;
		size_t request_len = StartupFrame::length(stream.bytes),
		       reply_len = StartupFrame::length(back->second.bytes);
		StartupFrame request = StartupFrame::decode(View(stream.bytes).first(request_len));
		StartupFrame reply =
			StartupFrame::decode(View(back->second.bytes).first(reply_len));
		bool crc = request.c || reply.c;
		sums.connections++;
		const Sums before = sums;
		decode_stream(stream, request_len, {crc, reply.m}, sums);
		const Sums half = sums;
		decode_stream(back->second, reply_len, {crc, request.m}, sums);
		bool there = stream.bytes.size() > back->second.bytes.size();
		sums.bulk_fpdus += there ? half.fpdus - before.fpdus : sums.fpdus - half.fpdus;
		sums.bulk_segments += there ? half.segments - before.segments :
					      sums.segments - half.segments;
	}
	return sums;
}

} // namespace wirecheck
