/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The model as YAML. Every field is written out, so that a file does not depend on defaults. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <yaml.h>

#include "config/encap.h"
#include "config/flows.h"
#include "config/model.h"
#include "config/quic.h"
#include "config/text.h"

/* @failed sticks: libyaml fails only for want of memory here, as all text is valid. */
struct writer {
	yaml_emitter_t emitter;
	char *text;
	size_t len;
	size_t room;
	bool failed;
};

static int append(void *context, unsigned char *bytes, size_t len)
{
	struct writer *writer = context;

	if (len > writer->room - writer->len) {
		size_t room = 2 * (writer->len + len);
		char *text = realloc(writer->text, room);

		if (!text)
			return 0;
		writer->text = text;
		writer->room = room;
	}
	memcpy(writer->text + writer->len, bytes, len);
	writer->len += len;
	return 1;
}

/* @ready: 0 if the event could not be made. libyaml frees the event in any other case. */
static void emit(struct writer *writer, yaml_event_t *event, int ready)
{
	if (writer->failed || !ready) {
		if (ready)
			yaml_event_delete(event);
		writer->failed = true;
		return;
	}
	if (!yaml_emitter_emit(&writer->emitter, event))
		writer->failed = true;
}

static void emit_value(struct writer *writer, const char *text, yaml_scalar_style_t style)
{
	yaml_event_t event;
	int ready = yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text,
						 (int)strlen(text), 1, 1, style);

	emit(writer, &event, ready);
}

static void emit_plain(struct writer *writer, const char *field, const char *text)
{
	emit_value(writer, field, YAML_PLAIN_SCALAR_STYLE);
	emit_value(writer, text, YAML_PLAIN_SCALAR_STYLE);
}

static void emit_quoted(struct writer *writer, const char *field, const char *text)
{
	emit_value(writer, field, YAML_PLAIN_SCALAR_STYLE);
	emit_value(writer, text, YAML_DOUBLE_QUOTED_SCALAR_STYLE);
}

/* Quoted where other readers of YAML 1.1 would see a number, a boolean or nothing. */
static void emit_name(struct writer *writer, const char *field, const char *name)
{
	static const char *const words[] = {"y",    "n",     "yes", "no",  "on",
					    "true", "false", "off", "null"};
	bool quoted = !isalpha((unsigned char)name[0]);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		quoted = quoted || !strcasecmp(name, words[i]);
	if (quoted)
		emit_quoted(writer, field, name);
	else
		emit_plain(writer, field, name);
}

/* 1:2:3:4:5:6:7:8 would be a number to base 60. */
static void emit_prefix(struct writer *writer, const struct config_address *address,
			uint8_t prefix_len)
{
	char text[TEXT_PREFIX_LEN];

	text_prefix(address, prefix_len, text);
	if (address->family == AF_INET6)
		emit_quoted(writer, "address", text);
	else
		emit_plain(writer, "address", text);
}

static void emit_number(struct writer *writer, const char *field, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	emit_plain(writer, field, text);
}

static void open_mapping(struct writer *writer)
{
	yaml_event_t event;

	emit(writer, &event,
	     yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE));
}

static void close_mapping(struct writer *writer)
{
	yaml_event_t event;

	emit(writer, &event, yaml_mapping_end_event_initialize(&event));
}

static void open_list(struct writer *writer, const char *field)
{
	yaml_event_t event;

	emit_value(writer, field, YAML_PLAIN_SCALAR_STYLE);
	emit(writer, &event,
	     yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
						  YAML_BLOCK_SEQUENCE_STYLE));
}

static void close_list(struct writer *writer)
{
	yaml_event_t event;

	emit(writer, &event, yaml_sequence_end_event_initialize(&event));
}

static void emit_backend(struct writer *writer, const struct config_backend *backend)
{
	char weight[TEXT_WEIGHT_LEN], quic[CONFIG_QUIC_TEXT_LEN];

	open_mapping(writer);
	emit_name(writer, "name", backend->name);
	emit_prefix(writer, &backend->address, 0);
	if (backend->port)
		emit_number(writer, "port", backend->port);
	emit_plain(writer, "weight", text_weight(backend->weight_milli, weight));
	if (*backend->rack)
		emit_name(writer, "rack", backend->rack);
	if (backend->drain != CONFIG_NO_DRAIN)
		emit_plain(writer, "drain",
			   backend->drain == CONFIG_DRAIN_KEEP ? "keep" : "remove");
	if (backend->drain_until_s)
		emit_number(writer, "drain_until", backend->drain_until_s);
	/* Quoted: 0:12 would be a number to base 60. */
	if (config_quic_given(backend->quic_ids))
		emit_quoted(writer, "quic_id", config_quic_text(backend->quic_ids, quic));
	close_mapping(writer);
}

static void emit_duration(struct writer *writer, const char *field, uint32_t duration_ms)
{
	char text[TEXT_DURATION_LEN];

	emit_plain(writer, field, text_duration(duration_ms, text));
}

/* A text that is not given is "". */
static void emit_text(struct writer *writer, const char *field, const char *text)
{
	if (*text)
		emit_quoted(writer, field, text);
}

static void emit_expect(struct writer *writer, const struct config_check *check)
{
	char text[16];

	if (!check->expect_last)
		return;
	snprintf(text, sizeof(text), "%d-%d", check->expect_first, check->expect_last);
	emit_plain(writer, "expect", text);
}

static void emit_check(struct writer *writer, const struct config_check *check)
{
	char jitter[16];

	emit_value(writer, "check", YAML_PLAIN_SCALAR_STYLE);
	open_mapping(writer);
	emit_plain(writer, "type", text_check_type(check->type));
	if (check->port)
		emit_number(writer, "port", check->port);
	emit_text(writer, "path", check->path);
	emit_text(writer, "host", check->host);
	emit_expect(writer, check);
	emit_text(writer, "body", check->body);
	emit_text(writer, "send", check->send);
	emit_text(writer, "receive", check->receive);
	emit_duration(writer, "interval", check->interval_ms);
	emit_duration(writer, "timeout", check->timeout_ms);
	emit_number(writer, "rise", check->rise);
	emit_number(writer, "fall", check->fall);
	snprintf(jitter, sizeof(jitter), "%" PRIu32 "%%", check->jitter_percent);
	emit_plain(writer, "jitter", jitter);
	close_mapping(writer);
}

static void emit_flows(struct writer *writer, const struct config_flows *flows)
{
	emit_value(writer, "flows", YAML_PLAIN_SCALAR_STYLE);
	open_mapping(writer);
	emit_number(writer, "established", flows->established);
	emit_number(writer, "remembered", flows->remembered);
	emit_number(writer, "embryonic", flows->embryonic);
	emit_number(writer, "other", flows->other);
	emit_duration(writer, "learn_tcp", flows->learn_tcp_ms);
	emit_duration(writer, "learn_other", flows->learn_other_ms);
	emit_duration(writer, "idle_tcp", flows->idle_tcp_ms);
	emit_duration(writer, "idle_other", flows->idle_other_ms);
	emit_duration(writer, "opening", flows->opening_ms);
	emit_duration(writer, "closing", flows->closing_ms);
	close_mapping(writer);
}

static void emit_network(struct writer *writer, const char *field,
			 const struct config_prefix *prefix)
{
	char text[TEXT_PREFIX_LEN];

	emit_plain(writer, field, text_network(prefix, text));
}

static void emit_encap(struct writer *writer, const struct config_encap *encap)
{
	emit_value(writer, "encap", YAML_PLAIN_SCALAR_STYLE);
	open_mapping(writer);
	emit_network(writer, "source_ipv4", &encap->source_ipv4);
	emit_network(writer, "source_ipv6", &encap->source_ipv6);
	close_mapping(writer);
}

static void emit_pool(struct writer *writer, const struct config_pool *pool)
{
	open_mapping(writer);
	emit_name(writer, "name", pool->name);
	emit_plain(writer, "forward", text_forward(pool->forward));
	emit_plain(writer, "placement", text_placement(pool->placement));
	if (pool->gue_port)
		emit_number(writer, "gue_port", pool->gue_port);
	if (pool->gue_checksum != CONFIG_GUE_NONE)
		emit_plain(writer, "gue_checksum", text_gue_checksum(pool->gue_checksum));
	if (pool->mtu)
		emit_number(writer, "mtu", pool->mtu);
	if (pool->mss_clamp)
		emit_number(writer, "mss_clamp", pool->mss_clamp);
	emit_number(writer, "vnodes", pool->vnodes);
	if (pool->placement == CONFIG_CAPPED) {
		char epsilon[TEXT_WEIGHT_LEN];

		emit_number(writer, "cells", pool->cells);
		emit_plain(writer, "epsilon", text_weight(pool->epsilon_milli, epsilon));
	}
	if (pool->load_cap_milli) {
		char cap[TEXT_WEIGHT_LEN];

		emit_plain(writer, "load_cap", text_weight(pool->load_cap_milli, cap));
		emit_duration(writer, "load_interval", pool->load_interval_ms);
	}
	emit_plain(writer, "panic", text_panic(pool->panic));
	if (pool->check.type != CONFIG_CHECK_NONE)
		emit_check(writer, &pool->check);
	open_list(writer, "backends");
	for (size_t i = 0; i < pool->n_backends; i++)
		emit_backend(writer, &pool->backends[i]);
	close_list(writer);
	close_mapping(writer);
}

static void emit_interface(struct writer *writer, const struct config_interface *interface)
{
	open_mapping(writer);
	emit_name(writer, "name", interface->name);
	emit_plain(writer, "mode", text_mode(interface->mode));
	close_mapping(writer);
}

static void emit_vip(struct writer *writer, const struct config_vip *vip)
{
	char ports[TEXT_PORTS_LEN];

	open_mapping(writer);
	emit_prefix(writer, &vip->address, vip->prefix_len);
	emit_plain(writer, "protocol", text_protocol(vip->protocol));
	emit_plain(writer, "port", text_ports(vip->port, vip->port_last, ports));
	emit_plain(writer, "hash", text_hash(vip->hash));
	emit_name(writer, "pool", vip->pool);
	close_mapping(writer);
}

static void emit_root(struct writer *writer, const struct config *config)
{
	char seed[sizeof("0x0123456789abcdef")];

	snprintf(seed, sizeof(seed), "0x%016" PRIx64, config->seed);
	open_mapping(writer);
	emit_plain(writer, "seed", seed);
	if (memcmp(&config->flows, &config_flows_default, sizeof(config->flows)) != 0)
		emit_flows(writer, &config->flows);
	if (memcmp(&config->encap, &config_encap_default, sizeof(config->encap)) != 0)
		emit_encap(writer, &config->encap);
	open_list(writer, "interfaces");
	for (size_t i = 0; i < config->n_interfaces; i++)
		emit_interface(writer, &config->interfaces[i]);
	close_list(writer);
	open_list(writer, "pools");
	for (size_t i = 0; i < config->n_pools; i++)
		emit_pool(writer, &config->pools[i]);
	close_list(writer);
	open_list(writer, "vips");
	for (size_t i = 0; i < config->n_vips; i++)
		emit_vip(writer, &config->vips[i]);
	close_list(writer);
	close_mapping(writer);
}

int config_format(const struct config *config, char **text, size_t *len_bytes)
{
	struct writer writer = {0};
	yaml_event_t event;

	if (!yaml_emitter_initialize(&writer.emitter))
		return -ENOMEM;
	yaml_emitter_set_output(&writer.emitter, append, &writer);
	emit(&writer, &event, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING));
	emit(&writer, &event, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1));
	emit_root(&writer, config);
	emit(&writer, &event, yaml_document_end_event_initialize(&event, 1));
	emit(&writer, &event, yaml_stream_end_event_initialize(&event));
	yaml_emitter_delete(&writer.emitter);
	if (writer.failed) {
		free(writer.text);
		return -ENOMEM;
	}
	*text = writer.text;
	*len_bytes = writer.len;
	return 0;
}
