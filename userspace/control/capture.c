/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "control/capture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dataplane/capture.h"

#define NANOSECONDS 1000000000LL
#define READ_MS	    1000

struct control_capture {
	struct dataplane_capture *dataplane;
	int64_t epoch_ns; /* from monotonic time to time since 1970 */
	bool (*take)(void *context, const struct control_frame *frame);
	void *context;
};

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NANOSECONDS + now.tv_nsec;
}

int control_capture_open(struct control_capture **out, const char *pin_dir, uint32_t every,
			 char error[CAPTURE_ERROR_LEN])
{
	struct control_capture *capture = calloc(1, sizeof(*capture));
	struct dataplane_error why = {0};
	int err = -ENOMEM;

	snprintf(why.what, sizeof(why.what), "out of memory");
	if (capture)
		err = dataplane_capture_open(&capture->dataplane, pin_dir, every, &why);
	if (err) {
		snprintf(error, CAPTURE_ERROR_LEN, "%s", why.what);
		free(capture);
		return err;
	}
	capture->epoch_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
	*out = capture;
	return 0;
}

static void describe(struct control_frame *frame, enum verdict verdict)
{
	const char *action = verdict_action(verdict);

	frame->verdict = verdict_name(verdict);
	frame->text = verdict_text(verdict);
	frame->sent = !strcmp(action, "TX") || !strcmp(action, "REDIRECT");
}

static bool on_copy(void *context, const struct captured *copy)
{
	struct control_capture *capture = context;
	struct control_frame frame = {
		.packet = copy->id,
		.ifindex = copy->ifindex,
		.time_ns = (uint64_t)((int64_t)copy->time_ns + capture->epoch_ns),
		.frame_len = copy->frame_len,
		.len = copy->len,
		.bytes = copy->frame,
	};

	if (copy->len > sizeof(copy->frame) || copy->verdict >= VERDICT_COUNT)
		return true;
	if (copy->verdict != CONTINUE)
		describe(&frame, (enum verdict)copy->verdict);
	if (!if_indextoname(copy->ifindex, frame.ifname))
		snprintf(frame.ifname, sizeof(frame.ifname), "if%u", copy->ifindex);
	return capture->take(capture->context, &frame);
}

int control_capture_read(struct control_capture *capture,
			 bool (*take)(void *context, const struct control_frame *frame),
			 void *context)
{
	capture->take = take;
	capture->context = context;
	return dataplane_capture_read(capture->dataplane, READ_MS, on_copy, capture);
}

int control_capture_finish(struct control_capture *capture,
			   bool (*take)(void *context, const struct control_frame *frame),
			   void *context)
{
	capture->take = take;
	capture->context = context;
	return dataplane_capture_finish(capture->dataplane, on_copy, capture);
}

uint64_t control_capture_lost(const struct control_capture *capture)
{
	return dataplane_capture_lost(capture->dataplane);
}

void control_capture_close(struct control_capture *capture)
{
	if (!capture)
		return;
	dataplane_capture_close(capture->dataplane);
	free(capture);
}

bool control_capture_is_verdict(const char *name)
{
	for (int verdict = 0; verdict < VERDICT_COUNT; verdict++)
		if (!strcmp(name, verdict_name((enum verdict)verdict)))
			return true;
	return false;
}
