// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// CRC32c as RFC 5044 4.4 and RFC 3720 12.1 want it, bit by bit from the polynomial.
#pragma once

#include "octets.h"

namespace iwarp {

// The CRC of the octets: register preset to ones, result complemented.
uint32_t crc32c(View octets);

// The same as the four octets of an FPDU's CRC field: least significant octet first,
// as RFC 5044 figures 5 and 6 show it.
Octets crc_field(View octets);

} // namespace iwarp
