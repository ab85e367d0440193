/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "config/text.h"
#include "control/change.h"
#include "control/why.h"

#define REMEDY_LEN 256

static void add_counter(json_t *counters, const char *kind, const char *name, uint64_t packets)
{
	json_array_append_new(counters, json_pack("{s:s, s:s, s:I}", "kind", kind, "name", name,
						  "packets", (json_int_t)packets));
}

static void add_verdict(struct api *api, json_t *counters, enum verdict verdict)
{
	uint64_t packets = 0;

	dataplane_count_verdict(api->control->dp, verdict, &packets);
	add_counter(counters, "verdict", verdict_name(verdict), packets);
}

/* What a packet to a VIP raises on its way to a backend. */
static void add_way(struct api *api, const struct api_lookup *lookup, uint32_t flow_counts,
		    json_t *counters)
{
	struct dataplane *dp = api->control->dp;
	struct counter count = {};
	char text[TEXT_ENDPOINT_LEN];
	uint64_t packets = 0;

	dataplane_count_vip(dp, ids_find(&api->control->vip_ids, text_vip(lookup->vip, text)),
			    &count);
	add_counter(counters, "vip", text, count.packets);
	if (lookup->query.cid_len) {
		dataplane_count_quic(dp, lookup->quic, &packets);
		add_counter(counters, "quic", quic_count_name(lookup->quic), packets);
	}
	for (int what = 0; what < FLOW_COUNT; what++) {
		if (!(flow_counts & 1U << what))
			continue;
		dataplane_count_flows(dp, what, &packets);
		add_counter(counters, "flows", flow_count_name(what), packets);
	}
}

static const struct nexthop *nexthop_of(const struct backend *backend)
{
	return &backend->nexthops[backend->active & 1];
}

/* As forward() of the program, for a packet that is as long as it may be. */
static enum verdict forward(struct dataplane *dp, const struct api_lookup *lookup, uint32_t id,
			    uint32_t ingress)
{
	const struct backend *backend = dataplane_get_backend(dp, id);
	uint32_t egress;

	if (lookup->found)
		return lookup->found == -ENODATA ? DROP_NO_RING : DROP_BAD_RING;
	if (id == BACKEND_NONE)
		return DROP_NO_BACKEND;
	if (!backend || !backend->forward)
		return DROP_BAD_RING;
	egress = nexthop_of(backend)->ifindex;
	if (!egress)
		return DROP_NO_NEXTHOP;
	if (backend->forward == FORWARD_NAT && backend->family != lookup->flow.family)
		return DROP_WRONG_FAMILY;
	if (!dataplane_may_leave(dp, ingress, egress))
		return DROP_NO_EGRESS;
	return ingress == egress ? TX_BACKEND : REDIRECT_BACKEND;
}

/* Why nobody of the pool takes a flow. */
static void no_backend_remedy(const struct api_lookup *lookup, char remedy[REMEDY_LEN])
{
	const struct config_pool *pool = lookup->pool;
	size_t down = 0, drains = 0;

	for (size_t b = 0; b < pool->n_backends; b++) {
		uint16_t member = ring_find_member(lookup->live->ring, pool->backends[b].name);

		down += lookup->live->down[member];
		drains += pool->backends[b].drain != CONFIG_NO_DRAIN;
	}
	if (!pool->n_backends)
		snprintf(remedy, REMEDY_LEN, "pool '%s' is empty: ringlb backend add", pool->name);
	else
		snprintf(remedy, REMEDY_LEN,
			 "of %zu backends of pool '%s' %zu are down and %zu drain, others have no "
			 "weight: ringlb backend list, undrain, weight",
			 pool->n_backends, pool->name, down, drains);
}

static void nexthop_remedy(const struct nexthop_info *info, const char *address,
			   char remedy[REMEDY_LEN])
{
	char via[TEXT_ADDRESS_LEN];

	switch (info->state) {
	case NEXTHOP_RESOLVING:
		snprintf(remedy, REMEDY_LEN, "no answer from %s: is it up? (ip neigh, ping)",
			 text_address(&info->via, via));
		return;
	case NEXTHOP_NO_ROUTE:
		snprintf(remedy, REMEDY_LEN, "give it a route (ip route get %s)", address);
		return;
	case NEXTHOP_LOCAL:
		snprintf(remedy, REMEDY_LEN, "%s is this host's own: a backend is another host",
			 address);
		return;
	case NEXTHOP_NOT_ETHERNET:
		snprintf(remedy, REMEDY_LEN, "reach %s by an interface with MAC addresses",
			 address);
		return;
	case NEXTHOP_RESOLVED:
		break;
	}
	snprintf(remedy, REMEDY_LEN, "ringlb reload");
}

/* What there is to do about it. */
static void find_remedy(const struct api_lookup *lookup, enum verdict verdict, uint16_t member,
			const char *egress, char remedy[REMEDY_LEN])
{
	const struct config_backend *backend;
	char address[TEXT_ADDRESS_LEN];

	switch (verdict) {
	case DROP_NO_BACKEND:
		no_backend_remedy(lookup, remedy);
		return;
	case DROP_NO_NEXTHOP:
		if (member == RING_NONE)
			break;
		backend =
			config_find_backend(lookup->pool, lookup->live->ring->members[member].name);
		nexthop_remedy(&lookup->live->nexthops[member],
			       text_address(&backend->address, address), remedy);
		return;
	case DROP_WRONG_FAMILY:
		snprintf(remedy, REMEDY_LEN,
			 "nat needs backends of the VIP's family: another pool, or forward: ipip");
		return;
	case DROP_NO_EGRESS:
		snprintf(remedy, REMEDY_LEN, "add '%s' to interfaces, and ringlb reload", egress);
		return;
	default:
		break;
	}
	snprintf(remedy, REMEDY_LEN, "ringlb reload");
}

/* Member `verdicts`: one for each interface that the packet may come in by. Return: the first. */
static enum verdict add_verdicts(struct api *api, const struct api_lookup *lookup, uint32_t id,
				 json_t *object, json_t *counters)
{
	const struct config *running = &api->control->running;
	json_t *list = json_array();
	enum verdict first = CONTINUE;
	bool counted[VERDICT_COUNT] = {};

	for (size_t i = 0; i < running->n_interfaces; i++) {
		const char *name = running->interfaces[i].name;
		enum verdict verdict = forward(api->control->dp, lookup, id, if_nametoindex(name));

		json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "interface", name,
						      "verdict", verdict_name(verdict), "text",
						      verdict_text(verdict)));
		if (!counted[verdict])
			add_verdict(api, counters, verdict);
		counted[verdict] = true;
		if (first == CONTINUE || verdict == DROP_NO_EGRESS)
			first = verdict;
	}
	json_object_set_new(object, "verdicts", list);
	return first;
}

/* What is known of the way to a backend: the rest of it is in api_lookup_place(). */
static void add_backend(const struct api_lookup *lookup, uint16_t member, json_t *object)
{
	const struct control_pool *live = lookup->live;
	const struct nexthop_info *info = &live->nexthops[member];
	const struct config_backend *backend =
		config_find_backend(lookup->pool, live->ring->members[member].name);
	uint16_t mtu = control_mtu(lookup->pool, info);
	char via[TEXT_ADDRESS_LEN];

	json_object_set_new(object, "backend", json_string(backend->name));
	api_lookup_place(lookup, member, object);
	json_object_set_new(object, "via",
			    info->ifindex ? json_string(text_address(&info->via, via))
					  : json_null());
	json_object_set_new(object, "longest",
			    mtu ? json_integer(mtu - control_overhead(lookup->pool, backend))
				: json_null());
}

/* The frame leaves by what is below a VLAN interface: the data plane knows. */
static const char *egress_name(struct dataplane *dp, uint32_t id, char name[IF_NAMESIZE])
{
	const struct backend *backend = dataplane_get_backend(dp, id);

	return backend && if_indextoname(nexthop_of(backend)->ifindex, name) ? name : "?";
}

static const char *by_text(const struct api_lookup *lookup, enum dataplane_by by)
{
	static const char *const texts[] = {
		[DATAPLANE_BY_OWNER] = "owner",
		[DATAPLANE_BY_PREVIOUS] = "previous",
		[DATAPLANE_BY_MEMORY] = "remembered",
	};

	return lookup->quic == QUIC_ID ? "connection-id" : texts[by];
}

static bool is_sent(enum verdict verdict)
{
	return verdict == TX_BACKEND || verdict == REDIRECT_BACKEND;
}

/* The backend counts what got as far as its interface. */
static bool is_counted(enum verdict verdict)
{
	return is_sent(verdict) || verdict == DROP_NO_EGRESS;
}

json_t *why_case(struct api *api, const struct api_lookup *lookup,
		 const struct dataplane_memory *memory, const char *packet, bool opens)
{
	bool tcp = lookup->query.protocol == IPPROTO_TCP;
	struct dataplane *dp = api->control->dp;
	struct dataplane_choice choice = {.backend = lookup->match.backend};
	json_t *object = json_object(), *counters = json_array();
	char remedy[REMEDY_LEN], name[IF_NAMESIZE];
	struct counter count = {};
	enum verdict verdict;
	uint16_t member;

	if (lookup->quic != QUIC_ID)
		choice = dataplane_choose(dp, &lookup->match, memory, tcp, opens);
	member = choice.backend == BACKEND_NONE ? RING_NONE
						: api_lookup_member(lookup, choice.backend);
	json_object_set_new(object, "packet", json_string(packet));
	json_object_set_new(object, "by", json_string(by_text(lookup, choice.by)));
	if (member != RING_NONE)
		add_backend(lookup, member, object);
	add_way(api, lookup, choice.flow_counts, counters);
	verdict = add_verdicts(api, lookup, choice.backend, object, counters);
	if (member != RING_NONE && is_counted(verdict)) {
		dataplane_count_backend(dp, choice.backend, &count);
		add_counter(counters, "backend", lookup->live->ring->members[member].name,
			    count.packets);
	}
	json_object_set_new(object, "counters", counters);
	json_object_set_new(object, "outcome", json_string(is_sent(verdict) ? "sent" : "dropped"));
	if (verdict == CONTINUE || is_sent(verdict))
		return object;
	find_remedy(lookup, verdict, member, egress_name(dp, choice.backend, name), remedy);
	json_object_set_new(object, "reason", json_string(verdict_text(verdict)));
	json_object_set_new(object, "remedy", json_string(remedy));
	return object;
}

/* Packets that the same becomes of, whatever they come in by. */
static json_t *other_case(struct api *api, const char *outcome, const char *remedy,
			  const enum verdict *verdicts, size_t n)
{
	json_t *counters = json_array();

	for (size_t i = 0; i < n; i++)
		add_verdict(api, counters, verdicts[i]);
	return json_pack("{s:s, s:s, s:s, s:s, s:o}", "packet", "any", "outcome", outcome, "reason",
			 verdict_text(verdicts[0]), "remedy", remedy, "counters", counters);
}

json_t *why_not_vip(struct api *api, const struct api_lookup *lookup)
{
	static const enum verdict verdicts[] = {PASS_NOT_VIP};
	struct config_vip vip = {
		.address = lookup->query.destination,
		.protocol = lookup->query.protocol,
		.port = lookup->query.destination_port,
	};
	char remedy[REMEDY_LEN], text[TEXT_ENDPOINT_LEN];

	snprintf(remedy, sizeof(remedy), "ringlb vip add %s --pool POOL makes it one",
		 text_vip(&vip, text));
	return other_case(api, "passed", remedy, verdicts, 1);
}

json_t *why_reply(struct api *api)
{
	static const enum verdict verdicts[] = {
		REDIRECT_REPLY,
		TX_REPLY,
		PASS_REPLY_BY_KERNEL,
		PASS_REPLY_NOT_ROUTED,
		PASS_REPLY_TTL,
		PASS_REPLY_TOO_BIG,
		PASS_REPLY_FORWARDING_OFF,
	};

	return other_case(api, "reply",
			  "ip route get DESTINATION says by which interface it leaves", verdicts,
			  sizeof(verdicts) / sizeof(verdicts[0]));
}
