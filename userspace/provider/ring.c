// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Mapping of rings.
 *
 * The pages belong to the kernel and are mapped shared. fork() does not copy
 * them, so ibv_dontfork_range() is not needed, and a process that forks to
 * become a daemon keeps its queues.
 */
#include <errno.h>
#include <sys/mman.h>

#include <infiniband/driver.h>

#include "ring.h"

int kwarp_map(struct kwarp_map *map, struct ibv_context *ctx, uint64_t key,
	      size_t len)
{
	void *base;

	base = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, ctx->cmd_fd,
		    key);
	if (base == MAP_FAILED)
		return errno;
	map->base = base;
	map->len = len;
	return 0;
}

void kwarp_unmap(struct kwarp_map *map)
{
	if (map->base)
		munmap(map->base, map->len);
	map->base = NULL;
}

bool kwarp_map_has_ctl(const struct kwarp_map *map, uint32_t off)
{
	return off % __alignof__(struct kwarp_ring_ctl) == 0 &&
	       (uint64_t)off + sizeof(struct kwarp_ring_ctl) <= map->len;
}

bool kwarp_map_has_ring(const struct kwarp_map *map, uint32_t off,
			uint32_t num, uint32_t stride)
{
	return num && !(num & (num - 1)) && off % sizeof(uint64_t) == 0 &&
	       stride % sizeof(uint64_t) == 0 &&
	       off + (uint64_t)num * stride <= map->len;
}
