// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A naive receiver of MPA, written from RFC 5044 section 4: it reads one byte at a time and keeps
// all bytes. The fuzzer compares the deframer with this model.
#pragma once

#include "../unit/code.h"

namespace model {

struct Event {
	enum Kind { fpdu, length, crc, marker } kind;
	u32 start;    // bytes of the stream before the FPDU
	u32 known_at; // bytes of the stream up to the one that determines the event
	Bytes ulpdu;  // of a valid FPDU

	bool operator==(const Event &) const = default;
};

class Deframer {
public:
	Deframer(u32 pos, bool markers, bool crc) : pos_(pos), markers_(markers), crc_(crc) {}

	void put(u8 byte);

	// All events so far; nothing follows an error.
	std::vector<Event> events;

private:
	void plain(u8 byte);
	void end_of_marker();
	void end_of_fpdu();
	void event(Event::Kind kind, Bytes ulpdu = {});
	u32 plain_len() const;

	u32 pos_; // of the stream's first byte
	bool markers_, crc_;
	u32 taken_ = 0;
	u32 start_ = 0;
	bool dead_ = false;

	Bytes wire_;	    // the current FPDU, as received
	Bytes plain_;	    // without its markers
	Bytes marker_;	    // the current marker
	u32 marker_at_ = 0; // offset in wire_
	u32 length_at_ = 0; // likewise, of the length field
	bool marker_wrong_ = false;
};

} // namespace model
