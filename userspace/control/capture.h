/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Packets as the live program sees them, in terms of people: `ringlb capture` and `trace`. */
#ifndef RINGLB_CONTROL_CAPTURE_H
#define RINGLB_CONTROL_CAPTURE_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"

#define CAPTURE_ERROR_LEN 256
#define CAPTURE_NAME_LEN  128 /* "pool/backend" */

struct control_capture;

/**
 * struct control_filter - which packets are wanted; all that is zero or NULL lets any through
 * @client, @vip: whose family is 0 if any will do
 * @protocol, @port, @port_last: of the VIP; @port_last is not 0 if it is a range
 * @backend: "NAME" or "POOL/NAME"
 * @verdicts: for which control_capture_verdicts() is true
 * @every: one in so many of those that the others let through; at least 1
 */
struct control_filter {
	struct config_prefix client;
	struct config_prefix vip;
	uint8_t protocol;
	uint16_t port;
	uint16_t port_last;
	const char *backend;
	const char *verdicts;
	uint32_t every;
};

/* A frame of @frame_len bytes, of which @len are in @bytes. */
struct control_frame {
	uint32_t frame_len;
	uint32_t len;
	const uint8_t *bytes;
};

struct control_peer {
	struct config_address address;
	uint16_t port;
};

/**
 * struct control_packet - what happened to a packet
 * @number: from 1 on, among those that the filter let through
 * @came_ns, @left_ns: since 1970
 * @ingress, @egress: names of interfaces; @egress is empty if it is not known
 * @verdict, @text: what became of it, "TX_BACKEND" and a line
 * @sent: left by way of the program, not dropped and not handed to the kernel
 * @has_flow: @client, @vip and @protocol were read; of an ICMP error, those that it quotes
 * @reply: from a nat backend, so @vip is whose face it got
 * @backend: it was sent to, "pool/name"; empty if none was chosen
 * @forward: to that one: "ipip"; NULL if it is not known
 * @hashed: the ring was asked, and said what follows: of @pool, by @what, @hash is in the arc
 *          that ends at @position and is @owner's
 * @moving: the arc is, and was @previous's; empty: nobody's
 * @flow_counts, @quic_counts: a bit for each counter that it raised
 * @in, @out: the frame, as it came and as it left
 */
struct control_packet {
	uint32_t number;
	uint64_t came_ns;
	uint64_t left_ns;
	uint32_t ifindex;
	char ingress[IF_NAMESIZE];
	char egress[IF_NAMESIZE];
	const char *verdict;
	const char *text;
	bool sent;
	bool has_flow;
	bool reply;
	bool hashed;
	bool moving;
	uint8_t protocol;
	struct control_peer client;
	struct control_peer vip;
	char backend[CAPTURE_NAME_LEN];
	const char *forward;
	char pool[CAPTURE_NAME_LEN];
	const char *what;
	uint64_t hash;
	uint64_t position;
	char owner[CAPTURE_NAME_LEN];
	char previous[CAPTURE_NAME_LEN];
	uint8_t flow_counts;
	uint8_t quic_counts;
	struct control_frame in;
	struct control_frame out;
};

/**
 * control_capture_open() - capture what @filter lets through from now on
 * @error: filled on error with the whole reason
 *
 * Return: 0; -EBUSY if somebody else does; -EINVAL if the filter cannot be; -errno.
 */
int control_capture_open(struct control_capture **out, const char *pin_dir,
			 const struct control_filter *filter, char error[CAPTURE_ERROR_LEN]);

/**
 * control_capture_read() - wait for packets, for a second at most, and hand them over
 * @take: false ends the call
 *
 * Return: 0; -EINTR on a signal; -ESTALE if this process was away for so long that the
 * capture ended; -errno.
 */
int control_capture_read(struct control_capture *capture,
			 bool (*take)(void *context, const struct control_packet *packet),
			 void *context);

/** control_capture_finish() - end it, and hand over the packets that were not read yet */
int control_capture_finish(struct control_capture *capture,
			   bool (*take)(void *context, const struct control_packet *packet),
			   void *context);

/** control_capture_lost() - packets that were not copied, as this process did not keep up */
uint64_t control_capture_lost(const struct control_capture *capture);

void control_capture_close(struct control_capture *capture);

/**
 * control_capture_verdicts() - is each of @list the name of a verdict, or of an action?
 * @bad: receives the first that is not
 */
bool control_capture_verdicts(const char *list, char bad[CAPTURE_NAME_LEN]);

/**
 * control_capture_counts() - the names of counters
 * @flow: of the flow tables, else of QUIC
 * @bits: of them, as in struct control_packet
 * @separator: between two names
 */
const char *control_capture_counts(bool flow, uint8_t bits, char separator,
				   char out[CAPTURE_NAME_LEN]);

#endif
