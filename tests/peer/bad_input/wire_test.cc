// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "trial.h"

namespace bad_input {

TEST_P(Wire, ends_as_the_rfc_says)
{
	const Case &c = GetParam();
	TrialPolicy policy(c.setup);
	if (!policy.holds())
		GTEST_SKIP() << "the device cannot be set up for it";
	Trial t(c.setup);
	c.act(t);
	if (!HasFatalFailure())
		t.judge(c.verdict);
}

} // namespace bad_input
