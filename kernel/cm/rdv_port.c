// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The devices' listeners for rendezvous partners. */
#include "cm/cm.h"

#include <net/net_namespace.h>

#include "cm/ep.h"

/* Protects the list and the devices' listeners; taken before an endpoint's mutex. */
static DEFINE_MUTEX(listeners_mutex);
static LIST_HEAD(listeners);

static void rdv_close_listener(struct kwarp_device *dev)
{
	struct kwarp_ep *ep = dev->rendezvous;

	lockdep_assert_held(&listeners_mutex);
	WRITE_ONCE(dev->policy.rendezvous_port, 0);
	if (!ep)
		return;
	dev->rendezvous = NULL;
	list_del(&dev->rendezvous_link);
	mutex_lock(&ep->mutex);
	kwarp_listen_end(ep);
	kwarp_ep_unlock(ep);
	kwarp_llp_put(&ep->llp);
}

static int rdv_open_listener(struct kwarp_device *dev, u16 port)
{
	struct kwarp_ep *ep = kwarp_listen_rendezvous(dev, port);

	lockdep_assert_held(&listeners_mutex);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	dev->rendezvous = ep;
	list_add(&dev->rendezvous_link, &listeners);
	WRITE_ONCE(dev->policy.rendezvous_port, port);
	return 0;
}

/**
 * kwarp_rdv_set_port() - set the policy rendezvous_port, where this device listens
 * @dev:	device
 * @port:	TCP port, 0: do not listen
 *
 * Port 0 or the end of the namespace closes its listener. Context: process, may sleep.
 * Return: 0; -ENODEV; -EADDRINUSE or another error of the socket layer: then there is no
 * listener.
 */
int kwarp_rdv_set_port(struct kwarp_device *dev, u16 port)
{
	int ret = 0;

	might_sleep();
	mutex_lock(&listeners_mutex);
	if (port != dev->policy.rendezvous_port) {
		rdv_close_listener(dev);
		if (port)
			ret = rdv_open_listener(dev, port);
	}
	mutex_unlock(&listeners_mutex);
	return ret;
}

/*
 * A namespace ends: the listeners in it hold no reference to it and must not outlive it.
 * No new listener can be opened in it.
 */
static void net_exit(struct net *net)
{
	struct kwarp_device *dev, *next;

	mutex_lock(&listeners_mutex);
	list_for_each_entry_safe(dev, next, &listeners, rendezvous_link)
		if (sock_net(dev->rendezvous->llp.sk) == net)
			rdv_close_listener(dev);
	mutex_unlock(&listeners_mutex);
}

static struct pernet_operations net_ops = {
	.exit = net_exit,
};

int kwarp_rdv_module_init(void)
{
	return register_pernet_subsys(&net_ops);
}

void kwarp_rdv_module_exit(void)
{
	unregister_pernet_subsys(&net_ops);
}
