/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "dataplane/state.h"
#include "ringlb.skel.h"

static int read_counter(struct dataplane *dp, int fd, uint32_t id, struct counter *counter)
{
	struct counter *each = calloc((size_t)dp->cpus, sizeof(*each));
	struct counter sum = {};
	int err = 0;

	if (!each)
		return -ENOMEM;
	if (bpf_map_lookup_elem(fd, &id, each))
		err = -errno;
	for (int cpu = 0; cpu < dp->cpus; cpu++) {
		sum.packets += each[cpu].packets;
		sum.bytes += each[cpu].bytes;
	}
	free(each);
	if (!err)
		*counter = sum;
	return err;
}

int dataplane_count_vip(struct dataplane *dp, uint32_t vip, struct counter *counter)
{
	return read_counter(dp, bpf_map__fd(dp->skeleton->maps.vip_counters), vip, counter);
}

int dataplane_count_backend(struct dataplane *dp, uint32_t backend, struct counter *counter)
{
	return read_counter(dp, bpf_map__fd(dp->skeleton->maps.backend_count), backend, counter);
}

static int read_packets(struct dataplane *dp, int fd, uint32_t key, uint64_t *packets)
{
	uint64_t *each = calloc((size_t)dp->cpus, sizeof(*each));
	uint64_t sum = 0;
	int err = 0;

	if (!each)
		return -ENOMEM;
	if (bpf_map_lookup_elem(fd, &key, each))
		err = -errno;
	for (int cpu = 0; cpu < dp->cpus; cpu++)
		sum += each[cpu];
	free(each);
	if (!err)
		*packets = sum;
	return err;
}

int dataplane_count_verdict(struct dataplane *dp, enum verdict verdict, uint64_t *packets)
{
	return read_packets(dp, bpf_map__fd(dp->skeleton->maps.verdicts), verdict, packets);
}

int dataplane_count_flows(struct dataplane *dp, enum flow_count what, uint64_t *packets)
{
	return read_packets(dp, bpf_map__fd(dp->skeleton->maps.flow_counts), what, packets);
}

int dataplane_count_quic(struct dataplane *dp, enum quic_count what, uint64_t *packets)
{
	return read_packets(dp, bpf_map__fd(dp->skeleton->maps.quic_counts), what, packets);
}

struct count_words {
	const char *name;
	const char *text;
};

#define COUNT_WORDS(name, text) {#name, text},
static const struct count_words flow_count_words[] = {FLOW_COUNTS(COUNT_WORDS)};
static const struct count_words quic_count_words[] = {QUIC_COUNTS(COUNT_WORDS)};
#undef COUNT_WORDS

const char *flow_count_name(enum flow_count what)
{
	return flow_count_words[what].name;
}

const char *flow_count_text(enum flow_count what)
{
	return flow_count_words[what].text;
}

const char *quic_count_name(enum quic_count what)
{
	return quic_count_words[what].name;
}

const char *quic_count_text(enum quic_count what)
{
	return quic_count_words[what].text;
}

struct verdict_words {
	const char *action;
	const char *name;
	const char *text;
};

#define VERDICT_WORDS(action, name, text) {#action, #action "_" #name, text},
static const struct verdict_words verdict_words[] = {VERDICTS(VERDICT_WORDS)};
#undef VERDICT_WORDS

const char *verdict_name(enum verdict verdict)
{
	return verdict_words[verdict].name;
}

const char *verdict_action(enum verdict verdict)
{
	return verdict_words[verdict].action;
}

const char *verdict_text(enum verdict verdict)
{
	return verdict_words[verdict].text;
}
