/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "control/capture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "config/text.h"
#include "control/control.h"
#include "dataplane/capture.h"

#define NANOSECONDS 1000000000LL
#define READ_MS	    1000

struct control_capture {
	struct dataplane_capture *dataplane;
	int64_t epoch_ns; /* from monotonic time to time since 1970 */
	bool (*take)(void *context, const struct control_packet *packet);
	void *context;
};

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NANOSECONDS + now.tv_nsec;
}

/* Verdicts of this name, or whose action it is. Return: how many. */
static size_t add_verdict(const char *name, __u64 verdicts[VERDICTS_MAX / 64])
{
	size_t found = 0;

	for (int v = 0; v < VERDICT_COUNT; v++) {
		if (strcasecmp(name, verdict_name((enum verdict)v)) != 0 &&
		    strcasecmp(name, verdict_action((enum verdict)v)) != 0)
			continue;
		verdicts[v / 64] |= 1ULL << (v % 64);
		found++;
	}
	return found;
}

/* False with @bad set to what is no verdict. */
static bool read_verdicts(const char *list, __u64 verdicts[VERDICTS_MAX / 64],
			  char bad[CAPTURE_NAME_LEN])
{
	const char *comma;

	for (;; list = comma + 1) {
		comma = strchrnul(list, ',');
		snprintf(bad, CAPTURE_NAME_LEN, "%.*s", (int)(comma - list), list);
		if (!add_verdict(bad, verdicts))
			return false;
		if (!*comma)
			return true;
	}
}

bool control_capture_verdicts(const char *list, char bad[CAPTURE_NAME_LEN])
{
	__u64 verdicts[VERDICTS_MAX / 64] = {0};

	return read_verdicts(list, verdicts, bad);
}

static struct capture_peer peer_of(const struct config_prefix *prefix)
{
	struct capture_peer peer = {.family = control_endpoint(&prefix->address, 0, 0).family};
	uint8_t bits = prefix->len;

	for (size_t word = 0; word < 4; word++, bits -= bits < 32 ? bits : 32)
		peer.mask[word] = htonl(bits >= 32 ? UINT32_MAX : ~(uint32_t)(UINT32_MAX >> bits));
	memcpy(peer.address, prefix->address.bytes, sizeof(peer.address));
	return peer;
}

static int find_backend(const struct dataplane_capture *dataplane, const char *text, uint32_t *id,
			struct dataplane_error *error)
{
	const char *slash = strchr(text, '/');
	char pool[CAPTURE_NAME_LEN];
	int err;

	snprintf(pool, sizeof(pool), "%.*s", slash ? (int)(slash - text) : 0, text);
	err = dataplane_capture_find_backend(dataplane, slash ? pool : NULL,
					     slash ? slash + 1 : text, id);
	if (err)
		snprintf(error->what, sizeof(error->what),
			 err == -ENOTUNIQ ? "several pools have a backend '%s' (give POOL/NAME)"
					  : "there is no backend '%s'",
			 text);
	return err;
}

static int filter_of(const struct dataplane_capture *dataplane, const struct control_filter *from,
		     struct capture_filter *filter, struct dataplane_error *error)
{
	char bad[CAPTURE_NAME_LEN];

	*filter = (struct capture_filter){
		.last_port = UINT16_MAX,
		.backend = BACKEND_NONE,
		.protocol = from->protocol,
	};
	if (from->client.address.family)
		filter->client = peer_of(&from->client);
	if (from->vip.address.family)
		filter->vip = peer_of(&from->vip);
	if (from->port || from->port_last) {
		filter->first_port = from->port;
		filter->last_port = from->port_last ? from->port_last : from->port;
	}
	if (!from->verdicts)
		memset(filter->verdicts, 0xff, sizeof(filter->verdicts));
	else if (!read_verdicts(from->verdicts, filter->verdicts, bad))
		return -EINVAL; /* never: control_capture_verdicts() was asked */
	return from->backend ? find_backend(dataplane, from->backend, &filter->backend, error) : 0;
}

static int begin(struct control_capture *capture, const char *pin_dir,
		 const struct control_filter *from, struct dataplane_error *error)
{
	struct capture_filter filter;
	int err;

	err = dataplane_capture_open(&capture->dataplane, pin_dir, error);
	if (!err)
		err = filter_of(capture->dataplane, from, &filter, error);
	if (!err)
		err = dataplane_capture_begin(capture->dataplane, &filter, from->every, error);
	return err;
}

int control_capture_open(struct control_capture **out, const char *pin_dir,
			 const struct control_filter *filter, char error[CAPTURE_ERROR_LEN])
{
	struct control_capture *capture = calloc(1, sizeof(*capture));
	struct dataplane_error why = {0};
	int err = -ENOMEM;

	snprintf(why.what, sizeof(why.what), "out of memory");
	if (capture)
		err = begin(capture, pin_dir, filter, &why);
	if (err) {
		snprintf(error, CAPTURE_ERROR_LEN, "%s", why.what);
		control_capture_close(capture);
		return err;
	}
	capture->epoch_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
	*out = capture;
	return 0;
}

static struct control_peer peer(uint8_t family, const __be32 address[4], __be16 port)
{
	struct control_peer peer = {
		.address = {.family = family == ENDPOINT_IPV6 ? AF_INET6 : AF_INET},
		.port = ntohs(port),
	};

	memcpy(peer.address.bytes, address, sizeof(peer.address.bytes));
	return peer;
}

static void describe_flow(struct control_packet *packet, const struct captured *copy)
{
	const struct flow *flow = &copy->flow;
	__be16 port = copy->reply.port ? copy->reply.port : flow->source_port;

	packet->has_flow = copy->stages & CAPTURE_FLOW;
	packet->reply = copy->stages & CAPTURE_REPLY;
	packet->protocol = flow->protocol;
	packet->client = peer(flow->family, flow->source, flow->source_port);
	packet->vip = peer(flow->family, flow->destination, flow->destination_port);
	if (!packet->reply)
		return;
	packet->client = packet->vip;
	packet->vip = peer(flow->family, copy->reply.address, port);
}

/* A backend that has left has no name any more, but had this id. */
static void name_backend(const struct control_capture *capture, uint32_t id,
			 char out[CAPTURE_NAME_LEN])
{
	struct label label;

	out[0] = '\0';
	if (id == BACKEND_NONE)
		return;
	if (dataplane_capture_label(capture->dataplane, LABEL_BACKEND, id, &label))
		snprintf(out, CAPTURE_NAME_LEN, "#%u", id);
	else
		snprintf(out, CAPTURE_NAME_LEN, "%.63s/%.63s", label.pool, label.backend);
}

static void describe_choice(const struct control_capture *capture, struct control_packet *packet,
			    const struct captured *copy)
{
	struct label label;

	packet->hashed = copy->stages & CAPTURE_HASHED;
	if (!packet->hashed)
		return;
	if (!dataplane_capture_label(capture->dataplane, LABEL_POOL, copy->pool, &label))
		snprintf(packet->pool, sizeof(packet->pool), "%.63s", label.pool);
	packet->what = text_hash((enum config_hash)copy->what);
	packet->hash = copy->hash;
	packet->position = copy->position;
	packet->moving = copy->move.flags;
	name_backend(capture, copy->owner, packet->owner);
	if (packet->moving)
		name_backend(capture, copy->move.previous, packet->previous);
}

static const char *forward_name(uint8_t forward)
{
	switch (forward) {
	case FORWARD_DR:
		return text_forward(CONFIG_DR);
	case FORWARD_NAT:
		return text_forward(CONFIG_NAT);
	case FORWARD_IPIP:
		return text_forward(CONFIG_IPIP);
	case FORWARD_GUE:
		return text_forward(CONFIG_GUE);
	default:
		return NULL;
	}
}

static void describe_verdict(struct control_packet *packet, enum verdict verdict)
{
	const char *action = verdict_action(verdict);

	packet->verdict = verdict_name(verdict);
	packet->text = verdict_text(verdict);
	packet->sent = !strcmp(action, "TX") || !strcmp(action, "REDIRECT");
	if (!strcmp(action, "TX"))
		memcpy(packet->egress, packet->ingress, sizeof(packet->egress));
	else if (!packet->sent)
		packet->egress[0] = '\0';
}

static void name_interface(uint32_t ifindex, char out[IF_NAMESIZE])
{
	if (ifindex && !if_indextoname(ifindex, out))
		snprintf(out, IF_NAMESIZE, "if%u", ifindex);
}

static bool on_copy(void *context, const struct captured *copy)
{
	struct control_capture *capture = context;
	struct control_packet packet = {
		.number = copy->id,
		.came_ns = (uint64_t)((int64_t)copy->came_ns + capture->epoch_ns),
		.left_ns = (uint64_t)((int64_t)copy->left_ns + capture->epoch_ns),
		.ifindex = copy->ingress,
		.forward = forward_name(copy->forward),
		.flow_counts = copy->flow_counts,
		.quic_counts = copy->quic_counts,
		.in = {copy->in.frame_len, copy->in.len, copy->frames},
		.out = {copy->out.frame_len, copy->out.len, copy->frames + copy->in.len},
	};

	if (copy->verdict >= VERDICT_COUNT)
		return true;
	name_interface(copy->ingress, packet.ingress);
	name_interface(copy->egress, packet.egress);
	name_backend(capture, copy->backend, packet.backend);
	describe_flow(&packet, copy);
	describe_choice(capture, &packet, copy);
	describe_verdict(&packet, (enum verdict)copy->verdict);
	return capture->take(capture->context, &packet);
}

int control_capture_read(struct control_capture *capture,
			 bool (*take)(void *context, const struct control_packet *packet),
			 void *context)
{
	capture->take = take;
	capture->context = context;
	return dataplane_capture_read(capture->dataplane, READ_MS, on_copy, capture);
}

int control_capture_finish(struct control_capture *capture,
			   bool (*take)(void *context, const struct control_packet *packet),
			   void *context)
{
	capture->take = take;
	capture->context = context;
	return dataplane_capture_finish(capture->dataplane, on_copy, capture);
}

uint64_t control_capture_lost(const struct control_capture *capture)
{
	return dataplane_capture_lost(capture->dataplane);
}

void control_capture_close(struct control_capture *capture)
{
	if (!capture)
		return;
	dataplane_capture_close(capture->dataplane);
	free(capture);
}

const char *control_capture_counts(bool flow, uint8_t bits, char separator,
				   char out[CAPTURE_NAME_LEN])
{
	size_t len = 0;

	out[0] = '\0';
	for (int i = 0; i < (flow ? (int)FLOW_COUNT : (int)QUIC_COUNT); i++)
		if (bits >> i & 1)
			len += (size_t)snprintf(out + len, CAPTURE_NAME_LEN - len, "%.*s%s",
						len > 0, &separator,
						flow ? flow_count_name((enum flow_count)i)
						     : quic_count_name((enum quic_count)i));
	return out;
}
