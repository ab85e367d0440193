/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Values as people write them: addresses, ports, weights, protocols, endpoints.
 * Used by the YAML reader, the CLI's arguments and the control socket, so that
 * one spelling is accepted everywhere. Pure functions; nothing is allocated.
 * Parsers return 0 or -EINVAL and leave their outputs untouched on error.
 */
#ifndef RINGLB_CONFIG_TEXT_H
#define RINGLB_CONFIG_TEXT_H

#include <sys/socket.h>

#include "config/config.h"

#define TEXT_ADDRESS_LEN  46 /* as INET6_ADDRSTRLEN */
#define TEXT_PREFIX_LEN	  (TEXT_ADDRESS_LEN + 4)
#define TEXT_PORTS_LEN	  12
#define TEXT_ENDPOINT_LEN 80 /* of a VIP too */
#define TEXT_WEIGHT_LEN	  12
#define TEXT_DURATION_LEN 16
#define TEXT_MAC_LEN	  18

/* 32 or 128. */
static inline uint8_t text_address_bits(const struct config_address *address)
{
	return address->family == AF_INET ? 32 : 128;
}

/* "192.0.2.1" or "2001:db8::1"; no zone, no prefix length, no host name. */
int text_parse_address(const char *text, struct config_address *address);

/* An address with or without a length, whatever the bits behind that; without, all bits count. */
int text_split_prefix(const char *text, struct config_prefix *prefix);

/* "192.0.2.0/24", "192.0.2.1/32"; the length must be there. Refused if a bit behind the length is
 * set. */
int text_parse_network(const char *text, struct config_prefix *prefix);

/* True if the text would be a prefix but for such bits. */
bool text_is_prefix_of_host(const char *text);

/* "0" to "65535", decimal digits only. */
int text_parse_port(const char *text, uint16_t *port);

/* "0" to "1000" with at most three decimals: "1", "0.5", "1.25"; in thousandths. */
int text_parse_weight(const char *text, uint32_t *weight_milli);

/* "tcp", "udp" or "sctp". */
int text_parse_protocol(const char *text, uint8_t *protocol);

/* "192.0.2.1:80", "[2001:db8::1]:80", or an address alone, then *port is 0. */
int text_parse_endpoint(const char *text, struct config_address *address, uint16_t *port);

/*
 * What makes a VIP the one it is: "192.0.2.1:80/tcp", "[2001:db8::1]:1000-2000/udp",
 * "192.0.2.0/24:any/tcp", "[2001:db8::/64]:443/tcp". Its pool and hash are not touched.
 * That a range ascends and a prefix ends in zeros is for config/validate.h.
 */
int text_parse_vip(const char *text, struct config_vip *vip);

/* "192.0.2.1", "192.0.2.0/24", "2001:db8::/64". All bits of an address: *prefix_len is 0. */
int text_parse_prefix(const char *text, struct config_address *address, uint8_t *prefix_len);

/* "80", "1000-2000", "any" or "0"; in the terms of struct config_vip. */
int text_parse_ports(const char *text, uint16_t *port, uint16_t *port_last);

/* "5-tuple", "source" or "source-port-less". */
int text_parse_hash(const char *text, enum config_hash *hash);

/* 64 bits, decimal or 0x hexadecimal. */
int text_parse_seed(const char *text, uint64_t *seed);

/*
 * "250ms", "2s", "10m", "1h": a whole number and its unit, without a space; up to
 * UINT32_MAX ms. 0 needs a unit too.
 */
int text_parse_duration_ms(const char *text, uint32_t *duration_ms);

/* 1 to CONFIG_NAME_MAX letters, digits, '.', '_' and '-', starting with a letter or digit. */
bool text_is_name(const char *text);

/* Each fills @out and returns it, for use in a printf() argument. */
const char *text_address(const struct config_address *address, char out[TEXT_ADDRESS_LEN]);
const char *text_network(const struct config_prefix *prefix, char out[TEXT_PREFIX_LEN]);
const char *text_endpoint(const struct config_address *address, uint16_t port,
			  char out[TEXT_ENDPOINT_LEN]);
const char *text_vip(const struct config_vip *vip, char out[TEXT_ENDPOINT_LEN]);
const char *text_prefix(const struct config_address *address, uint8_t prefix_len,
			char out[TEXT_PREFIX_LEN]);
const char *text_ports(uint16_t port, uint16_t port_last, char out[TEXT_PORTS_LEN]);
const char *text_hash(enum config_hash hash);
const char *text_weight(uint32_t weight_milli, char out[TEXT_WEIGHT_LEN]);
const char *text_duration(uint32_t duration_ms, char out[TEXT_DURATION_LEN]);
const char *text_mac(const uint8_t mac[6], char out[TEXT_MAC_LEN]);
const char *text_protocol(uint8_t protocol);
const char *text_forward(enum config_forward forward);
const char *text_placement(enum config_placement placement);
const char *text_gue_checksum(enum config_gue_checksum checksum);
const char *text_mode(enum config_mode mode);
const char *text_panic(enum config_panic panic);
const char *text_check_type(enum config_check_type type);

#endif
