// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "../session/cases.h"

namespace peer {

TEST_P(Wire, ends_as_the_rfc_says)
{
	const Case &c = GetParam();
	Session s(c.terms);
	c.act(s);
	if (HasFatalFailure())
		return;
	s.judge(c.verdict);
	expect_healthy(s.v);
	for (Region *r : s.v.all())
		EXPECT_EQ(r->changed(), "");
}

} // namespace peer
