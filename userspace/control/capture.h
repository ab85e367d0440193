/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frames as the live program sees them, in terms of people: `ringlb capture`. */
#ifndef RINGLB_CONTROL_CAPTURE_H
#define RINGLB_CONTROL_CAPTURE_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAPTURE_ERROR_LEN 256

struct control_capture;

/**
 * struct control_frame - a frame, as it came in or as it was left by the program
 * @packet: the same in both
 * @verdict, @text: what became of it, "TX_BACKEND" and a line; NULL as it came in
 * @sent: left by way of the program, not dropped and not handed to the kernel
 * @ifindex, @ifname: where it came in
 * @time_ns: since 1970
 * @frame_len: its length, of which @len bytes are in @bytes
 */
struct control_frame {
	uint32_t packet;
	const char *verdict;
	const char *text;
	bool sent;
	uint32_t ifindex;
	char ifname[IF_NAMESIZE];
	uint64_t time_ns;
	uint32_t frame_len;
	uint32_t len;
	const uint8_t *bytes;
};

/**
 * control_capture_open() - capture one packet of @every from now on
 * @error: filled on error with the whole reason
 *
 * Return: 0; -EBUSY if somebody else does; -errno.
 */
int control_capture_open(struct control_capture **out, const char *pin_dir, uint32_t every,
			 char error[CAPTURE_ERROR_LEN]);

/**
 * control_capture_read() - wait for frames, for a second at most, and hand them over
 * @take: false ends the call
 *
 * Return: 0; -EINTR on a signal; -ESTALE if this process was away for so long that the
 * capture ended; -errno.
 */
int control_capture_read(struct control_capture *capture,
			 bool (*take)(void *context, const struct control_frame *frame),
			 void *context);

/** control_capture_finish() - end it, and hand over the frames that were not read yet */
int control_capture_finish(struct control_capture *capture,
			   bool (*take)(void *context, const struct control_frame *frame),
			   void *context);

/** control_capture_lost() - frames that were not copied, as this process did not keep up */
uint64_t control_capture_lost(const struct control_capture *capture);

void control_capture_close(struct control_capture *capture);

/** control_capture_is_verdict() - is there a verdict of this name? */
bool control_capture_is_verdict(const char *name);

#endif
