/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "config/vip.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "config/fields.h"
#include "config/match.h"
#include "config/model.h"
#include "config/text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int parse_protocol(const char *text, void *out)
{
	return text_parse_protocol(text, out);
}

/* The first two write two members each, so their @out is the VIP. */
static int parse_vip_prefix(const char *text, void *out)
{
	struct config_vip *vip = out;

	return text_parse_prefix(text, &vip->address, &vip->prefix_len);
}

static int parse_vip_ports(const char *text, void *out)
{
	struct config_vip *vip = out;

	return text_parse_ports(text, &vip->port, &vip->port_last);
}

static int parse_hash(const char *text, void *out)
{
	return text_parse_hash(text, out);
}

static int parse_pool(const char *text, void *out)
{
	if (!text_is_name(text))
		return -EINVAL;
	memcpy(out, text, strlen(text) + 1);
	return 0;
}

#define AT(member) .offset = offsetof(struct config_vip, member)

static const struct config_field fields[] = {
	{.name = "address",
	 .required = true,
	 .parse = parse_vip_prefix,
	 .must = CONFIG_MUST_PREFIX},
	{.name = "protocol",
	 .required = true,
	 .parse = parse_protocol,
	 .must = CONFIG_MUST_PROTOCOL,
	 AT(protocol)},
	{.name = "port", .required = true, .parse = parse_vip_ports, .must = CONFIG_MUST_PORTS},
	{.name = "hash", .parse = parse_hash, .must = CONFIG_MUST_HASH, AT(hash)},
	{.name = "pool", .required = true, .parse = parse_pool, .must = CONFIG_MUST_NAME, AT(pool)},
};

int config_vip_read(yaml_document_t *document, const yaml_node_t *mapping, size_t index,
		    struct config_vip *vip, struct config_error *error)
{
	const struct config_place place = {.section = CONFIG_VIP, .index = index};

	return config_fields_read(document, mapping, &place, fields, COUNT(fields), vip, NULL,
				  error);
}

static const char *ipv4_flaw(const uint8_t bytes[4])
{
	uint32_t address = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
			   (uint32_t)bytes[2] << 8 | bytes[3];

	if (address == INADDR_ANY)
		return "the unspecified address";
	if (address == INADDR_BROADCAST)
		return "the broadcast address";
	if (IN_MULTICAST(address))
		return "a multicast address";
	if (bytes[0] == IN_LOOPBACKNET)
		return "a loopback address";
	return NULL;
}

static const char *ipv6_flaw(const uint8_t bytes[16])
{
	struct in6_addr address;

	memcpy(&address, bytes, sizeof(address));
	if (IN6_IS_ADDR_UNSPECIFIED(&address))
		return "the unspecified address";
	if (IN6_IS_ADDR_LOOPBACK(&address))
		return "a loopback address";
	if (IN6_IS_ADDR_MULTICAST(&address))
		return "a multicast address";
	if (IN6_IS_ADDR_LINKLOCAL(&address))
		return "a link-local address";
	if (IN6_IS_ADDR_V4MAPPED(&address))
		return "an IPv4 address mapped into IPv6";
	return NULL;
}

const char *config_address_flaw(const struct config_address *address)
{
	return address->family == AF_INET ? ipv4_flaw(address->bytes) : ipv6_flaw(address->bytes);
}

int config_address_validate(const struct config_validation *check, struct config_place place,
			    const struct config_address *address)
{
	char text[TEXT_ADDRESS_LEN];
	const char *flaw = NULL;

	place.field = "address";
	if (address->family != AF_INET && address->family != AF_INET6)
		return config_refuse(check, &place, CONFIG_MUST_ADDRESS);
	flaw = config_address_flaw(address);
	if (flaw)
		return config_refuse(check, &place, "must not be %s, got '%s'", flaw,
				     text_address(address, text));
	return 0;
}

/* Of blocks that are no VIPs, a prefix as long as it must be has the first or last address. */
static int check_prefix(const struct config_validation *check, struct config_place place)
{
	const struct config_vip *vip = &check->config->vips[place.index];
	struct config_address cut, last = vip->address;
	unsigned int bits = vip->prefix_len, all = vip->address.family == AF_INET ? 32 : 128;
	char text[TEXT_PREFIX_LEN], zeros[TEXT_PREFIX_LEN];
	const char *flaw;

	place.field = "address";
	if (bits < (all == 32 ? CONFIG_PREFIX_MIN_IPV4 : CONFIG_PREFIX_MIN_IPV6) || bits >= all)
		return config_refuse(check, &place, CONFIG_MUST_PREFIX);
	cut = config_address_cut(&vip->address, bits);
	if (config_address_compare(&cut, &vip->address))
		return config_refuse(check, &place,
				     "%s has bits set behind its first %u: the prefix is %s",
				     text_prefix(&vip->address, vip->prefix_len, text), bits,
				     text_prefix(&cut, vip->prefix_len, zeros));
	for (unsigned int bit = bits; bit < all; bit++)
		last.bytes[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	flaw = config_address_flaw(&last);
	if (flaw)
		return config_refuse(check, &place, "must not have %s, got '%s'", flaw,
				     text_prefix(&vip->address, vip->prefix_len, text));
	return 0;
}

static int check_ports(const struct config_validation *check, struct config_place place)
{
	const struct config_vip *vip = &check->config->vips[place.index];
	char text[TEXT_PORTS_LEN];

	place.field = "port";
	if (!vip->port_last || (vip->port && vip->port < vip->port_last))
		return 0;
	return config_refuse(check, &place, "%s, got '%s'",
			     vip->port ? "must be a range that ascends, or one port"
				       : "must be a range that starts at 1 or above",
			     text_ports(vip->port, vip->port_last, text));
}

static int refuse_vip_pool(const struct config_validation *check, struct config_place place)
{
	const struct config *config = check->config;
	struct config_guess guess = {.word = config->vips[place.index].pool};
	char hint[CONFIG_HINT_LEN];

	for (size_t i = 0; i < config->n_pools; i++)
		config_guess_offer(&guess, config->pools[i].name);
	place.field = "pool";
	return config_refuse(check, &place, "'%s' does not exist%s", guess.word,
			     config_guess_hint(&guess, hint));
}

int config_vip_validate(const struct config_validation *check, size_t index)
{
	const struct config_vip *vip = &check->config->vips[index];
	struct config_place place = {.section = CONFIG_VIP, .index = index};
	char quote[CONFIG_QUOTE_LEN];
	int err = config_address_validate(check, place, &vip->address);

	if (!err && vip->prefix_len)
		err = check_prefix(check, place);
	if (!err)
		err = check_ports(check, place);
	if (err)
		return err;
	if (vip->protocol != IPPROTO_TCP && vip->protocol != IPPROTO_UDP &&
	    vip->protocol != IPPROTO_SCTP) {
		place.field = "protocol";
		return config_refuse(check, &place, CONFIG_MUST_PROTOCOL ", got '%d'",
				     vip->protocol);
	}
	if (!text_is_name(vip->pool)) {
		place.field = "pool";
		return config_refuse(
			check, &place, CONFIG_MUST_NAME ", got %s",
			config_quote(vip->pool, strnlen(vip->pool, sizeof(vip->pool)), quote));
	}
	check->vip_pools[place.index] = config_find_pool(check->config, vip->pool);
	if (!check->vip_pools[place.index])
		return refuse_vip_pool(check, place);
	if (vip->hash < CONFIG_HASH_FLOW || vip->hash > CONFIG_HASH_SOURCE_PORT_LESS) {
		place.field = "hash";
		return config_refuse(check, &place, CONFIG_MUST_HASH);
	}
	return 0;
}
