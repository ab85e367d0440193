/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The model (interfaces, pools, backends, VIPs) and its YAML form.
 *
 * A struct config is either empty (all zero) or valid: config_read() and the
 * config_add/remove/set functions refuse whatever would make it invalid and then
 * leave it as it was. Nothing here touches the network or a map, prints or exits;
 * files are read and written only by config_read_file() and config_write_file().
 */
#ifndef RINGLB_CONFIG_CONFIG_H
#define RINGLB_CONFIG_CONFIG_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIG_NAME_MAX	      63
#define CONFIG_INTERFACES_MAX 64
#define CONFIG_POOLS_MAX      512
#define CONFIG_VIPS_MAX	      4096
#define CONFIG_BACKENDS_MAX   65535 /* over all pools */
/* Shorter prefixes would be all of the Internet or a slip of the pen. */
#define CONFIG_PREFIX_MIN_IPV4 8
#define CONFIG_PREFIX_MIN_IPV6 16
#define CONFIG_WEIGHT_ONE      1000
#define CONFIG_WEIGHT_MAX      (1000 * CONFIG_WEIGHT_ONE)
#define CONFIG_POSITIONS_MAX   (1U << 21) /* of one pool */
#define CONFIG_QUIC_CONFIGS    7
#define CONFIG_QUIC_ID_MAX     15
#define CONFIG_QUIC_CID_MAX    20	   /* of a whole connection id, in QUIC versions 1 and 2 */
#define CONFIG_QUIC_IDS_MAX    65535	   /* over all pools */
#define CONFIG_CHECK_TEXT_MAX  255	   /* bytes of each text in a health check */
#define CONFIG_FILE_MAX	       (64U << 20) /* bytes of a YAML file */

enum config_mode { CONFIG_NATIVE, CONFIG_GENERIC };
/* How a pool's backends get their arcs; docs/ring.md. */
enum config_placement { CONFIG_RING, CONFIG_CAPPED };

enum config_forward { CONFIG_DR, CONFIG_NAT, CONFIG_IPIP, CONFIG_GUE };

/* The outer UDP checksum of gue over IPv4; over IPv6 it is always there. */
enum config_gue_checksum { CONFIG_GUE_NONE, CONFIG_GUE_ZERO, CONFIG_GUE_FULL };

/* What a pool does when all its backends are down: as if all were up, or nothing. */
enum config_panic { CONFIG_PANIC_ALL, CONFIG_PANIC_NONE };

enum config_check_type {
	CONFIG_CHECK_NONE, /* no check: backends are always up */
	CONFIG_CHECK_TCP,
	CONFIG_CHECK_HTTP,
	CONFIG_CHECK_HTTPS,
	CONFIG_CHECK_UDP,
	CONFIG_CHECK_ICMP,
};

/* family is AF_INET or AF_INET6; bytes are in network byte order, IPv4 in the first 4. */
struct config_address {
	uint8_t family;
	uint8_t bytes[16];
};

/* The first @len bits of an address; the others are zero. */
struct config_prefix {
	struct config_address address;
	uint8_t len;
};

struct config_interface {
	char name[IFNAMSIZ];
	enum config_mode mode;
};

/*
 * A backend that drains has no arcs: it keeps its old flows and gets no new ones.
 * CONFIG_DRAIN_REMOVE: it leaves the configuration when they are gone.
 */
enum config_drain { CONFIG_NO_DRAIN, CONFIG_DRAIN_KEEP, CONFIG_DRAIN_REMOVE };

/* A server id in the connection ids of a QUIC backend; @len is 0 if there is none. */
struct config_quic_id {
	uint8_t len;
	uint8_t bytes[CONFIG_QUIC_ID_MAX];
};

/*
 * port is in host byte order; 0 keeps the packet's own. Only nat pools have one.
 * drain_until_s is UNIX time at which what still drains is cut off; 0: never.
 * quic_ids are by configuration.
 */
struct config_backend {
	char name[CONFIG_NAME_MAX + 1];
	struct config_address address;
	uint16_t port;
	uint32_t weight_milli;
	char rack[CONFIG_NAME_MAX + 1]; /* where it stands, "": nowhere in particular */
	enum config_drain drain;
	uint64_t drain_until_s;
	struct config_quic_id quic_ids[CONFIG_QUIC_CONFIGS];
};

/**
 * struct config_check - how the backends of a pool are checked
 * @type: if CONFIG_CHECK_NONE, no other field counts
 * @port: host byte order; 0: each backend's own. 0 with icmp
 * @path: of http and https; begins with '/', may have a query
 * @host: of http and https: name for the Host header and TLS; "": the backend's address
 * @expect_first, @expect_last: of http and https: status codes that are good
 * @body: of http and https: text that the answer must contain; "": any answer will do
 * @send: of udp: what is sent
 * @receive: of udp: text that the answer must contain; "": any answer will do
 * @interval_ms: from the start of one check to the start of the next, at most
 * @timeout_ms: at most @interval_ms
 * @rise, @fall: successes or failures in a row that change the state
 * @jitter_percent: each interval is shorter by a random part of it, up to this much
 *
 * Fields of other types are zero.
 */
struct config_check {
	enum config_check_type type;
	uint16_t port;
	char path[CONFIG_CHECK_TEXT_MAX + 1];
	char host[CONFIG_CHECK_TEXT_MAX + 1];
	uint16_t expect_first;
	uint16_t expect_last;
	char body[CONFIG_CHECK_TEXT_MAX + 1];
	char send[CONFIG_CHECK_TEXT_MAX + 1];
	char receive[CONFIG_CHECK_TEXT_MAX + 1];
	uint32_t interval_ms;
	uint32_t timeout_ms;
	uint32_t rise;
	uint32_t fall;
	uint32_t jitter_percent;
};

/*
 * gue_port, in host byte order, and gue_checksum are those of CONFIG_GUE, cells and
 * epsilon_milli those of CONFIG_CAPPED; 0 otherwise. mtu is of the whole way to the backends,
 * 0: that of the first link; mss_clamp is the largest MSS that SYNs may have, 0: any.
 * load_cap_milli and load_interval_ms are 0 if load has no cap.
 */
struct config_pool {
	char name[CONFIG_NAME_MAX + 1];
	enum config_forward forward;
	uint16_t gue_port;
	enum config_gue_checksum gue_checksum;
	uint16_t mtu;
	uint16_t mss_clamp;
	enum config_placement placement;
	uint32_t vnodes;
	uint32_t cells;
	uint32_t epsilon_milli;
	uint32_t load_cap_milli;
	uint32_t load_interval_ms;
	enum config_panic panic;
	struct config_check check;
	struct config_backend *backends;
	size_t n_backends;
};

/* What of a flow is hashed: a flow always finds the same backend by it. */
enum config_hash {
	CONFIG_HASH_FLOW,	      /* all five of the 5-tuple */
	CONFIG_HASH_SOURCE,	      /* the source address and nothing else */
	CONFIG_HASH_SOURCE_PORT_LESS, /* all but the source port */
};

/**
 * struct config_vip - what clients connect to
 * @address: of a prefix, the bits behind it are zero
 * @prefix_len: bits of a prefix, CONFIG_PREFIX_MIN_* to one less than the address has;
 *	0: the one address
 * @protocol: IPPROTO_TCP, IPPROTO_UDP or IPPROTO_SCTP
 * @port: host byte order; 0: any
 * @port_last: last port of a range, above @port; 0: no range
 *
 * A packet's VIP is, of those with its protocol and port whose prefix has its
 * destination, one of the longest prefix, and of these the one with the fewest ports.
 */
struct config_vip {
	struct config_address address;
	uint8_t prefix_len;
	uint8_t protocol;
	uint16_t port;
	uint16_t port_last;
	enum config_hash hash;
	char pool[CONFIG_NAME_MAX + 1];
};

/*
 * How flows in moving arcs are remembered: entries of each table, and times. All of a
 * valid model are above 0.
 */
struct config_flows {
	uint32_t established; /* TCP, both sides of the handshake seen after the change */
	uint32_t remembered;  /* TCP, older than the change */
	uint32_t embryonic;   /* TCP, only a SYN seen */
	uint32_t other;	      /* UDP, SCTP */
	uint32_t learn_tcp_ms;
	uint32_t learn_other_ms;
	uint32_t idle_tcp_ms;
	uint32_t idle_other_ms;
	uint32_t opening_ms;
	uint32_t closing_ms;
};

/* Where the outer sources of ipip and gue are taken from. */
struct config_encap {
	struct config_prefix source_ipv4;
	struct config_prefix source_ipv6;
};

struct config {
	uint64_t seed;
	struct config_flows flows;
	struct config_encap encap;
	struct config_interface *interfaces;
	size_t n_interfaces;
	struct config_pool *pools;
	size_t n_pools;
	struct config_vip *vips;
	size_t n_vips;
};

/**
 * struct config_error - why something was refused, for people
 * @line, @column: place in the YAML text from 1, or 0 if there is none
 * @what: one line without a final full stop: the field, the reason, the remedy;
 *	e.g. "pools[0].backends[2].weight must be 0 to 1000, got '-1'"
 */
struct config_error {
	size_t line;
	size_t column;
	char what[256];
};

/**
 * config_read() - parse and validate YAML text
 * @config: receives the model; config_release() it
 * @text: UTF-8, @len_bytes long
 *
 * Return: 0; -EINVAL with @error filled; -ENOMEM. On error @config is left as it was.
 */
int config_read(struct config *config, const char *text, size_t len_bytes,
		struct config_error *error);

/** config_read_file() - config_read() of a file; also -errno of open() and read() */
int config_read_file(struct config *config, const char *path, struct config_error *error);

/**
 * config_write_file() - write a model as YAML that config_read() takes back
 * @path: replaced atomically (temporary file beside it, fsync, rename); a new
 *	file gets mode 0600, as it holds the secret seed, an old one keeps its mode
 *
 * Return: 0; -EINVAL if @config is not valid; -errno. On error @error is filled,
 * @path is as it was and no temporary file is left behind; but if at last the
 * directory cannot be synced, the new file is in place already.
 */
int config_write_file(const struct config *config, const char *path, struct config_error *error);

/** config_release() - free what is inside; the struct is empty afterwards */
void config_release(struct config *config);

/** config_copy() - deep copy. Return: 0 or -ENOMEM, then @to is left as it was. */
int config_copy(struct config *to, const struct config *from);

/** config_equal() - true if both models say the same; order does not count */
bool config_equal(const struct config *a, const struct config *b);

/** config_check_equal() - true if both checks do the same */
bool config_check_equal(const struct config_check *a, const struct config_check *b);

/** config_find_pool() - the pool called @name, or NULL */
struct config_pool *config_find_pool(const struct config *config, const char *name);

/** config_find_backend() - the pool's backend called @name, or NULL */
struct config_backend *config_find_backend(const struct config_pool *pool, const char *name);

/** config_find_vip() - the VIP with this address, prefix, protocol and ports, or NULL */
struct config_vip *config_find_vip(const struct config *config, const struct config_vip *vip);

/**
 * Edits of a model. Each checks the whole result and, if it is refused, leaves
 * @config as it was.
 *
 * Return: 0; -EINVAL, -EEXIST or -ENOENT with @error filled (line 0); -ENOMEM.
 */
int config_add_vip(struct config *config, const struct config_vip *vip, struct config_error *error);
int config_remove_vip(struct config *config, const struct config_vip *vip,
		      struct config_error *error);
int config_add_backend(struct config *config, const char *pool,
		       const struct config_backend *backend, struct config_error *error);
int config_remove_backend(struct config *config, const char *pool, const char *name,
			  struct config_error *error);
int config_set_weight(struct config *config, const char *pool, const char *name,
		      uint32_t weight_milli, struct config_error *error);
int config_set_drain(struct config *config, const char *pool, const char *name,
		     enum config_drain drain, uint64_t until_s, struct config_error *error);

/**
 * config_pick_pool() - the pool that a command means
 * @pool: name given by the user, or NULL
 * @backend: backend that must be in it, or NULL
 * @out: receives a pointer into @config
 *
 * Without @pool: the only pool that has @backend or, without that too, the only
 * pool there is.
 *
 * Return: 0; -ENOENT or -EINVAL (several fit) with @error filled, naming them.
 */
int config_pick_pool(const struct config *config, const char *pool, const char *backend,
		     struct config_pool **out, struct config_error *error);

#endif
