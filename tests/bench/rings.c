/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What it takes to make a ring and have it live: CPU time of building it, of laying it out with
 * its index in a map of its own, and of the swap. Medians of some rounds.
 *
 * Usage: rings
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "tests/packet/rig.h"
#include "tests/unit/ring_reference.h"

#define ROUNDS 7
#define VNODES 200
#define POOL   1

enum step { BUILD, PREPARE, PUBLISH, STEPS };

static struct rig rig;

static double cpu_ms(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(size_t backends)
{
	double samples[STEPS][ROUNDS], sum = 0;
	uint32_t *ids = calloc(backends, sizeof(*ids));

	for (size_t i = 0; i < backends; i++)
		ids[i] = (uint32_t)i;
	for (size_t round = 0; round < ROUNDS; round++) {
		double start = cpu_ms(), built, prepared;
		struct ring *ring = ring_numbered(&ring_hash_xxh64, round, VNODES, backends);
		int fd;

		built = cpu_ms();
		fd = rig_prepare(&rig, POOL, ring, ids);
		prepared = cpu_ms();
		rig_require(!dataplane_publish_ring(rig.dp, POOL, fd), "cannot publish");
		samples[PUBLISH][round] = cpu_ms() - prepared;
		samples[PREPARE][round] = prepared - built;
		samples[BUILD][round] = built - start;
		ring_free(ring);
	}
	printf("%8zu", backends);
	for (size_t step = 0; step < STEPS; step++) {
		qsort(samples[step], ROUNDS, sizeof(double), by_value);
		printf("%10.2f", samples[step][ROUNDS / 2]);
		sum += samples[step][ROUNDS / 2];
	}
	printf("%10.2f\n", sum);
	free(ids);
}

int main(void)
{
	static const size_t counts[] = {16, 1000, 10000};

	rig_open(&rig);
	printf("backends     build   prepare   publish       sum   CPU ms, medians\n");
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		measure(counts[i]);
	rig_close(&rig);
	return 0;
}
