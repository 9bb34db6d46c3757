// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Insert delays at points where other contexts could overtake.
 *
 * A thread named "holder" that sends stops inside TCP's send function, where it holds the
 * lock of its socket, until it is told to continue, or for 2 s. The probes hide this time
 * from TCP's delayed acknowledgment, which would hide the error of a window that stays
 * closed, and from kwarp, which would leave received data to a worker. See
 * tests/peer/ooo/backlog_test.cc.
 *
 * The same thread, and workers if requested, stop at the entry of SCTP's send function, for
 * which kwarp releases the lock of the socket. See tests/verbs/sctp/hold_test.cc.
 *
 * A context that raises an event of a connection continues only after a delay, when the
 * worker already handles the event. See AttachEnd.reset_is_an_asynchronous_event.
 *
 * The loss of a connection is delayed between the moment when its error is set and the upcall.
 * See AttachEnd.reset_is_an_event__although_the_program_takes_the_error.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <net/tcp.h>

#include "ktest.h"

static bool holding;
module_param(holding, bool, 0444);
MODULE_PARM_DESC(holding, "a thread is held");

static bool go_on;
module_param(go_on, bool, 0644);
MODULE_PARM_DESC(go_on, "release held threads, and hold no other");

static bool workers;
module_param(workers, bool, 0644);
MODULE_PARM_DESC(workers, "also hold workers that send by SCTP");

static bool is_holder(void)
{
	return in_task() && !strcmp(current->comm, "holder");
}

static void stay(void)
{
	int ms;

	WRITE_ONCE(holding, true);
	for (ms = 0; ms < 2000 && !READ_ONCE(go_on); ms++)
		mdelay(1);
	WRITE_ONCE(holding, false);
}

/* On s390 regs_get_kernel_argument() needs a function that is not exported. */
static struct sock *first_argument(struct pt_regs *regs)
{
#ifdef CONFIG_S390
	return (void *)regs->gprs[2];
#else
	return (void *)regs_get_kernel_argument(regs, 0);
#endif
}

static int tcp_entered(struct kprobe *probe, struct pt_regs *regs)
{
	struct sock *sk = first_argument(regs);

	if (!is_holder())
		return 0;
	stay();
	inet_csk_clear_xmit_timer(sk, ICSK_TIME_DACK);
	clear_bit(TCP_DELACK_TIMER_DEFERRED, &sk->sk_tsq_flags);
	return 0;
}

static int sctp_entered(struct kprobe *probe, struct pt_regs *regs)
{
	if (is_holder() || (READ_ONCE(workers) && current->flags & PF_WQ_WORKER))
		stay();
	return 0;
}

static struct kprobe tcp_probe = {
	.symbol_name = "tcp_sendmsg_locked",
	.pre_handler = tcp_entered,
};

static struct kprobe sctp_probe = {
	.symbol_name = "sctp_sendmsg",
	.pre_handler = sctp_entered,
};

/* The connection is lost, and sk_err is set; then TCP calls sk_state_change. */
static int purge_entered(struct kprobe *probe, struct pt_regs *regs)
{
	if (READ_ONCE(first_argument(regs)->sk_err))
		mdelay(2);
	return 0;
}

static struct kprobe purge_probe = {
	.symbol_name = "tcp_write_queue_purge",
	.pre_handler = purge_entered,
};

static struct kprobe *entries[] = { &tcp_probe, &purge_probe };

static bool with_sctp;

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
	int ret = register_kprobes(entries, ARRAY_SIZE(entries));

	if (ret)
		return ret;
	ret = register_kretprobes(returns, ARRAY_SIZE(returns));
	if (ret) {
		unregister_kprobes(entries, ARRAY_SIZE(entries));
		return ret;
	}
	/* The module sctp may be absent. */
	with_sctp = !register_kprobe(&sctp_probe);
	return 0;
}

void kt_hold_end(void)
{
	if (with_sctp)
		unregister_kprobe(&sctp_probe);
	unregister_kretprobes(returns, ARRAY_SIZE(returns));
	unregister_kprobes(entries, ARRAY_SIZE(entries));
}
