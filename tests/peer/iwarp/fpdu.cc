// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "fpdu.h"

#include "crc32c.h"

namespace iwarp {
namespace {

constexpr uint32_t marker_interval = 512;

bool marker_due(const FpduMode &mode, uint32_t pos)
{
	return mode.markers && pos % marker_interval == 0;
}

// Reads an FPDU in words of four bytes. Every marker begins at a word boundary.
class Reader {
public:
	Reader(const FpduMode &mode, uint32_t pos, View buf) : mode_(mode), pos_(pos), buf_(buf) {}

	// Checks and skips a marker that is due, then appends the next word of the FPDU. Returns
	// false if the buffer ends before that.
	bool word(Bytes &to)
	{
		if (marker_due(mode_, pos_ + at_) && !marker())
			return false;
		if (buf_.size() < at_ + 4)
			return false;
		if (!header_)
			header_ = at_;
		put(to, buf_.subspan(at_, 4));
		at_ += 4;
		return true;
	}

	size_t at() const { return at_; }
	Fpdu fpdu;

private:
	bool marker()
	{
		if (buf_.size() < at_ + 4)
			return false;
		size_t right = header_ ? at_ - *header_ : 0;
		if ((get16(buf_, at_ + 2) & ~3U) != right)
			fpdu.marker_ok = false;
		fpdu.markers++;
		at_ += 4;
		return true;
	}

	const FpduMode &mode_;
	uint32_t pos_;
	View buf_;
	uint32_t at_ = 0;
	std::optional<size_t> header_;
};

} // namespace

Bytes FpduEncoder::encode(View ulpdu, const FpduFault &fault)
{
	Bytes body, out;
	std::optional<uint32_t> header;

	put16(body, fault.length.value_or(static_cast<uint16_t>(ulpdu.size())));
	put(body, ulpdu);
	while (body.size() % 4)
		put8(body, fault.pad);

	auto here = [&] { return pos_ + static_cast<uint32_t>(out.size()); };
	auto marker = [&] {
		if (!marker_due(mode_, here()) || fault.omit_markers)
			return;
		Marker m{0, static_cast<uint16_t>(header ? here() - *header : 0)};
		if (fault.marker)
			m = fault.marker(m);
		put16(out, m.reserved);
		put16(out, m.fpdu_ptr);
	};
	for (size_t i = 0; i < body.size(); i += 4) {
		marker();
		if (!header)
			header = here();
		put(out, View(body).subspan(i, 4));
	}
	marker();
	Bytes crc = crc_field(out);
	for (size_t i = 0; i < 4; i++)
		crc[i] = static_cast<uint8_t>(crc[i] ^ fault.crc_xor >> (8 * i));
	put(out, crc);
	advance(out.size());
	return out;
}

std::optional<Fpdu> FpduDecoder::next()
{
	Reader r(mode_, pos_, buf_);
	Bytes body, crc;

	if (!r.word(body))
		return {};
	size_t len = get16(body);
	while (body.size() < 2 + len)
		if (!r.word(body))
			return {};
	// The CRC covers a marker between pad and CRC: read the CRC word, which skips that marker,
	// before computing the number of bytes covered.
	if (!r.word(crc))
		return {};
	size_t covered = r.at() - 4;

	r.fpdu.crc_ok = !mode_.crc || crc_field(View(buf_).first(covered)) == crc;
	for (size_t i = 2 + len; i < body.size(); i++)
		r.fpdu.pad_ok &= body[i] == 0;
	r.fpdu.ulpdu.assign(body.begin() + 2, body.begin() + 2 + static_cast<ptrdiff_t>(len));
	buf_.erase(buf_.begin(), buf_.begin() + static_cast<ptrdiff_t>(r.at()));
	pos_ += static_cast<uint32_t>(r.at());
	return std::move(r.fpdu);
}

} // namespace iwarp
