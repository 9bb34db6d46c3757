// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The floor of latency: messages of 64 bytes in turns over a TCP connection between two kernel
 * sockets, without RDMA and without a program. As with kwarp, a poster's own context sends, the
 * softirq that delivers a segment consumes it, and the other side polls memory.
 *
 * When the module is loaded, it prints the nanoseconds that a message takes in one direction to
 * the kernel log, and then fails to load on purpose. It is loaded in the network namespace of
 * the first end; the process @pid is in that of the second. With two_threads=0 one thread polls
 * and sends for both ends, so that instructions can be counted.
 */
#include <linux/in.h>
#include <linux/inet.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/nsproxy.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

#define MESSAGE		64
#define PORT		7177
#define WARM_UP		200

static int pid;
module_param(pid, int, 0444);
MODULE_PARM_DESC(pid, "a process in the network namespace of the second end");
static char *ip = "10.0.0.2";
module_param(ip, charp, 0444);
MODULE_PARM_DESC(ip, "IPv4 address of the second end");
static unsigned int turns = 10000;
module_param(turns, uint, 0444);
MODULE_PARM_DESC(turns, "number of round trips");
static bool two_threads = true;
module_param(two_threads, bool, 0444);
MODULE_PARM_DESC(two_threads, "a thread for each end");

/**
 * struct end - one end of the connection
 * @sock:	its socket
 * @ready:	the socket's own data_ready
 * @received:	messages received; written by softirqs
 */
struct end {
	struct socket *sock;
	void (*ready)(struct sock *sk);
	unsigned int received;
};

static struct end first, second;

static int take(read_descriptor_t *desc, struct sk_buff *skb, unsigned int off, size_t len)
{
	struct end *e = desc->arg.data;

	/* Each message is a segment of its own. */
	smp_store_release(&e->received, e->received + 1);
	return len;
}

static void data_ready(struct sock *sk)
{
	read_descriptor_t desc = { .arg.data = sk->sk_user_data, .count = 1 };

	tcp_read_sock(sk, &desc, take);
}

static void hook(struct end *e)
{
	struct sock *sk = e->sock->sk;

	tcp_sock_set_nodelay(sk);
	write_lock_bh(&sk->sk_callback_lock);
	e->ready = sk->sk_data_ready;
	sk->sk_user_data = e;
	sk->sk_data_ready = data_ready;
	write_unlock_bh(&sk->sk_callback_lock);
}

static void end_close(struct end *e)
{
	struct sock *sk;

	if (!e->sock)
		return;
	sk = e->sock->sk;
	if (e->ready) {
		write_lock_bh(&sk->sk_callback_lock);
		sk->sk_data_ready = e->ready;
		sk->sk_user_data = NULL;
		write_unlock_bh(&sk->sk_callback_lock);
	}
	sock_release(e->sock);
}

static int connect_ends(struct net *from, struct net *to)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = in_aton(ip),
	};
	struct socket *listener;
	int ret;

	ret = sock_create_kern(to, AF_INET, SOCK_STREAM, IPPROTO_TCP, &listener);
	if (ret)
		return ret;
	ret = kernel_bind(listener, (void *)&addr, sizeof(addr)) ? :
	      kernel_listen(listener, 1) ? :
	      sock_create_kern(from, AF_INET, SOCK_STREAM, IPPROTO_TCP, &first.sock) ? :
	      kernel_connect(first.sock, (void *)&addr, sizeof(addr), 0) ? :
	      kernel_accept(listener, &second.sock, 0);
	sock_release(listener);
	if (ret)
		return ret;
	hook(&first);
	hook(&second);
	return 0;
}

static int post(struct end *e)
{
	char message[MESSAGE] = "";
	struct kvec vec = { .iov_base = message, .iov_len = sizeof(message) };
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT };

	return kernel_sendmsg(e->sock, &msg, &vec, 1, sizeof(message)) == MESSAGE ? 0 : -EIO;
}

static int wait(const struct end *e, unsigned int messages)
{
	unsigned long end = jiffies + 10 * HZ;

	while (smp_load_acquire(&e->received) < messages) {
		cpu_relax();
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
		if (need_resched())
			cond_resched();
	}
	return 0;
}

static int answer(void *unused)
{
	unsigned int i;
	int ret = 0;

	for (i = 1; i <= turns && !ret; i++)
		ret = wait(&second, i) ? : post(&second);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return ret;
}

static int take_turns(u64 *ns)
{
	struct task_struct *other = NULL;
	u64 begin = 0;
	unsigned int i;
	int ret = 0;

	if (two_threads) {
		other = kthread_run(answer, NULL, "floor");
		if (IS_ERR(other))
			return PTR_ERR(other);
	}
	for (i = 1; i <= turns && !ret; i++) {
		if (i == WARM_UP)
			begin = ktime_get_ns();
		ret = post(&first);
		if (!ret && !other)
			ret = wait(&second, i) ? : post(&second);
		ret = ret ? : wait(&first, i);
	}
	*ns = div_u64(ktime_get_ns() - begin, 2 * (turns - WARM_UP + 1));
	return (other ? kthread_stop(other) : 0) ? : ret;
}

static int __init floor_init(void)
{
	struct net *to;
	u64 ns = 0;
	int ret;

	if (turns <= WARM_UP)
		return -EINVAL;
	to = get_net_ns_by_pid(pid);
	if (IS_ERR(to))
		return PTR_ERR(to);
	ret = connect_ends(current->nsproxy->net_ns, to) ? : take_turns(&ns);
	end_close(&first);
	end_close(&second);
	put_net(to);
	if (!ret)
		pr_info("floor: %llu ns\n", ns);
	return ret ? : -ECANCELED;
}

module_init(floor_init);
MODULE_DESCRIPTION("Latency of TCP between kernel sockets");
MODULE_LICENSE("Dual BSD/GPL");
