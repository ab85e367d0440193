/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "control/fragments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* So that a flood of fragments does not keep the loop from all else. */
#define TAKEN_AT_ONCE 64
#define NO_SLOT	      0xffff

#define MS_NS	       1000000LL
#define US_NS	       1000LL
#define STALE_NS       (1000 * MS_NS) /* its identification may be another's by now */
#define LOOK_AGAIN_NS  (1 * MS_NS)    /* at first; the longer it has waited, the longer */
#define LOOK_RARELY_NS (32 * MS_NS)   /* at last */
#define TIMER_SLACK_US 100

struct slot {
	uint16_t next; /* of the same datagram, or free */
	struct held_fragment held;
};

/**
 * struct datagram - one whose first fragment has not come
 * @arrived_ns: when the first of those that wait has come
 * @look_ns: when to see if its first fragment has
 * @oldest, @newest: slots of a list
 */
struct datagram {
	struct fragment_key key;
	int64_t arrived_ns;
	int64_t look_ns;
	uint16_t oldest;
	uint16_t newest;
};

/**
 * struct fragments
 * @slots, @datagrams: room for FRAGMENTS_HELD_MAX each; @len datagrams wait
 * @free: a list of slots
 * @taken: in this turn of the loop
 */
struct fragments {
	struct control *control;
	sd_event_source *arrival;
	sd_event_source *timer;
	struct slot *slots;
	struct datagram *datagrams;
	size_t len;
	uint16_t free;
	size_t taken;
};

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

typedef int give_back(struct dataplane *dp, const struct held_fragment *held);

/*
 * One after the other, whatever came in between: a receiver gives up a datagram if too many
 * fragments of others come amid its own (Linux: sysctl ipfrag_max_dist).
 */
static void give_back_all(struct fragments *fragments, const struct datagram *datagram,
			  give_back *back)
{
	uint16_t at = datagram->oldest;

	while (at != NO_SLOT) {
		struct slot *slot = &fragments->slots[at];
		uint16_t next = slot->next;

		back(fragments->control->dp, &slot->held);
		slot->next = fragments->free;
		fragments->free = at;
		at = next;
	}
}

/* Send @datagram's fragments or give them up. Returns false if they have to wait. */
static bool settle(struct fragments *fragments, struct datagram *datagram)
{
	const struct held_fragment *oldest = &fragments->slots[datagram->oldest].held;
	int64_t now = now_ns(), waited = now - datagram->arrived_ns;
	int64_t left = FRAGMENTS_WAIT_MS * MS_NS - waited, pause = waited;

	if (waited < STALE_NS && dataplane_first_was_seen(fragments->control->dp, oldest)) {
		give_back_all(fragments, datagram, dataplane_send_held);
		return true;
	}
	if (left <= 0) {
		give_back_all(fragments, datagram, dataplane_drop_held);
		return true;
	}
	if (pause < LOOK_AGAIN_NS)
		pause = LOOK_AGAIN_NS;
	if (pause > LOOK_RARELY_NS)
		pause = LOOK_RARELY_NS;
	datagram->look_ns = now + (pause < left ? pause : left);
	return false;
}

/* Look at all that are due. Returns when the next one is. */
static int64_t settle_due(struct fragments *fragments)
{
	int64_t now = now_ns(), next_ns = INT64_MAX;
	size_t left = 0;

	for (size_t i = 0; i < fragments->len; i++) {
		struct datagram *one = &fragments->datagrams[i];

		if (one->look_ns <= now && settle(fragments, one))
			continue;
		if (one->look_ns < next_ns)
			next_ns = one->look_ns;
		fragments->datagrams[left++] = *one;
	}
	fragments->len = left;
	return next_ns;
}

/* Wait for the next one that is due and, if there is room, for more. */
static int arm(struct fragments *fragments)
{
	int64_t next_ns = settle_due(fragments);
	bool room = fragments->free != NO_SLOT;
	int err =
		sd_event_source_set_enabled(fragments->arrival, room ? SD_EVENT_ON : SD_EVENT_OFF);

	if (err < 0 || !fragments->len)
		return err;
	err = sd_event_source_set_time(fragments->timer, (uint64_t)(next_ns / US_NS));
	if (err < 0)
		return err;
	return sd_event_source_set_enabled(fragments->timer, SD_EVENT_ONESHOT);
}

/* The datagram that @held is of; a new one without slots if none of it waits yet. */
static struct datagram *find(struct fragments *fragments, const struct held_fragment *held)
{
	struct datagram *one = fragments->datagrams;

	for (size_t i = 0; i < fragments->len; i++, one++)
		if (!memcmp(&one->key, &held->key, sizeof(one->key)))
			return one;
	*one = (struct datagram){
		.key = held->key,
		.arrived_ns = (int64_t)held->arrived_ns,
		.oldest = NO_SLOT,
	};
	fragments->len++;
	return one;
}

/* There is room: this is not called without. */
static bool take(void *context, const struct held_fragment *held)
{
	struct fragments *fragments = context;
	struct datagram *datagram = find(fragments, held);
	uint16_t at = fragments->free;

	fragments->free = fragments->slots[at].next;
	fragments->slots[at].next = NO_SLOT;
	fragments->slots[at].held = *held;
	if (datagram->oldest == NO_SLOT)
		datagram->oldest = at;
	else
		fragments->slots[datagram->newest].next = at;
	datagram->newest = at;
	datagram->look_ns = 0;
	return ++fragments->taken < TAKEN_AT_ONCE && fragments->free != NO_SLOT;
}

static int on_arrival(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct fragments *fragments = context;

	(void)source;
	(void)fd;
	(void)events;
	fragments->taken = 0;
	dataplane_take_held(fragments->control->dp, take, fragments);
	return arm(fragments);
}

static int on_timer(sd_event_source *source, uint64_t now_us, void *context)
{
	(void)source;
	(void)now_us;
	return arm(context);
}

static int add_sources(struct fragments *fragments, sd_event *loop)
{
	int err = dataplane_held_fd(fragments->control->dp);

	if (err >= 0)
		err = sd_event_add_io(loop, &fragments->arrival, err, EPOLLIN, on_arrival,
				      fragments);
	if (err >= 0)
		err = sd_event_add_time(loop, &fragments->timer, CLOCK_MONOTONIC, 0, TIMER_SLACK_US,
					on_timer, fragments);
	return err < 0 ? err : sd_event_source_set_enabled(fragments->timer, SD_EVENT_OFF);
}

int fragments_open(struct fragments **out, sd_event *loop, struct control *control)
{
	struct fragments *fragments = calloc(1, sizeof(*fragments));
	int err = -ENOMEM;

	if (!fragments)
		return err;
	fragments->control = control;
	fragments->slots = calloc(FRAGMENTS_HELD_MAX, sizeof(*fragments->slots));
	fragments->datagrams = calloc(FRAGMENTS_HELD_MAX, sizeof(*fragments->datagrams));
	if (fragments->slots && fragments->datagrams) {
		for (uint16_t i = 0; i < FRAGMENTS_HELD_MAX; i++)
			fragments->slots[i].next = i + 1 < FRAGMENTS_HELD_MAX ? i + 1 : NO_SLOT;
		err = add_sources(fragments, loop);
	}
	if (err < 0) {
		fragments_close(fragments);
		return err;
	}
	*out = fragments;
	return 0;
}

void fragments_close(struct fragments *fragments)
{
	if (!fragments)
		return;
	/* After `down` there is no data plane any more. */
	for (size_t i = 0; i < fragments->len && fragments->control->dp; i++)
		give_back_all(fragments, &fragments->datagrams[i], dataplane_send_held);
	sd_event_source_unref(fragments->arrival);
	sd_event_source_unref(fragments->timer);
	free(fragments->slots);
	free(fragments->datagrams);
	free(fragments);
}
