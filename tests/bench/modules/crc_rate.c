// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Measures the kernel's crc32c() alone: when the module is loaded, it prints MiB/s over FPDUs of
 * full segments at MTU 1500 to the kernel log, and then fails to load on purpose.
 */
#include <linux/crc32c.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>

#define FPDU	1444			/* bytes that a CRC covers */
#define ROUND	(64 * 1024 / FPDU)	/* in one message of 64 KiB */

static int __init crc_rate_init(void)
{
	u64 bytes = 0, ns, start;
	u32 crc = 0;
	u8 *mem;
	int i;

	mem = kmalloc(ROUND * FPDU, GFP_KERNEL);
	if (!mem)
		return -ENOMEM;
	memset(mem, 0xa5, ROUND * FPDU);
	start = ktime_get_ns();
	do {
		for (i = 0; i < ROUND; i++)
			crc ^= crc32c(~0U, mem + i * FPDU, FPDU);
		bytes += ROUND * FPDU;
		cond_resched();
		ns = ktime_get_ns() - start;
	} while (ns < 300 * NSEC_PER_MSEC);
	kfree(mem);
	pr_info("crc_rate: %llu MiB/s (%08x)\n",
		mul_u64_u64_div_u64(bytes, NSEC_PER_SEC, ns) >> 20, crc);
	return -ECANCELED;
}

module_init(crc_rate_init);
MODULE_DESCRIPTION("Rate of crc32c()");
MODULE_LICENSE("Dual BSD/GPL");
