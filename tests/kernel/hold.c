// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A thread named "holder" that sends stays where it holds its socket's lock until the
 * backlog has all that the receive buffer holds. See tests/verbs/races/backlog_test.cc.
 * Not longer than TCP delays an acknowledgment, 40 ms: that timer would make up for
 * a window that was left closed.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <net/sock.h>

#include "ktest.h"

static uint filled;
module_param(filled, uint, 0444);
MODULE_PARM_DESC(filled, "how often the backlog was full then");

static int entered(struct kprobe *probe, struct pt_regs *regs)
{
	const struct sock *sk = (void *)regs_get_kernel_argument(regs, 0);
	int ms;

	if (!in_task() || strcmp(current->comm, "holder"))
		return 0;
	for (ms = 0; ms < 30; ms++) {
		if (READ_ONCE(sk->sk_backlog.len) >= READ_ONCE(sk->sk_rcvbuf)) {
			filled++;
			break;
		}
		mdelay(1);
	}
	return 0;
}

static struct kprobe probe = {
	.symbol_name = "tcp_sendmsg_locked",
	.pre_handler = entered,
};

int kt_hold(void)
{
	return register_kprobe(&probe);
}

void kt_hold_end(void)
{
	unregister_kprobe(&probe);
}
