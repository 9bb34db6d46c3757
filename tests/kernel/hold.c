// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Time passes where others could overtake.
 *
 * A thread named "holder" that sends stays where it holds its socket's lock until the
 * backlog has all that the receive buffer holds. See tests/verbs/races/backlog_test.cc.
 * Not longer than TCP delays an acknowledgment, 40 ms: that timer would make up for
 * a window that was left closed.
 *
 * Whoever raises an event of a connection goes on when the worker is at it.
 * See AttachEnd.reset_is_an_asynchronous_event.
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

static int raised(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	mdelay(2);
	return 0;
}

static struct kretprobe event_probe = {
	.kp.symbol_name = "kwarp:llp_event",
	.handler = raised,
};

int kt_hold(void)
{
	int ret = register_kprobe(&probe);

	if (ret)
		return ret;
	ret = register_kretprobe(&event_probe);
	if (ret)
		unregister_kprobe(&probe);
	return ret;
}

void kt_hold_end(void)
{
	unregister_kretprobe(&event_probe);
	unregister_kprobe(&probe);
}
