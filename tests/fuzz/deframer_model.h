// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A naive receiver of MPA: it takes one octet at a time and keeps all of them, straight from RFC 5044
// section 4. The oracle of the deframer.
#pragma once

#include "../unit/code.h"

namespace model {

struct Event {
	enum Kind { fpdu, length, crc, marker } kind;
	u32 start;    // octets of the stream before the FPDU
	u32 known_at; // octets of the stream up to the one that decides
	Octets ulpdu; // of a good one

	bool operator==(const Event &) const = default;
};

class Deframer {
public:
	Deframer(u32 pos, bool markers, bool crc) : pos_(pos), markers_(markers), crc_(crc) {}

	void put(u8 octet);

	// All that happened so far; nothing follows an error.
	std::vector<Event> events;

private:
	void plain(u8 octet);
	void end_of_marker();
	void end_of_fpdu();
	void event(Event::Kind kind, Octets ulpdu = {});
	u32 plain_len() const;

	u32 pos_; // of the stream's first octet
	bool markers_, crc_;
	u32 taken_ = 0;
	u32 start_ = 0;
	bool dead_ = false;

	Octets wire_;	   // the FPDU in work, as it came
	Octets plain_;	   // without its markers
	Octets marker_;	   // the marker in work
	u32 marker_at_ = 0; // offset in wire_
	u32 length_at_ = 0; // likewise, of the length field
	bool marker_wrong_ = false;
};

} // namespace model
