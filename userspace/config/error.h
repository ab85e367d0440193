/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How this room says what is wrong: places in a model, quoted values and hints.
 * Used inside config/, and by cli/ to quote values and to guess words. Nothing here
 * allocates; text that does not fit is cut.
 */
#ifndef RINGLB_CONFIG_ERROR_H
#define RINGLB_CONFIG_ERROR_H

#include "config/config.h"

#define CONFIG_QUOTE_LEN 80
#define CONFIG_HINT_LEN	 96
#define CONFIG_PLACE_LEN 128

/* The rules that the reader and the validator both have to state. */
_Static_assert(CONFIG_NAME_MAX == 63, "CONFIG_MUST_NAME");
_Static_assert(IFNAMSIZ == 16, "CONFIG_MUST_INTERFACE");
_Static_assert(CONFIG_PREFIX_MIN_IPV4 == 8 && CONFIG_PREFIX_MIN_IPV6 == 16, "CONFIG_MUST_PREFIX");
_Static_assert(CONFIG_POSITIONS_MAX == 2097152, "CONFIG_MUST_VNODES");
_Static_assert(CONFIG_WEIGHT_MAX == 1000 * CONFIG_WEIGHT_ONE, "CONFIG_MUST_WEIGHT");
#define CONFIG_MUST_NAME                                                                           \
	"must be 1 to 63 letters, digits, '.', '_' or '-', starting with a letter or digit"
#define CONFIG_MUST_INTERFACE "must be 1 to 15 bytes without '/', ':' or spaces"
#define CONFIG_MUST_MODE      "must be native or generic"
#define CONFIG_MUST_FORWARD   "must be nat, dr, ipip or gue"
#define CONFIG_MUST_GUE_PORT  "must be 1 to 65535"
#define CONFIG_MUST_CHECKSUM  "must be zero or full"
#define CONFIG_MUST_PANIC     "must be all or none"
#define CONFIG_MUST_PROTOCOL  "must be tcp, udp or sctp"
#define CONFIG_MUST_PREFIX                                                                         \
	"must be an IPv4 or IPv6 address, or a prefix: IPv4 /8 to /32, IPv6 /16 to /128"
#define CONFIG_MUST_PORTS   "must be 0 to 65535, any, or a range such as 1000-2000"
#define CONFIG_MUST_HASH    "must be 5-tuple, source or source-port-less"
#define CONFIG_MUST_ADDRESS "must be an IPv4 or IPv6 address"
#define CONFIG_MUST_VNODES  "must be 1 to 2097152"
#define CONFIG_MUST_WEIGHT  "must be 0 to 1000"

enum config_section {
	CONFIG_ROOT,
	CONFIG_INTERFACE,
	CONFIG_POOL,
	CONFIG_BACKEND,
	CONFIG_VIP,
};

/**
 * struct config_place - a part of a model
 * @section: kind of part
 * @pool: index of the backend's pool; of a CONFIG_BACKEND only
 * @index: in interfaces, pools, the pool's backends or vips
 * @field: name of a field of it, or NULL for the part itself
 */
struct config_place {
	enum config_section section;
	size_t pool;
	size_t index;
	const char *field;
};

/* Line and column from 1; 0 if there is no text. */
struct config_mark {
	size_t line;
	size_t column;
};

/* Fill @error, which may be NULL. Return: -EINVAL, to be returned by the caller. */
int config_error_set(struct config_error *error, struct config_mark mark, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* "pools[0].backends[2].weight": a place in a file, found by counting. */
const char *config_place_path(const struct config_place *place, char out[CONFIG_PLACE_LEN]);

/* "backend 'web4': weight": a place in a model, as users know it. */
const char *config_place_name(const struct config_place *place, const struct config *config,
			      char out[CONFIG_PLACE_LEN]);

/* @text in quotes, cut if long, on one line and safe to print whatever is in it. */
const char *config_quote(const char *text, size_t len, char out[CONFIG_QUOTE_LEN]);
const char *config_quote_long(const char *text, size_t len, char *out, size_t out_bytes);

/* Could the kernel have an interface of this name? It need not be terminated. */
bool config_interface_name_valid(const char name[IFNAMSIZ]);

/**
 * struct config_guess - the known word that is nearest to an unknown one
 * @word: what was written
 * @best: nearest word so far, or NULL if none is near
 * @distance: edits from @word to @best
 */
struct config_guess {
	const char *word;
	const char *best;
	size_t distance;
};

/* Take @candidate if it is near and nearer than what there is; it is not copied. */
void config_guess_offer(struct config_guess *guess, const char *candidate);

/* " (did you mean 'weight'?)", or "" if nothing is near. */
const char *config_guess_hint(const struct config_guess *guess, char out[CONFIG_HINT_LEN]);

#endif
