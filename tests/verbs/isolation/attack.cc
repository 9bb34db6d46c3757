// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "attack.h"

#include <cstdio>
#include <exception>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "limits/user.h"
#include "rdma/failure.h"
#include "rdma/work.h"

namespace isolation {

Attack::Attack(User user, const Body &body)
{
	int begun[2];
	rdma::check(pipe(begun), "pipe");
	fflush(stdout);
	child_ = fork();
	if (!child_) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		try {
			if (user == User::nobody)
				limits::become_nobody();
			body([&] {
				if (write(begun[1], "", 1) != 1)
					_exit(1);
			});
		} catch (const std::exception &e) {
			fprintf(stderr, "attack: %s\n", e.what());
		}
		_exit(1);
	}
	close(begun[1]);
	char byte;
	const bool ok = rdma::readable(begun[0], rdma::patience) && read(begun[0], &byte, 1) == 1;
	close(begun[0]);
	if (!ok) {
		kill(child_, SIGKILL);
		waitpid(child_, nullptr, 0);
		throw rdma::Failure("the attack has not begun");
	}
}

Attack::~Attack()
{
	kill(child_, SIGKILL);
	waitpid(child_, nullptr, 0);
}

bool Attack::goes_on() const
{
	siginfo_t info{};
	return !waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) &&
	       !info.si_pid;
}

} // namespace isolation
