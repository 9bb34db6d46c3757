// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "../session/cases.h"

namespace peer {

TEST_P(Wire, conforms)
{
	const Case &c = GetParam();
	Session s(c.terms);
	c.act(s);
	if (!HasFatalFailure())
		s.judge(c.verdict);
}

} // namespace peer
