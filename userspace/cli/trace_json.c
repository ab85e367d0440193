/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/trace_json.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/trace_ends.h"

#define HEX64_LEN 19

static void set_text(json_t *object, const char *member, const char *text)
{
	if (text && *text)
		json_object_set_new(object, member, json_string(text));
}

static void set_hex64(json_t *object, const char *member, uint64_t value)
{
	char text[HEX64_LEN];

	snprintf(text, sizeof(text), "0x%016" PRIx64, value);
	json_object_set_new(object, member, json_string(text));
}

static void set_peer(json_t *object, const char *member, const struct control_peer *peer)
{
	char text[TEXT_ENDPOINT_LEN];

	set_text(object, member, text_endpoint(&peer->address, peer->port, text));
}

static void set_frame(json_t *object, const char *member, const struct control_frame *frame)
{
	const struct trace_ends ends = trace_ends(frame);
	json_t *value = json_object();

	json_object_set_new(value, "length", json_integer(frame->frame_len));
	set_text(value, "mac", ends.mac);
	set_text(value, "source", ends.source);
	set_text(value, "destination", ends.destination);
	if (ends.is_ip)
		json_object_set_new(value, "protocol", json_integer(ends.protocol));
	json_object_set_new(object, member, value);
}

static json_t *counts_json(bool flow, uint8_t bits)
{
	json_t *array = json_array();
	char name[CAPTURE_NAME_LEN];

	for (int i = 0; i < 8; i++)
		if (bits >> i & 1)
			json_array_append_new(array, json_string(control_capture_counts(
							     flow, (uint8_t)(1 << i), ' ', name)));
	return array;
}

static void set_choice(json_t *object, const struct control_packet *packet)
{
	if (packet->quic_counts)
		json_object_set_new(object, "quic", counts_json(false, packet->quic_counts));
	if (!packet->hashed)
		return;
	set_text(object, "pool", packet->pool);
	set_text(object, "hashed", packet->what);
	set_hex64(object, "hash", packet->hash);
	set_hex64(object, "position", packet->position);
	set_text(object, "owner", packet->owner);
	json_object_set_new(object, "moving", json_boolean(packet->moving));
	if (!packet->moving)
		return;
	set_text(object, "previous", packet->previous);
	json_object_set_new(object, "flow", counts_json(true, packet->flow_counts));
}

json_t *trace_json(const struct control_packet *packet)
{
	json_t *object = json_pack("{s:I, s:I, s:I, s:s}", "packet", (json_int_t)packet->number,
				   "time_ns", (json_int_t)packet->came_ns, "took_ns",
				   (json_int_t)(packet->left_ns - packet->came_ns), "interface",
				   packet->ingress);

	if (!object)
		return NULL;
	if (packet->has_flow) {
		json_object_set_new(object, "protocol", json_integer(packet->protocol));
		set_peer(object, "client", &packet->client);
		set_peer(object, "vip", &packet->vip);
		json_object_set_new(object, "reply", json_boolean(packet->reply));
	}
	set_choice(object, packet);
	set_text(object, "backend", packet->backend);
	set_text(object, "forward", packet->forward);
	set_text(object, "egress", packet->egress);
	set_text(object, "verdict", packet->verdict);
	set_text(object, "text", packet->text);
	set_frame(object, "in", &packet->in);
	set_frame(object, "out", &packet->out);
	return object;
}
