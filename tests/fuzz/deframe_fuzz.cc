// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Any bytes as a stream of FPDUs.
#include "deframe.h"

extern "C" int LLVMFuzzerTestOneInput(const u8 *p, size_t n)
{
	Input in(p, n);
	Framing framing(in);
	Bytes cuts = in.take(in.below(8));

	deframe(framing, in.rest(), cuts);
	return 0;
}
