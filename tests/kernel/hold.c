// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Insert delays at points where other contexts could overtake.
 *
 * A sending thread named "holder" stops while it holds its socket's lock, until it is
 * told to continue, or for 2 s. The probes hide this time from TCP's delayed
 * acknowledgment, which would make up for a window left closed, and from kwarp, which
 * would leave received data to a worker. See tests/peer/ooo/backlog_test.cc.
 *
 * A context that raises an event of a connection continues only after a delay, when the
 * worker is already handling it. See AttachEnd.reset_is_an_asynchronous_event.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <net/tcp.h>

#include "ktest.h"

static bool holding;
module_param(holding, bool, 0444);
MODULE_PARM_DESC(holding, "a holder has its socket's lock");

static bool go_on;
module_param(go_on, bool, 0644);
MODULE_PARM_DESC(go_on, "no holder stays");

static int entered(struct kprobe *probe, struct pt_regs *regs)
{
	struct sock *sk = (void *)regs_get_kernel_argument(regs, 0);
	int ms;

	if (!in_task() || strcmp(current->comm, "holder"))
		return 0;
	WRITE_ONCE(holding, true);
	for (ms = 0; ms < 2000 && !READ_ONCE(go_on); ms++)
		mdelay(1);
	WRITE_ONCE(holding, false);
	inet_csk_clear_xmit_timer(sk, ICSK_TIME_DACK);
	clear_bit(TCP_DELACK_TIMER_DEFERRED, &sk->sk_tsq_flags);
	return 0;
}

static struct kprobe probe = {
	.symbol_name = "tcp_sendmsg_locked",
	.pre_handler = entered,
};

static int asked(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	if (!strcmp(current->comm, "holder"))
		regs_set_return_value(regs, false);
	return 0;
}

static struct kretprobe long_probe = {
	.kp.symbol_name = "kwarp:kwarp_llp_held_long",
	.handler = asked,
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

static struct kretprobe *returns[] = { &long_probe, &event_probe };

int kt_hold(void)
{
	int ret = register_kprobe(&probe);

	if (ret)
		return ret;
	ret = register_kretprobes(returns, ARRAY_SIZE(returns));
	if (ret)
		unregister_kprobe(&probe);
	return ret;
}

void kt_hold_end(void)
{
	unregister_kretprobes(returns, ARRAY_SIZE(returns));
	unregister_kprobe(&probe);
}
