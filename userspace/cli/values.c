/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/values.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "cli/cli.h"
#include "config/error.h"
#include "config/quic.h"
#include "config/text.h"

static bool refuse(const char *what, const char *must, const char *text)
{
	char quote[CONFIG_QUOTE_LEN];

	cli_error("%s %s, got %s", what, must, config_quote(text, strlen(text), quote));
	return false;
}

bool value_read_number(const char *what, const char *text, uint64_t least, uint64_t most,
		       uint64_t *out)
{
	char must[80];
	uint64_t number;

	if (!text)
		return true;
	if (!text_parse_seed(text, &number) && number >= least && number <= most) {
		*out = number;
		return true;
	}
	snprintf(must, sizeof(must), "must be a whole number from %" PRIu64 " to %" PRIu64, least,
		 most);
	return refuse(what, must, text);
}

bool value_is_name(const char *what, const char *text)
{
	return !text || text_is_name(text) || refuse(what, CONFIG_MUST_NAME, text);
}

bool value_is_weight(const char *text)
{
	const char *must = CONFIG_MUST_WEIGHT;
	uint32_t weight_milli;

	if (!text || !text_parse_weight(text, &weight_milli))
		return true;
	if (strchr(text, '.'))
		must = CONFIG_MUST_WEIGHT " with at most three decimals";
	return refuse("weight", must, text);
}

bool value_is_duration(const char *what, const char *text)
{
	uint32_t duration_ms;

	return !text || !text_parse_duration_ms(text, &duration_ms) ||
	       refuse(what, "must be a time such as 30s, 10m or 1h", text);
}

bool value_is_quic_id(const char *text)
{
	struct config_quic_id ids[CONFIG_QUIC_CONFIGS];
	char must[160];
	const char *hint;

	if (!text || !config_quic_parse(text, ids))
		return true;
	hint = config_quic_hint(text);
	snprintf(must, sizeof(must), CONFIG_MUST_QUIC "%s%s%s", hint ? " (" : "", hint ? hint : "",
		 hint ? ")" : "");
	return refuse("quic id", must, text);
}

bool value_read_quic_cid(const char *text, uint8_t cid[CONFIG_QUIC_CID_MAX], size_t *len)
{
	return !config_quic_parse_cid(text, cid, len) ||
	       refuse("quic cid", CONFIG_MUST_QUIC_CID, text);
}

bool value_is_vip(const char *text)
{
	struct config_vip vip;

	return !text_parse_vip(text, &vip) ||
	       refuse("VIP",
		      "must be like 192.0.2.10:80/tcp, [2001:db8::1]:443/udp or "
		      "192.0.2.0/24:1000-2000/tcp",
		      text);
}

bool value_read_network(const char *what, const char *text, struct config_prefix *prefix)
{
	struct config_prefix parsed;

	if (!text)
		return true;
	if (text_is_prefix_of_host(text))
		return refuse(what, "has bits set behind its length", text);
	if (text_split_prefix(text, &parsed))
		return refuse(what, "must be like 192.0.2.10, 192.0.2.0/24 or 2001:db8::/64", text);
	*prefix = parsed;
	return true;
}

bool value_is_hash(const char *text)
{
	enum config_hash hash;

	return !text || !text_parse_hash(text, &hash) || refuse("hash", CONFIG_MUST_HASH, text);
}

bool value_is_endpoint(const char *text)
{
	struct config_address address;
	uint16_t port;

	return !text_parse_endpoint(text, &address, &port) ||
	       refuse("address", "must be like 10.0.0.1, 10.0.0.1:8080 or [2001:db8::1]:8080",
		      text);
}

bool value_read_peer(const char *what, const char *text, struct config_address *address,
		     uint16_t *port)
{
	const char *must = "must be like 192.0.2.10:80 or [2001:db8::1]:80";
	struct config_address parsed;
	uint16_t number;

	if (text_parse_endpoint(text, &parsed, &number))
		return refuse(what, must, text);
	/* Port 0 stands for none too; here it has to be written. */
	if (!number && !strstr(text, "]:") && (parsed.family == AF_INET6 || !strchr(text, ':')))
		return refuse(what, must, text);
	*address = parsed;
	*port = number;
	return true;
}

bool value_read_protocol(const char *text, uint8_t *protocol)
{
	return !text_parse_protocol(text, protocol) ||
	       refuse("protocol", CONFIG_MUST_PROTOCOL, text);
}
