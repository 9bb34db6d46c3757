// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A region for fast registration, which programs cannot use, at one end of a connection
 * whose other end is the program tests/peer/ooo/fast_reg_test.cc. The program controls this
 * end: it writes a command to the file "command" and reads the result from it; the file
 * "memory" has the pages of the region.
 */
#include "ktest.h"
#include "mem.h"

#include <linux/debugfs.h>
#include <linux/mm.h>
#include <linux/uaccess.h>

#define READ_LEN	2000

static struct dentry *dir;
static struct kt_pair pair;
static struct kt_mem *mem;
static struct kt_op reading;
static char answer[64];

/* ---- commands: 0, a completion's status, or negative errno -------------------- */

static int do_listen(void)
{
	return kt_listen(&pair);
}

static int do_accepted(void)
{
	int ret = kt_accepted(&pair);

	if (ret)
		return ret;
	mem = kt_mem_new(pair.server.pd);
	return mem ? 0 : -ENOMEM;
}

static int do_reg(void)
{
	int ret = kt_reg(&pair.server, mem, KT_ACCESS);

	scnprintf(answer, sizeof(answer), "%u %llu\n", mem->mr->rkey,
		  mem->mr->iova);
	return ret;
}

/* Register with the same key and addresses, but starting at the second page. */
static int do_reg_elsewhere(void)
{
	u64 iova = mem->mr->iova;
	int n = ib_map_mr_sg(mem->mr, mem->sg + 1, KT_PAGES - 1, NULL,
			     PAGE_SIZE);

	mem->mr->iova = iova;
	return n == KT_PAGES - 1 ? kt_reg_mapped(&pair.server, mem, KT_ACCESS) :
				   -EINVAL;
}

static int do_inv(void)
{
	return kt_local_inv(&pair.server, mem);
}

/*
 * The invalidation does not complete while the preceding Read is in progress. The peer
 * knows that it was executed when the Send after it arrives.
 */
static int do_inv_tell(void)
{
	static struct kt_op quiet;
	struct ib_send_wr tell = {
		.opcode = IB_WR_SEND, .wr_cqe = &quiet.cqe,
	};
	struct ib_send_wr inv = {
		.opcode = IB_WR_LOCAL_INV, .wr_cqe = &quiet.cqe, .next = &tell,
		.ex.invalidate_rkey = mem->mr->rkey,
	};

	kt_op_init(&quiet);
	return ib_post_send(pair.server.id->qp, &inv, NULL);
}

static int do_wipe(void)
{
	int i;

	for (i = 0; i < KT_PAGES; i++)
		clear_page(page_address(mem->page[i]));
	return 0;
}

/* Read into the region from any source; the peer sends the response. */
static int do_read(void)
{
	struct ib_sge sge = {
		.addr = mem->mr->iova, .length = READ_LEN,
		.lkey = mem->mr->lkey,
	};
	struct ib_rdma_wr wr = {
		.wr = { .opcode = IB_WR_RDMA_READ, .sg_list = &sge,
			.num_sge = 1, .send_flags = IB_SEND_SIGNALED,
			.wr_cqe = &reading.cqe },
	};

	kt_op_init(&reading);
	return ib_post_send(pair.server.id->qp, &wr.wr, NULL);
}

static int do_wait(void)
{
	scnprintf(answer, sizeof(answer), "%d\n",
		  kt_op_wait(&pair.server, &reading));
	return 0;
}

/* Release everything, whatever the state. */
static int do_close(void)
{
	struct kt_mem *m = mem;

	mem = NULL;
	kt_mem_free(m);
	kt_pair_close(&pair);
	return 0;
}

static const struct {
	const char *word;
	bool region;
	int (*act)(void);
} commands[] = {
	{ "listen", false, do_listen },
	{ "accepted", false, do_accepted },
	{ "reg", true, do_reg },
	{ "reg_elsewhere", true, do_reg_elsewhere },
	{ "inv", true, do_inv },
	{ "inv_tell", true, do_inv_tell },
	{ "wipe", true, do_wipe },
	{ "read", true, do_read },
	{ "wait", true, do_wait },
	{ "close", false, do_close },
};

/* ---- files; the program has one thread ------------------------------------------ */

static ssize_t command_write(struct file *file, const char __user *from,
			     size_t n, loff_t *pos)
{
	char word[16] = {};
	int i, ret;

	if (n >= sizeof(word))
		return -EINVAL;
	if (copy_from_user(word, from, n))
		return -EFAULT;
	answer[0] = 0;
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(word, commands[i].word))
			continue;
		if (commands[i].region && !mem)
			return -ENXIO;
		ret = commands[i].act();
		return ret < 0 ? ret : ret ? -EIO : n;
	}
	return -EINVAL;
}

static ssize_t command_read(struct file *file, char __user *to, size_t n,
			    loff_t *pos)
{
	return simple_read_from_buffer(to, n, pos, answer, strlen(answer));
}

static const struct file_operations command_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = command_write,
	.read = command_read,
};

static ssize_t memory_read(struct file *file, char __user *to, size_t n,
			   loff_t *pos)
{
	loff_t page = *pos >> PAGE_SHIFT, in = offset_in_page(*pos);
	ssize_t ret;

	if (!mem)
		return -ENXIO;
	if (page >= KT_PAGES)
		return 0;
	ret = simple_read_from_buffer(to, n, &in, page_address(mem->page[page]),
				      PAGE_SIZE);
	if (ret > 0)
		*pos += ret;
	return ret;
}

static const struct file_operations memory_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = memory_read,
	.llseek = default_llseek,
};

void kt_serve(void)
{
	pair.poll = IB_POLL_WORKQUEUE;
	dir = debugfs_create_dir("kwarp_ktest", NULL);
	debugfs_create_file("command", 0600, dir, NULL, &command_fops);
	debugfs_create_file("memory", 0400, dir, NULL, &memory_fops);
}

void kt_serve_end(void)
{
	debugfs_remove(dir);
	do_close();
}
