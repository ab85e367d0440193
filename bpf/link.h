/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ethernet headers with up to two VLAN tags, read from the start of a frame and written
 * there again.
 */
#ifndef RINGLB_BPF_LINK_H
#define RINGLB_BPF_LINK_H

#include <stdbool.h>
#include <linux/if_ether.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define LINK_TAGS_MAX 2

/* A tag as it lies in the frame: IEEE 802.1Q, section 9.3. */
struct link_tag {
	__be16 type;
	__be16 control;
};

/* A header that was read: @type is that of what comes behind the tags. */
struct link {
	__u8 macs[2 * ETH_ALEN];
	struct link_tag tags[LINK_TAGS_MAX];
	__u32 tags_len;
	__be16 type;
};

static __always_inline bool link_is_tag(__be16 type)
{
	return type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD);
}

/* Return: the byte after the header, or @end if the frame ends inside. */
static __always_inline void *link_read(void *pos, void *end, struct link *link)
{
	struct ethhdr *eth = pos;

	if ((void *)(eth + 1) > end)
		return end;
	__builtin_memcpy(link->macs, eth, sizeof(link->macs));
	link->type = eth->h_proto;
	link->tags_len = 0;
	pos = eth + 1;
	for (__u32 i = 0; i < LINK_TAGS_MAX && link_is_tag(link->type); i++) {
		__be16 *tag = pos; /* control, then the next type */

		if ((void *)(tag + 2) > end)
			return end;
		link->tags[i].type = link->type;
		link->tags[i].control = tag[0];
		link->tags_len = i + 1;
		link->type = tag[1];
		pos = tag + 2;
	}
	return pos;
}

/* Return: false if there is no room. */
static __always_inline bool link_write(void *pos, void *end, const struct link *link)
{
	if (pos + sizeof(struct ethhdr) > end)
		return false;
	__builtin_memcpy(pos, link->macs, sizeof(link->macs));
	pos += sizeof(link->macs);
	for (__u32 i = 0; i < LINK_TAGS_MAX && i < link->tags_len; i++) {
		if (pos + sizeof(link->tags[i]) + sizeof(link->type) > end)
			return false;
		__builtin_memcpy(pos, &link->tags[i], sizeof(link->tags[i]));
		pos += sizeof(link->tags[i]);
	}
	*(__be16 *)pos = link->type;
	return true;
}

#endif
