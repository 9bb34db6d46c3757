// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "deframer_model.h"

#include "../unit/model.h"

namespace model {

// "octets ... 4.2: The marker ... at every 512th octet" of the stream, wherever that is.
void Deframer::put(u8 byte)
{
	if (dead_)
		return;
	bool marker = !marker_.empty() || (markers_ && (pos_ + taken_) % 512 == 0);
	if (marker && marker_.empty())
		marker_at_ = static_cast<u32>(wire_.size());
	wire_.push_back(byte);
	taken_++;
	if (!marker) {
		plain(byte);
		return;
	}
	marker_.push_back(byte);
	if (marker_.size() == 4)
		end_of_marker();
}

// 4.2: the bytes back to the length field, or zero in front of it; the two low bits are not part of
// it.
void Deframer::end_of_marker()
{
	u32 distance = plain_.empty() ? 0 : marker_at_ - length_at_;
	u32 says = (marker_[2] << 8 | marker_[3]) / 4 * 4;

	if (says != distance)
		marker_wrong_ = true;
	marker_.clear();
}

u32 Deframer::plain_len() const
{
	u32 n = 2 + (plain_[0] << 8 | plain_[1]);
	while (n % 4)
		n++;
	return n + 4;
}

void Deframer::plain(u8 byte)
{
	if (plain_.empty())
		length_at_ = static_cast<u32>(wire_.size()) - 1;
	plain_.push_back(byte);
	if (plain_.size() < 2)
		return;
	if (plain_.size() == 2 && (plain_[0] << 8 | plain_[1]) > 64768)
		event(Event::length);
	else if (plain_.size() == plain_len())
		end_of_fpdu();
}

// 4.4: the CRC covers all bytes before, including markers. 8: markers are checked after the CRC.
void Deframer::end_of_fpdu()
{
	size_t body = wire_.size() - 4;
	u32 field = 0;

	for (size_t i = 0; i < 4; i++)
		field |= static_cast<u32>(wire_[body + i]) << 8 * i;
	if (crc_ && field != crc(slice(wire_, 0, body)))
		event(Event::crc);
	else if (marker_wrong_)
		event(Event::marker);
	else
		event(Event::fpdu, slice(plain_, 2, plain_[0] << 8 | plain_[1]));
	wire_.clear();
	plain_.clear();
	start_ = taken_;
}

void Deframer::event(Event::Kind kind, Bytes ulpdu)
{
	events.push_back({kind, start_, taken_, std::move(ulpdu)});
	dead_ = kind != Event::fpdu;
}

} // namespace model
