/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/trace_line.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/trace_ends.h"

#define NANOSECONDS UINT64_C(1000000000)

struct line {
	char *text;
	size_t len;
};

static void add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct line *line, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	line->len += (size_t)vsnprintf(line->text + line->len, TRACE_LINE_LEN - line->len, format,
				       arguments);
	va_end(arguments);
	if (line->len >= TRACE_LINE_LEN)
		line->len = TRACE_LINE_LEN - 1;
}

static void add_time(struct line *line, uint64_t time_ns)
{
	const time_t seconds = (time_t)(time_ns / NANOSECONDS);
	struct tm local;
	char text[16];

	localtime_r(&seconds, &local);
	strftime(text, sizeof(text), "%H:%M:%S", &local);
	add(line, "%s.%06" PRIu64, text, time_ns % NANOSECONDS / 1000);
}

static const char *protocol_name(uint8_t protocol, char out[8])
{
	const char *known = text_protocol(protocol);

	if (strcmp(known, "?") != 0)
		return known;
	snprintf(out, 8, "ip %u", protocol);
	return out;
}

/* Of a reply, the backend that it came from is in the frame. */
static void add_flow(struct line *line, const struct control_packet *packet)
{
	const struct trace_ends in = trace_ends(&packet->in);
	char client[TEXT_ENDPOINT_LEN], vip[TEXT_ENDPOINT_LEN], protocol[8];

	text_endpoint(&packet->client.address, packet->client.port, client);
	text_endpoint(&packet->vip.address, packet->vip.port, vip);
	if (!packet->has_flow && in.is_ip)
		add(line, " %s %s > %s", protocol_name(in.protocol, protocol), in.source,
		    in.destination);
	else if (!packet->has_flow)
		add(line, " ethertype 0x%04x", in.type);
	else if (packet->reply)
		add(line, " %s reply %s > %s", text_protocol(packet->protocol), in.source, client);
	else
		add(line, " %s %s > %s", protocol_name(packet->protocol, protocol), client, vip);
	/* The flow of an ICMP error is that of the packet that it quotes. */
	if (packet->has_flow && in.is_ip && in.protocol != packet->protocol &&
	    (in.protocol == IPPROTO_ICMP || in.protocol == IPPROTO_ICMPV6))
		add(line, " quoted in icmp from %s", in.source);
}

static void add_choice(struct line *line, const struct control_packet *packet)
{
	char counts[CAPTURE_NAME_LEN];

	if (packet->quic_counts)
		add(line, " | quic %s",
		    control_capture_counts(false, packet->quic_counts, '+', counts));
	if (!packet->hashed)
		return;
	add(line, " | hash 0x%016" PRIx64 " (%s) arc 0x%016" PRIx64 " owner %s", packet->hash,
	    packet->what, packet->position, packet->owner[0] ? packet->owner : "none");
	if (!packet->moving)
		return;
	add(line, " | moving from %s", packet->previous[0] ? packet->previous : "nobody");
	if (packet->flow_counts)
		add(line, ": %s", control_capture_counts(true, packet->flow_counts, '+', counts));
}

/* Where it was sent, by the frame that left. */
static void add_way(struct line *line, const struct control_packet *packet)
{
	const struct trace_ends out = trace_ends(&packet->out);
	bool tunnel = packet->forward && (!strcmp(packet->forward, text_forward(CONFIG_IPIP)) ||
					  !strcmp(packet->forward, text_forward(CONFIG_GUE)));

	if (packet->backend[0])
		add(line, " | to %s", packet->backend);
	if (packet->forward)
		add(line, " by %s", packet->forward);
	if (packet->backend[0] && packet->sent && (tunnel || strcmp(packet->forward, "dr") != 0))
		add(line, " %s > %s", out.source, out.destination);
	if (packet->reply && packet->sent)
		add(line, " | as %s > %s", out.source, out.destination);
	if (!packet->sent)
		return;
	add(line, " | out");
	if (packet->egress[0])
		add(line, " %s", packet->egress);
	add(line, " %s", out.mac);
}

const char *trace_line(const struct control_packet *packet, char out[TRACE_LINE_LEN])
{
	struct line line = {.text = out};

	add_time(&line, packet->came_ns);
	add(&line, " %s", packet->ingress);
	add_flow(&line, packet);
	add_choice(&line, packet);
	add_way(&line, packet);
	add(&line, " | %s", packet->verdict);
	if (!packet->sent)
		add(&line, ": %s", packet->text);
	return out;
}

const char *trace_comment(const struct control_packet *packet, char out[TRACE_LINE_LEN])
{
	struct line line = {.text = out};

	add(&line, "packet %u: %s: %s", packet->number, packet->verdict, packet->text);
	add_choice(&line, packet);
	if (packet->backend[0])
		add(&line, " | to %s", packet->backend);
	if (packet->forward)
		add(&line, " by %s", packet->forward);
	return out;
}
