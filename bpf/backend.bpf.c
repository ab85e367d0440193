/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What runs on a backend.
 *
 * A frame that comes in:
 *
 *   link.h     Ethernet, VLAN tags
 *   decap.h    outer IP -> UDP -> GUE -> inner IP: is it for a VIP?
 *   ecn.h      what routers said about congestion goes inside
 *   link.h     Ethernet and tags again, before the inner packet
 *
 * A SYN-ACK that leaves: clamp.h
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

#include "bpf/backend_maps.h"
#include "bpf/clamp.h"
#include "bpf/decap.h"
#include "bpf/link.h"

#define BACKEND_ACTION(action, name, text) XDP_##action,
static const __u8 verdict_actions[] = {BACKEND_VERDICTS(BACKEND_ACTION)};
#undef BACKEND_ACTION

/* Take the outer headers away. No pointer into the frame holds after this. */
static __always_inline enum backend_verdict shorten(struct xdp_md *ctx, const struct decap *decap,
						    struct link *link)
{
	link->type = bpf_htons(decap->protocol == IPPROTO_IPIP ? ETH_P_IP : ETH_P_IPV6);
	if (bpf_xdp_adjust_head(ctx, (int)decap->outer_len))
		return DROP_NOT_SHORTENED;
	if (!link_write((void *)(long)ctx->data, (void *)(long)ctx->data_end, link))
		return DROP_NOT_SHORTENED;
	return decap->udp ? PASS_GUE : PASS_IPIP;
}

/* Other people's UDP looks like gue by chance, so all that counts is that a VIP is inside. */
static __always_inline enum backend_verdict not_expected(const struct decap *decap)
{
	__u32 key = 0, port = decap->port;

	if (!decap_is_local(decap))
		return PASS_PLAIN;
	if (!decap->udp || !settings.gue)
		return PASS_OTHER_MODE;
	bpf_map_update_elem(&backend_port, &key, &port, BPF_ANY);
	return PASS_OTHER_PORT;
}

static __always_inline enum backend_verdict decapsulate(struct xdp_md *ctx)
{
	struct decap decap = {.end = (void *)(long)ctx->data_end};
	enum backend_verdict verdict;
	struct link link = {};
	bool expected;
	__u8 ecn;

	decap.pos = link_read((void *)(long)ctx->data, decap.end, &link);
	decap.left = bpf_xdp_get_buff_len(ctx) - sizeof(struct ethhdr) -
		     link.tags_len * sizeof(struct link_tag);
	verdict = decap_outer(&decap, link.type);
	if (verdict == CONTINUE && decap.protocol == IPPROTO_UDP)
		verdict = decap_udp(&decap);
	if (verdict != CONTINUE)
		return verdict;
	expected = decap.udp ? settings.gue && decap.port == settings.gue_port : settings.ipip;
	if (decap.udp)
		verdict = decap_gue(&decap);
	if (verdict == CONTINUE)
		verdict = decap_inner(&decap);
	if (!expected)
		return verdict == CONTINUE ? not_expected(&decap) : PASS_PLAIN;
	if (verdict != CONTINUE)
		return verdict;
	/* A host must not take a unicast datagram out of such a frame: RFC 1122, 3.3.6. */
	if (link.macs[0] & 1)
		return PASS_NOT_UNICAST;
	if (!decap_is_local(&decap))
		return PASS_NOT_LOCAL;
	if (settings.from && !prefixes_cover(&backend_from, &decap.source))
		return DROP_NOT_FROM;
	if (!decap.lengths_fit)
		return DROP_INNER_LENGTH;
	if (!ecn_decap(decap.ecn, decap.inner_ecn, &ecn))
		return DROP_ECN;
	if (ecn != decap.inner_ecn)
		decap_set_ecn(&decap, ecn);
	return shorten(ctx, &decap, &link);
}

SEC("xdp.frags")
int ringlb_backend(struct xdp_md *ctx)
{
	enum backend_verdict verdict = decapsulate(ctx);

	verdict_count(verdict);
	return (__u32)verdict < BACKEND_VERDICT_COUNT ? verdict_actions[verdict] : XDP_ABORTED;
}

/* What another filter may still have to say about the packet is not ours to cut off. */
SEC("tc")
int ringlb_clamp(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct clamp clamp = {};

	if (!clamp_read(data, end, &clamp))
		return TC_ACT_UNSPEC;
	if (prefixes_cover(&backend_vips, &clamp.source))
		verdict_count(clamp_lower(skb, &clamp));
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "GPL";
