// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// CRC32c of RFC 5044 4.4 and RFC 3720 12.1. Its table is computed from the polynomial.
#pragma once

#include "bytes.h"

namespace iwarp {

// Returns the CRC of the bytes: register preset to ones, result complemented.
uint32_t crc32c(View bytes);

// Returns this CRC as the four bytes of an FPDU's CRC field: least significant byte first, as in
// RFC 5044 figures 5 and 6.
Bytes crc_field(View bytes);

} // namespace iwarp
