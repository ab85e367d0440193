/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/pcapng.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define BLOCK_SECTION	0x0a0d0d0a
#define BLOCK_INTERFACE 1
#define BLOCK_FRAME	6
#define MAGIC		0x1a2b3c4d /* in the writer's byte order */
#define LINK_ETHERNET	1
#define BLOCK_LEN_MAX	4096

/* Codes of options: of any block, of a section, of an interface, of a frame. */
#define OPTION_END	   0
#define OPTION_COMMENT	   1
#define OPTION_APPLICATION 4
#define OPTION_NAME	   2
#define OPTION_RESOLUTION  9
#define OPTION_FLAGS	   2

#define NANOSECONDS    9 /* 10^-9 s */
#define FLAGS_INBOUND  1
#define FLAGS_OUTBOUND 2

/* A block in the making: its length is written once it is known, at both ends. */
struct block {
	uint32_t len;
	uint8_t bytes[BLOCK_LEN_MAX];
};

/* What does not fit is left out: a frame and its texts always do. */
static void put(struct block *block, const void *data, size_t len)
{
	size_t padded = (len + 3) & ~(size_t)3;

	if (!len || padded > sizeof(block->bytes) - sizeof(uint32_t) - block->len)
		return;
	memcpy(block->bytes + block->len, data, len);
	memset(block->bytes + block->len + len, 0, padded - len);
	block->len += (uint32_t)padded;
}

static void put_word(struct block *block, uint32_t word)
{
	put(block, &word, sizeof(word));
}

static void put_option(struct block *block, uint16_t code, const void *data, size_t len)
{
	uint16_t head[] = {code, (uint16_t)len};

	put(block, head, sizeof(head));
	put(block, data, len);
}

static void put_text(struct block *block, uint16_t code, const char *text)
{
	put_option(block, code, text, strlen(text));
}

static void block_begin(struct block *block, uint32_t type)
{
	block->len = 0;
	put_word(block, type);
	put_word(block, 0);
}

static int block_end(struct block *block, FILE *file)
{
	uint32_t len;

	put_option(block, OPTION_END, NULL, 0);
	len = block->len + (uint32_t)sizeof(len);
	memcpy(block->bytes + sizeof(len), &len, sizeof(len));
	put_word(block, len);
	errno = 0;
	if (fwrite(block->bytes, 1, block->len, file) == block->len)
		return 0;
	return errno ? -errno : -EIO;
}

int pcapng_begin(struct pcapng *out, FILE *file, const char *program)
{
	const uint16_t version[] = {1, 0};
	const int64_t any_len = -1;
	struct block block;

	*out = (struct pcapng){.file = file};
	block_begin(&block, BLOCK_SECTION);
	put_word(&block, MAGIC);
	put(&block, version, sizeof(version));
	put(&block, &any_len, sizeof(any_len));
	put_text(&block, OPTION_APPLICATION, program);
	return block_end(&block, file);
}

static int begin_interface(struct pcapng *out, const struct control_packet *packet)
{
	const uint16_t link[] = {LINK_ETHERNET, 0};
	const uint8_t resolution = NANOSECONDS;
	struct block block;

	if (out->n_interfaces == PCAPNG_INTERFACES_MAX)
		return -ENOSPC;
	block_begin(&block, BLOCK_INTERFACE);
	put(&block, link, sizeof(link));
	put_word(&block, 0); /* frames of any length */
	put_text(&block, OPTION_NAME, packet->ingress);
	put_option(&block, OPTION_RESOLUTION, &resolution, sizeof(resolution));
	out->interfaces[out->n_interfaces++] = packet->ifindex;
	return block_end(&block, out->file);
}

/* @direction: 0: none. */
static int put_frame(struct pcapng *out, uint32_t interface, uint64_t time_ns,
		     const struct control_frame *frame, const char *comment, uint32_t direction)
{
	struct block block;

	block_begin(&block, BLOCK_FRAME);
	put_word(&block, interface);
	put_word(&block, (uint32_t)(time_ns >> 32));
	put_word(&block, (uint32_t)time_ns);
	put_word(&block, frame->len);
	put_word(&block, frame->frame_len);
	put(&block, frame->bytes, frame->len);
	put_text(&block, OPTION_COMMENT, comment);
	if (direction)
		put_option(&block, OPTION_FLAGS, &direction, sizeof(direction));
	return block_end(&block, out->file);
}

int pcapng_packet(struct pcapng *out, const struct control_packet *packet, const char *comment)
{
	uint32_t number = 0;
	char came[64];
	int err = 0;

	while (number < out->n_interfaces && out->interfaces[number] != packet->ifindex)
		number++;
	if (number == out->n_interfaces)
		err = begin_interface(out, packet);
	snprintf(came, sizeof(came), "packet %u: as it came in", packet->number);
	if (!err)
		err = put_frame(out, number, packet->came_ns, &packet->in, came, FLAGS_INBOUND);
	if (!err)
		err = put_frame(out, number, packet->left_ns, &packet->out, comment,
				packet->sent ? FLAGS_OUTBOUND : 0);
	return err;
}
