// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Removal of the device by the RDMA core, before the core notifies the driver. */
#include <linux/xarray.h>

#include "kwarp.h"

/* The core's mark of a client that it has added to the device and is not removing. */
#define CLIENT_IS_ADDED	XA_MARK_1

/**
 * kwarp_is_removed() - does the core remove the device?
 * @dev:	device, registered or being removed
 *
 * The objects of its users are being destroyed then. Meanwhile the core holds
 * unregistration_lock, and the client that it removes, one after another, has no mark. Each of
 * these signs alone occurs at other times, too: whenever a network namespace ends, the core takes
 * the lock of each device for a moment; and a client is removed when its module is unloaded.
 *
 * Context: any.
 * Return: true from the removal of the first client on.
 */
bool kwarp_is_removed(struct kwarp_device *dev)
{
	XA_STATE(xas, &dev->ibdev.client_data, 0);
	bool any = false, removing = false;
	void *client;

	if (!mutex_is_locked(&dev->ibdev.unregistration_lock))
		return false;
	rcu_read_lock();
	/* Clients without data have zero entries, which xa_for_each() would skip. */
	xas_for_each(&xas, client, ULONG_MAX) {
		if (xa_is_retry(client)) {
			xas_reset(&xas);
			continue;
		}
		any = true;
		removing |= !xas_get_mark(&xas, CLIENT_IS_ADDED);
	}
	rcu_read_unlock();
	return removing || !any;
}
