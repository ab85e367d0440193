/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "config/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DECIMALS 3 /* of a weight: log10(CONFIG_WEIGHT_ONE) */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_alphanumeric(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/*
 * Read a decimal number up to @max and return what follows it, or NULL. A sign
 * or a space is no digit, and 010 is refused: some would read it as octal.
 */
static const char *read_decimal(const char *text, uint64_t max, uint64_t *value)
{
	uint64_t sum = 0;

	if (!is_digit(*text) || (*text == '0' && is_digit(text[1])))
		return NULL;
	for (; is_digit(*text); text++) {
		unsigned int digit = (unsigned int)(*text - '0');

		if (sum > (max - digit) / 10)
			return NULL;
		sum = sum * 10 + digit;
	}
	*value = sum;
	return text;
}

int text_parse_address(const char *text, struct config_address *address)
{
	struct config_address parsed = {0};

	if (inet_pton(AF_INET, text, parsed.bytes) == 1)
		parsed.family = AF_INET;
	else if (inet_pton(AF_INET6, text, parsed.bytes) == 1)
		parsed.family = AF_INET6;
	else
		return -EINVAL;
	*address = parsed;
	return 0;
}

int text_split_prefix(const char *text, struct config_prefix *prefix)
{
	const char *slash = strchrnul(text, '/'), *end;
	char host[TEXT_ADDRESS_LEN];
	struct config_prefix parsed;
	uint64_t len;

	if ((size_t)(slash - text) >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, (size_t)(slash - text));
	host[slash - text] = '\0';
	if (text_parse_address(host, &parsed.address))
		return -EINVAL;
	len = text_address_bits(&parsed.address);
	if (*slash) {
		end = read_decimal(slash + 1, len, &len);
		if (!end || *end)
			return -EINVAL;
	}
	parsed.len = (uint8_t)len;
	*prefix = parsed;
	return 0;
}

static bool ends_in_zeros(const struct config_prefix *prefix)
{
	for (uint8_t bit = prefix->len; bit < text_address_bits(&prefix->address); bit++)
		if (prefix->address.bytes[bit / 8] & 0x80 >> bit % 8)
			return false;
	return true;
}

int text_parse_network(const char *text, struct config_prefix *prefix)
{
	struct config_prefix parsed;

	if (!strchr(text, '/') || text_split_prefix(text, &parsed) || !ends_in_zeros(&parsed))
		return -EINVAL;
	*prefix = parsed;
	return 0;
}

bool text_is_prefix_of_host(const char *text)
{
	struct config_prefix prefix;

	return !text_split_prefix(text, &prefix) && !ends_in_zeros(&prefix);
}

int text_parse_port(const char *text, uint16_t *port)
{
	uint64_t value;
	const char *end = read_decimal(text, UINT16_MAX, &value);

	if (!end || *end)
		return -EINVAL;
	*port = (uint16_t)value;
	return 0;
}

int text_parse_weight(const char *text, uint32_t *weight_milli)
{
	uint64_t value, milli = 0;
	const char *end = read_decimal(text, CONFIG_WEIGHT_MAX / CONFIG_WEIGHT_ONE, &value);
	int decimals = 0;

	if (!end)
		return -EINVAL;
	if (*end == '.') {
		for (end++; is_digit(*end); end++, decimals++) {
			if (decimals == DECIMALS)
				return -EINVAL;
			milli = milli * 10 + (unsigned int)(*end - '0');
		}
		if (!decimals)
			return -EINVAL;
		for (; decimals < DECIMALS; decimals++)
			milli *= 10;
	}
	value = value * CONFIG_WEIGHT_ONE + milli;
	if (*end || value > CONFIG_WEIGHT_MAX)
		return -EINVAL;
	*weight_milli = (uint32_t)value;
	return 0;
}

int text_parse_seed(const char *text, uint64_t *seed)
{
	const char *end;
	uint64_t value = 0;

	if (text[0] != '0' || (text[1] != 'x' && text[1] != 'X')) {
		end = read_decimal(text, UINT64_MAX, &value);
		if (!end || *end)
			return -EINVAL;
		*seed = value;
		return 0;
	}
	text += 2;
	if (strlen(text) < 1 || strlen(text) > 16)
		return -EINVAL;
	for (; *text; text++) {
		static const char digits[] = "0123456789abcdef";
		/* Sets the bit that tells lower case from upper; digits have it already. */
		const char *digit = strchr(digits, *text | 0x20);

		if (!digit || !is_alphanumeric(*text))
			return -EINVAL;
		value = value << 4 | (uint64_t)(digit - digits);
	}
	*seed = value;
	return 0;
}

/*
 * An IPv6 address has to stand in brackets to have a port, as its own colons would
 * hide the one in front of it.
 */
int text_parse_endpoint(const char *text, struct config_address *address, uint16_t *port)
{
	char copy[TEXT_ENDPOINT_LEN];
	struct config_address parsed;
	char *host = copy, *end, *colon;
	uint16_t number = 0;

	if (strlen(text) >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, strlen(text) + 1);

	colon = strchr(copy, ':');
	if (copy[0] == '[') {
		end = strchr(++host, ']');
		if (!end || (end[1] && end[1] != ':'))
			return -EINVAL;
		*end = '\0';
		colon = end[1] ? end + 1 : NULL;
	} else if (colon && strchr(colon + 1, ':')) {
		colon = NULL;
	}
	if (colon) {
		*colon = '\0';
		if (text_parse_port(colon + 1, &number))
			return -EINVAL;
	}
	if (text_parse_address(host, &parsed))
		return -EINVAL;
	if (copy[0] == '[' && parsed.family != AF_INET6)
		return -EINVAL;
	*address = parsed;
	*port = number;
	return 0;
}

struct unit {
	const char *name;
	uint32_t ms;
};

/* Longest first, so that the first that divides a duration is the one to print. */
static const struct unit units[] = {{"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};

int text_parse_duration_ms(const char *text, uint32_t *duration_ms)
{
	uint64_t value;
	const char *end = read_decimal(text, UINT32_MAX, &value);

	for (size_t i = 0; end && i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].name) != 0)
			continue;
		if (value > UINT32_MAX / units[i].ms)
			return -EINVAL;
		*duration_ms = (uint32_t)value * units[i].ms;
		return 0;
	}
	return -EINVAL;
}

bool text_is_name(const char *text)
{
	size_t len = strnlen(text, CONFIG_NAME_MAX + 1);

	if (len < 1 || len > CONFIG_NAME_MAX || !is_alphanumeric(text[0]))
		return false;
	for (size_t i = 1; i < len; i++)
		if (!is_alphanumeric(text[i]) && !strchr("._-", text[i]))
			return false;
	return true;
}

const char *text_address(const struct config_address *address, char out[TEXT_ADDRESS_LEN])
{
	if (!inet_ntop(address->family, address->bytes, out, TEXT_ADDRESS_LEN))
		snprintf(out, TEXT_ADDRESS_LEN, "?");
	return out;
}

const char *text_network(const struct config_prefix *prefix, char out[TEXT_PREFIX_LEN])
{
	return text_prefix(&prefix->address, prefix->len, out);
}

const char *text_endpoint(const struct config_address *address, uint16_t port,
			  char out[TEXT_ENDPOINT_LEN])
{
	char host[TEXT_ADDRESS_LEN];

	text_address(address, host);
	if (!port)
		snprintf(out, TEXT_ENDPOINT_LEN, "%s", host);
	else if (address->family == AF_INET6)
		snprintf(out, TEXT_ENDPOINT_LEN, "[%s]:%" PRIu16, host, port);
	else
		snprintf(out, TEXT_ENDPOINT_LEN, "%s:%" PRIu16, host, port);
	return out;
}

const char *text_weight(uint32_t weight_milli, char out[TEXT_WEIGHT_LEN])
{
	uint32_t milli = weight_milli % CONFIG_WEIGHT_ONE;
	int len = snprintf(out, TEXT_WEIGHT_LEN, "%" PRIu32 ".%03" PRIu32,
			   weight_milli / CONFIG_WEIGHT_ONE, milli);

	while (out[len - 1] == '0')
		out[--len] = '\0';
	if (out[len - 1] == '.')
		out[--len] = '\0';
	return out;
}

const char *text_duration(uint32_t duration_ms, char out[TEXT_DURATION_LEN])
{
	const struct unit *unit = units;

	/* 0 is a number of seconds. */
	while (duration_ms ? duration_ms % unit->ms : unit->ms > 1000)
		unit++;
	snprintf(out, TEXT_DURATION_LEN, "%" PRIu32 "%s", duration_ms / unit->ms, unit->name);
	return out;
}

const char *text_forward(enum config_forward forward)
{
	switch (forward) {
	case CONFIG_DR:
		return "dr";
	case CONFIG_NAT:
		return "nat";
	case CONFIG_IPIP:
		return "ipip";
	case CONFIG_GUE:
		return "gue";
	}
	return "?";
}

const char *text_gue_checksum(enum config_gue_checksum checksum)
{
	switch (checksum) {
	case CONFIG_GUE_NONE:
		return "none";
	case CONFIG_GUE_ZERO:
		return "zero";
	case CONFIG_GUE_FULL:
		return "full";
	}
	return "?";
}

const char *text_placement(enum config_placement placement)
{
	switch (placement) {
	case CONFIG_RING:
		return "ring";
	case CONFIG_CAPPED:
		return "capped";
	}
	return "?";
}

const char *text_mode(enum config_mode mode)
{
	switch (mode) {
	case CONFIG_NATIVE:
		return "native";
	case CONFIG_GENERIC:
		return "generic";
	}
	return "?";
}

const char *text_panic(enum config_panic panic)
{
	switch (panic) {
	case CONFIG_PANIC_ALL:
		return "all";
	case CONFIG_PANIC_NONE:
		return "none";
	}
	return "?";
}

const char *text_check_type(enum config_check_type type)
{
	switch (type) {
	case CONFIG_CHECK_NONE:
		return "none";
	case CONFIG_CHECK_TCP:
		return "tcp";
	case CONFIG_CHECK_HTTP:
		return "http";
	case CONFIG_CHECK_HTTPS:
		return "https";
	case CONFIG_CHECK_UDP:
		return "udp";
	case CONFIG_CHECK_ICMP:
		return "icmp";
	}
	return "?";
}

const char *text_mac(const uint8_t mac[6], char out[TEXT_MAC_LEN])
{
	snprintf(out, TEXT_MAC_LEN, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
		 mac[4], mac[5]);
	return out;
}
