/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dataplane/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "dataplane/state.h"

#define NANOSECONDS 1000000000ULL
#define LIFE_NS	    (3 * NANOSECONDS)
#define READ_MS_MAX 1000 /* well below the above */

/**
 * struct dataplane_capture
 * @state: the map's value, shared with the program
 * @until_ns: what is in it, as long as nobody took it over
 * @since_ns: what came before is none of ours
 */
struct dataplane_capture {
	struct capture *state;
	struct ring_buffer *ring;
	int labels_fd;
	uint64_t until_ns;
	uint64_t since_ns;
	uint64_t lost_before;
	bool (*take)(void *context, const struct captured *copy);
	void *context;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NANOSECONDS + (uint64_t)now.tv_nsec;
}

/* True if it was @from and is @to now. */
static bool set_until(struct capture *state, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(&state->until_ns, &from, to, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

static int on_record(void *context, void *record, size_t len)
{
	struct dataplane_capture *capture = context;
	const struct captured *copy = record;

	if (len < CAPTURED_HEAD || len < CAPTURED_HEAD + (uint64_t)copy->in.len + copy->out.len ||
	    copy->came_ns < capture->since_ns)
		return 0;
	return capture->take(capture->context, record) ? 0 : -ECANCELED;
}

/* A descriptor of the map pinned as @name, or -errno. */
static int open_pin(const char *pin_dir, const char *name, struct dataplane_error *error)
{
	char path[PIN_PATH_LEN];
	int fd, err;

	snprintf(path, sizeof(path), "%s/%s", pin_dir, name);
	fd = bpf_obj_get(path);
	if (fd >= 0)
		return fd;
	err = -errno;
	return dataplane_fail(error, err, "cannot open '%s': %s%s", path, strerror(-err),
			      err == -ENOENT ? " (ringlbd must have been started)"
			      : err == -EPERM || err == -EACCES ? " (root is needed)"
								: "");
}

static int open_state(struct dataplane_capture *capture, const char *pin_dir,
		      struct dataplane_error *error)
{
	int fd = open_pin(pin_dir, "capture", error), err;
	void *mapped;

	if (fd < 0)
		return fd;
	mapped = mmap(NULL, sizeof(*capture->state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	err = -errno;
	close(fd);
	if (mapped == MAP_FAILED)
		return dataplane_fail(error, err, "cannot map the pin 'capture': %s",
				      strerror(-err));
	capture->state = mapped;
	return 0;
}

static int open_ring(struct dataplane_capture *capture, const char *pin_dir,
		     struct dataplane_error *error)
{
	int fd = open_pin(pin_dir, "captures", error), err;

	if (fd < 0)
		return fd;
	capture->ring = ring_buffer__new(fd, on_record, capture, NULL);
	err = -errno;
	close(fd);
	if (!capture->ring)
		return dataplane_fail(error, err, "cannot read the pin 'captures': %s",
				      strerror(-err));
	return 0;
}

int dataplane_capture_begin(struct dataplane_capture *capture, const struct capture_filter *filter,
			    uint32_t every, struct dataplane_error *error)
{
	struct capture *state = capture->state;
	uint64_t now = now_ns(), until = __atomic_load_n(&state->until_ns, __ATOMIC_SEQ_CST);

	if (until >= now || !set_until(state, until, now + LIFE_NS))
		return dataplane_fail(error, -EBUSY, "somebody else captures (one at a time can)");
	capture->until_ns = now + LIFE_NS;
	/* It is ours from here on; what met the filter of who had it before is none of ours. */
	state->filter = (struct capture_filter){0};
	capture->since_ns = UINT64_MAX;
	ring_buffer__consume(capture->ring);
	state->filter = *filter;
	__atomic_store_n(&state->next, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&state->every, every, __ATOMIC_SEQ_CST);
	capture->since_ns = now_ns();
	capture->lost_before = __atomic_load_n(&state->lost, __ATOMIC_RELAXED);
	return 0;
}

int dataplane_capture_open(struct dataplane_capture **out, const char *pin_dir,
			   struct dataplane_error *error)
{
	struct dataplane_capture *capture = calloc(1, sizeof(*capture));
	int err;

	if (!capture)
		return dataplane_fail(error, -ENOMEM, "out of memory");
	capture->labels_fd = -1;
	err = open_state(capture, pin_dir, error);
	if (!err)
		err = open_ring(capture, pin_dir, error);
	if (!err)
		err = capture->labels_fd = open_pin(pin_dir, "labels", error);
	if (err < 0)
		dataplane_capture_close(capture);
	else
		*out = capture;
	return err < 0 ? err : 0;
}

int dataplane_capture_read(struct dataplane_capture *capture, int timeout_ms,
			   bool (*take)(void *context, const struct captured *copy), void *context)
{
	uint64_t until = now_ns() + LIFE_NS;
	int result;

	if (!set_until(capture->state, capture->until_ns, until))
		return -ESTALE;
	capture->until_ns = until;
	capture->take = take;
	capture->context = context;
	result = ring_buffer__poll(capture->ring,
				   timeout_ms < READ_MS_MAX ? timeout_ms : READ_MS_MAX);
	return result < 0 && result != -ECANCELED ? result : 0;
}

int dataplane_capture_finish(struct dataplane_capture *capture,
			     bool (*take)(void *context, const struct captured *copy),
			     void *context)
{
	int result;

	set_until(capture->state, capture->until_ns, 0);
	capture->until_ns = 0;
	capture->take = take;
	capture->context = context;
	result = ring_buffer__consume(capture->ring);
	return result < 0 && result != -ECANCELED ? result : 0;
}

uint64_t dataplane_capture_lost(const struct dataplane_capture *capture)
{
	return __atomic_load_n(&capture->state->lost, __ATOMIC_RELAXED) - capture->lost_before;
}

int dataplane_capture_label(const struct dataplane_capture *capture, enum label_kind kind,
			    uint32_t id, struct label *label)
{
	const struct label_key key = {.kind = kind, .id = id};

	return bpf_map_lookup_elem(capture->labels_fd, &key, label) ? -errno : 0;
}

int dataplane_capture_find_backend(const struct dataplane_capture *capture, const char *pool,
				   const char *name, uint32_t *id)
{
	struct label_key key, *last = NULL;
	struct label label;
	int found = 0;

	for (; !bpf_map_get_next_key(capture->labels_fd, last, &key); last = &key) {
		if (key.kind != LABEL_BACKEND ||
		    bpf_map_lookup_elem(capture->labels_fd, &key, &label) ||
		    strcmp(label.backend, name) != 0 || (pool && strcmp(label.pool, pool) != 0))
			continue;
		*id = key.id;
		found++;
	}
	return found == 1 ? 0 : found ? -ENOTUNIQ : -ENOENT;
}

void dataplane_capture_close(struct dataplane_capture *capture)
{
	if (!capture)
		return;
	ring_buffer__free(capture->ring);
	if (capture->labels_fd >= 0)
		close(capture->labels_fd);
	if (capture->state) {
		if (capture->until_ns)
			set_until(capture->state, capture->until_ns, 0);
		munmap(capture->state, sizeof(*capture->state));
	}
	free(capture);
}
