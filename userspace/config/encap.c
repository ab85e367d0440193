/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "config/encap.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "config/fields.h"
#include "config/text.h"
#include "config/validate.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define PREFIX_MIN 8

#define MUST_IPV4 "must be an IPv4 prefix of /8 to /32, as in 198.18.0.0/16"
#define MUST_IPV6 "must be an IPv6 prefix of /8 to /128, as in 2001:db8:0:1::/64"

/* Nobody else's: for benchmarks (RFC 2544), and to be discarded (RFC 6666). */
const struct config_encap config_encap_default = {
	.source_ipv4 = {{AF_INET, {198, 18}}, 16},
	.source_ipv6 = {{AF_INET6, {1}}, 64},
};

static int parse_prefix(const char *text, int family, struct config_prefix *out)
{
	struct config_prefix prefix;

	if (text_parse_network(text, &prefix) || prefix.address.family != family ||
	    prefix.len < PREFIX_MIN || config_address_flaw(&prefix.address))
		return -EINVAL;
	*out = prefix;
	return 0;
}

static int parse_ipv4(const char *text, void *out)
{
	return parse_prefix(text, AF_INET, out);
}

static int parse_ipv6(const char *text, void *out)
{
	return parse_prefix(text, AF_INET6, out);
}

static const char *hint_prefix(const char *text)
{
	struct config_address address;
	struct config_prefix prefix;

	if (!text_parse_address(text, &address))
		return address.family == AF_INET ? "for this one address, append /32"
						 : "for this one address, append /128";
	if (text_parse_network(text, &prefix))
		return text_is_prefix_of_host(text) ? "it has bits set behind its length" : NULL;
	return config_address_flaw(&prefix.address);
}

#define SOURCE(family, must_be)                                                                    \
	{.name = "source_" #family,                                                                \
	 .parse = parse_##family,                                                                  \
	 .must = (must_be),                                                                        \
	 .hint = hint_prefix,                                                                      \
	 .offset = offsetof(struct config_encap, source_##family)}

static const struct config_field fields[] = {
	SOURCE(ipv4, MUST_IPV4),
	SOURCE(ipv6, MUST_IPV6),
};

int config_encap_read(yaml_document_t *document, const yaml_node_t *mapping,
		      struct config_encap *encap, struct config_error *error)
{
	const struct config_place place = {.section = CONFIG_ROOT, .field = "encap"};

	return config_fields_read(document, mapping, &place, fields, COUNT(fields), encap, NULL,
				  error);
}
