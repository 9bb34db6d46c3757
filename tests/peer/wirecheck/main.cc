// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// wire_check FILE.pcap: every MPA connection in a capture, decoded from its startup frames on;
// FPDUs across segments and with markers alike, which tshark does not follow. Prints lines
// "word number"; status 0 if all is as the RFCs want it.
#include <iostream>
#include <set>

#include "../iwarp/fpdu.h"
#include "../iwarp/segment.h"
#include "../iwarp/startup.h"
#include "capture.h"

using namespace iwarp;
using wirecheck::Flow;
using wirecheck::Stream;

namespace {

struct Sums {
	unsigned connections = 0, fpdus = 0, markers = 0;
	unsigned crc_bad = 0, marker_bad = 0, pad_bad = 0, header_bad = 0, incomplete = 0;
	unsigned segments = 0;	// of Full Operation
	unsigned unaligned = 0; // that do not begin with an FPDU
};

bool begins(const Octets &o, std::string_view key)
{
	return o.size() >= startup_header_len && std::equal(key.begin(), key.end(), o.begin());
}

void decode(const Stream &s, size_t start, FpduMode mode, Sums &sums)
{
	FpduDecoder d(mode);
	std::set<size_t> fpdu_starts;
	View rest = View(s.octets).subspan(start);
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

int check(const std::string &file)
{
	Sums sums;
	std::map<Flow, Stream> streams = wirecheck::read_capture(file);
	for (auto &[flow, stream] : streams) {
		auto back = streams.find(flow.reverse());
		if (!begins(stream.octets, request_key) || back == streams.end() || !begins(back->second.octets, reply_key))
			continue;
		size_t request_len = StartupFrame::length(stream.octets), reply_len = StartupFrame::length(back->second.octets);
		StartupFrame request = StartupFrame::decode(View(stream.octets).first(request_len));
		StartupFrame reply = StartupFrame::decode(View(back->second.octets).first(reply_len));
		bool crc = request.c || reply.c;
		sums.connections++;
		decode(stream, request_len, {crc, reply.m}, sums);
		decode(back->second, reply_len, {crc, request.m}, sums);
	}
	std::cout << "connections " << sums.connections << "\nfpdus " << sums.fpdus << "\nmarkers " << sums.markers
		  << "\ncrc_bad " << sums.crc_bad << "\nmarker_bad " << sums.marker_bad << "\npad_bad " << sums.pad_bad
		  << "\nheader_bad " << sums.header_bad << "\nincomplete " << sums.incomplete << "\nsegments "
		  << sums.segments << "\nunaligned " << sums.unaligned << "\n";
	return !sums.fpdus || sums.crc_bad || sums.marker_bad || sums.pad_bad || sums.header_bad || sums.incomplete;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 2) {
		std::cerr << "usage: wire_check FILE.pcap\n";
		return 2;
	}
	try {
		return check(argv[1]);
	} catch (const std::exception &e) {
		std::cerr << "wire_check: " << e.what() << "\n";
		return 2;
	}
}
