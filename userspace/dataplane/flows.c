/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The flow tables, read in batches: a table of a million entries takes a few hundred calls. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>

#include "bpf/flow_hash.h"
#include "dataplane/state.h"
#include "ringlb.skel.h"

#define BATCH	    4096
#define FLOW_TABLES 4

struct table {
	const char *name;
	struct bpf_map *map;
	bool embryonic;
};

static void list_tables(const struct dataplane *dp, struct table tables[FLOW_TABLES])
{
	tables[0] = (struct table){"established", dp->skeleton->maps.flows, false};
	tables[1] = (struct table){"remembered", dp->skeleton->maps.old_flows, false};
	tables[2] = (struct table){"embryonic", dp->skeleton->maps.embryos, true};
	tables[3] = (struct table){"other", dp->skeleton->maps.other_flows, false};
}

/* Room for one batch. */
struct batch {
	struct flow *keys;
	struct flow_entry *values;
};

typedef bool (*entry_visitor)(struct dataplane *dp, void *context, const struct table *table,
			      const struct flow *key, const struct flow_entry *value);

/* Give each entry to @keep and delete those that it returns false for. */
static int64_t each_entry(struct dataplane *dp, const struct table *table, struct batch *batch,
			  entry_visitor keep, void *context)
{
	int fd = bpf_map__fd(table->map), err = 0;
	int64_t kept = 0;
	uint32_t cursor;
	bool begun = false;

	while (!err) {
		uint32_t count = BATCH;

		if (bpf_map_lookup_batch(fd, begun ? &cursor : NULL, &cursor, batch->keys,
					 batch->values, &count, NULL))
			err = -errno;
		if (err && err != -ENOENT)
			return err;
		for (uint32_t i = 0; i < count; i++) {
			if (keep(dp, context, table, &batch->keys[i], &batch->values[i]))
				kept++;
			else
				bpf_map_delete_elem(fd, &batch->keys[i]);
		}
		begun = true;
	}
	return kept;
}

static int64_t each_table(struct dataplane *dp, entry_visitor keep, void *context)
{
	struct batch batch = {
		.keys = calloc(BATCH, sizeof(*batch.keys)),
		.values = calloc(BATCH, sizeof(*batch.values)),
	};
	struct table tables[FLOW_TABLES];
	int64_t sum = 0;

	list_tables(dp, tables);
	/* Backwards: a flow that is established meanwhile goes from embryonic to there. */
	for (int i = FLOW_TABLES - 1; i >= 0 && sum >= 0; i--) {
		int64_t kept = batch.keys && batch.values
				       ? each_entry(dp, &tables[i], &batch, keep, context)
				       : -ENOMEM;

		sum = kept < 0 ? kept : sum + kept;
	}
	free(batch.keys);
	free(batch.values);
	return sum;
}

struct visit {
	void (*visit)(void *context, const struct dataplane_flow *flow);
	void *context;
	uint64_t seed;
	uint32_t now_s;
};

static bool visit_entry(struct dataplane *dp, void *context, const struct table *table,
			const struct flow *key, const struct flow_entry *value)
{
	const struct backend *backend = dataplane_get_backend(dp, value->backend);
	const struct visit *visit = context;
	bool forget = false;
	struct dataplane_flow flow = {
		.forget = &forget,
		.flow = *key,
		.backend = value->backend,
		.pool = value->pool,
		.embryonic = table->embryonic,
	};

	flow.hash = flow_hash_by(key, value->hash, visit->seed);
	if (!backend || !backend->forward || !(backend->takes & BACKEND_TAKES_OLD) ||
	    backend->incarnation != value->incarnation || value->expires_s <= visit->now_s)
		return false;
	visit->visit(visit->context, &flow);
	return !forget;
}

int64_t dataplane_each_flow(struct dataplane *dp, uint64_t seed,
			    void (*visit)(void *context, const struct dataplane_flow *flow),
			    void *context)
{
	struct visit visitor = {.visit = visit, .context = context, .seed = seed};
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	visitor.now_s = (uint32_t)now.tv_sec;
	return each_table(dp, visit_entry, &visitor);
}

static bool count_entry(struct dataplane *dp, void *context, const struct table *table,
			const struct flow *key, const struct flow_entry *value)
{
	(void)dp;
	(void)table;
	(void)key;
	(void)value;
	(*(int64_t *)context)++;
	return false;
}

int64_t dataplane_forget_flows(struct dataplane *dp)
{
	int64_t deleted = 0, result = each_table(dp, count_entry, &deleted);

	return result < 0 ? result : deleted;
}

/* What the kernel says that the map holds, 0 if it does not. */
static uint64_t table_bytes(int fd)
{
	unsigned long long bytes = 0;
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "memlock: %llu", &bytes) == 1)
			break;
	if (file)
		fclose(file);
	return bytes;
}

static struct dataplane_table describe(const char *name, const struct bpf_map *map)
{
	return (struct dataplane_table){
		.name = name,
		.max_entries = bpf_map__max_entries(map),
		.bytes = table_bytes(bpf_map__fd(map)),
	};
}

size_t dataplane_tables(struct dataplane *dp, struct dataplane_table *out, size_t max)
{
	struct table tables[FLOW_TABLES];
	size_t len = 0;

	list_tables(dp, tables);
	for (; len < FLOW_TABLES && len < max; len++)
		out[len] = describe(tables[len].name, tables[len].map);
	if (len < max)
		out[len++] = describe("fragments", dp->skeleton->maps.fragments);
	return len;
}
