// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Events of a connection. Other consumers in the kernel read private data whenever the
 * pointer is set, so the pointer must be NULL if there are no private data.
 */
#include "conn.h"
#include "ktest.h"

#include <linux/delay.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

static u8 bytes[U8_MAX];

static int data_ok(const char *what, const struct kt_event *ev, u8 len)
{
	const struct rdma_conn_param *param = &ev->param;

	if (param->private_data_len != len || !param->private_data != !len) {
		pr_info("ktest: %s: pointer %s, %u bytes of private data, not %u\n", what,
			param->private_data ? "set" : "NULL", param->private_data_len, len);
		return -EINVAL;
	}
	return memcmp(ev->data, bytes, len) ? KT_WRONG_DATA : 0;
}

static int event_ok(const char *what, const struct kt_event *ev, enum rdma_cm_event_type type,
		    int status, u8 len)
{
	if (ev->type != type || ev->status != status) {
		pr_info("ktest: %s: event %d with status %d, not %d with %d\n", what, ev->type,
			ev->status, type, status);
		return -EPROTO;
	}
	return data_ok(what, ev, len);
}

/* Both sides offer the same depths. */
static int depths_ok(const char *what, const struct kt_event *ev)
{
	if (ev->param.initiator_depth == KT_DEPTH && ev->param.responder_resources == KT_DEPTH)
		return 0;
	pr_info("ktest: %s: depths %u and %u\n", what, ev->param.initiator_depth,
		ev->param.responder_resources);
	return -ERANGE;
}

static bool same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in *x = (const struct sockaddr_in *)a;
	const struct sockaddr_in *y = (const struct sockaddr_in *)b;

	return x->sin_family == AF_INET && y->sin_family == AF_INET &&
	       x->sin_addr.s_addr == y->sin_addr.s_addr;
}

/* The source of one side must be the destination of the other. */
static int addresses_ok(const char *what, const struct kt_event *here,
			const struct kt_event *there)
{
	if (same(&here->from, &there->to) && same(&here->to, &there->from) &&
	    !same(&here->from, &here->to))
		return 0;
	pr_info("ktest: %s: %pISpc to %pISpc, and %pISpc to %pISpc\n", what, &here->from,
		&here->to, &there->from, &there->to);
	return -EADDRNOTAVAIL;
}

static int accepted(struct kt_pair *p)
{
	struct kt_talk *t = p->talk;

	return event_ok("reply", &t->client, RDMA_CM_EVENT_ESTABLISHED, 0, t->answer_len) ? :
	       event_ok("accepted", &t->server, RDMA_CM_EVENT_ESTABLISHED, 0, 0) ? :
	       depths_ok("reply", &t->client) ? : depths_ok("accepted", &t->server) ? :
	       addresses_ok("reply", &t->client, &t->asked) ? :
	       addresses_ok("accepted", &t->server, &t->client) ? :
	       kt_pair_end(p) ? :
	       event_ok("end", &t->client, RDMA_CM_EVENT_DISCONNECTED, 0, 0) ? :
	       event_ok("end", &t->server, RDMA_CM_EVENT_DISCONNECTED, 0, 0) ? :
	       addresses_ok("end", &t->server, &t->client);
}

static int rejected(const struct kt_talk *t)
{
	return event_ok("rejection", &t->client, RDMA_CM_EVENT_REJECTED, -ECONNREFUSED,
			t->answer_len) ? :
	       addresses_ok("rejection", &t->client, &t->asked);
}

static int conversation(struct kt_talk *t)
{
	struct kt_pair p = { .talk = t };
	int opened = kt_pair_open(&p), ret;

	ret = event_ok("request", &t->asked, RDMA_CM_EVENT_CONNECT_REQUEST, 0,
		       t->request_len) ? : depths_ok("request", &t->asked);
	if (!ret && t->reject)
		ret = opened == -ECONNREFUSED ? rejected(t) : -EPROTO;
	else if (!ret)
		ret = opened ? : accepted(&p);
	kt_pair_close(&p);
	return ret;
}

static int kind(u8 request_len, u8 answer_len, bool reject)
{
	struct kt_talk *t = kzalloc(sizeof(*t), GFP_KERNEL);
	int ret;

	if (!t)
		return -ENOMEM;
	t->request = bytes;
	t->request_len = request_len;
	t->answer = bytes;
	t->answer_len = answer_len;
	t->reject = reject;
	/* Private data that an event fails to deliver must not seem to be right. */
	memset(t->asked.data, 0xee, sizeof(t->asked.data));
	memset(t->client.data, 0xee, sizeof(t->client.data));
	ret = conversation(t);
	kfree(t);
	return ret;
}

/* ---- the end of a namespace ------------------------------------------------- */

static struct ib_device *locked;
static DECLARE_COMPLETION(lock_taken);
static DECLARE_COMPLETION(time_over);

static void hold_lock(struct work_struct *work)
{
	mutex_lock(&locked->unregistration_lock);
	complete(&lock_taken);
	wait_for_completion(&time_over);
	mutex_unlock(&locked->unregistration_lock);
}

static DECLARE_WORK(holder, hold_lock);

/*
 * The core takes this lock of each device when a network namespace ends. Here it is held for longer
 * than kwarp's period of looking at it. The caller has a lock that the core takes inside this one.
 */
static void namespace_ends(struct ib_device *client)
{
	locked = client;
	schedule_work(&holder);
	wait_for_completion(&lock_taken);
	fsleep(1500 * USEC_PER_MSEC);
	complete(&time_over);
}

static int answer_takes_time(void)
{
	struct kt_talk *t = kzalloc(sizeof(*t), GFP_KERNEL);
	struct kt_pair p = { .talk = t };
	int ret;

	if (!t)
		return -ENOMEM;
	t->think = namespace_ends;
	ret = kt_pair_open(&p);
	flush_work(&holder);
	if (!ret)
		kt_pair_close(&p);
	kfree(t);
	return ret;
}

void kt_event_cases(void)
{
	static const struct {
		const char *name;
		u8 request_len;
		u8 answer_len;
		bool reject;
	} kinds[] = {
		{ "events: no private data, accepted", 0, 0, false },
		{ "events: no private data, rejected", 0, 0, true },
		{ "events: 1 byte of private data, accepted", 1, 1, false },
		{ "events: 1 byte of private data, rejected", 1, 1, true },
		{ "events: private data in the request only", 8, 0, false },
		{ "events: private data in the request only, rejected", 8, 0, true },
		{ "events: private data in the reply only", 0, 8, false },
		{ "events: private data in the rejection only", 0, 8, true },
		{ "events: 255 bytes of private data, accepted", 255, 255, false },
		{ "events: 255 bytes of private data, rejected", 255, 255, true },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(bytes); i++)
		bytes[i] = i + 1;
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		kt_tap(kinds[i].name, kind(kinds[i].request_len, kinds[i].answer_len,
					   kinds[i].reject));
	kt_tap("events: a namespace ends during a connect", answer_takes_time());
}
