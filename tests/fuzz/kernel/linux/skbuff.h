/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The parts of socket buffers that kernel/llp/mpa/cursor.c uses, for user space. */
#ifndef FUZZ_LINUX_SKBUFF_H
#define FUZZ_LINUX_SKBUFF_H

#include "types.h"

#define container_of(p, type, member) ((type *)((char *)(p) - offsetof(type, member)))

#define likely(x) (x)

#define MAX_SKB_FRAGS 17

struct sk_buff;

typedef struct {
	u8 *address;
	u32 size;
} skb_frag_t;

struct skb_shared_info {
	u8 nr_frags;
	struct sk_buff *frag_list;
	skb_frag_t frags[MAX_SKB_FRAGS];
};

struct sk_buff {
	struct sk_buff *next;
	u32 seq;
	u32 len;
	u32 headlen;
	u8 *data;
	struct skb_shared_info shared;
};

struct sk_buff_head {
	struct sk_buff *first;
};

/* TCP's private part is not separate here. */
#define TCP_SKB_CB(skb) (skb)

static inline struct skb_shared_info *skb_shinfo(struct sk_buff *skb)
{
	return &skb->shared;
}

static inline u32 skb_headlen(const struct sk_buff *skb)
{
	return skb->headlen;
}

static inline void *skb_frag_address(const skb_frag_t *frag)
{
	return frag->address;
}

static inline u32 skb_frag_size(const skb_frag_t *frag)
{
	return frag->size;
}

/* There is no device memory here. */
static inline bool skb_frags_readable(const struct sk_buff *skb)
{
	(void)skb;
	return true;
}

static inline bool skb_queue_is_last(const struct sk_buff_head *list, const struct sk_buff *skb)
{
	(void)list;
	return !skb->next;
}

static inline struct sk_buff *skb_queue_next(const struct sk_buff_head *list,
					     const struct sk_buff *skb)
{
	(void)list;
	return skb->next;
}

/* There are no out-of-order reads here. */
static inline struct sk_buff *skb_rb_next(const struct sk_buff *skb)
{
	(void)skb;
	return NULL;
}

#endif
