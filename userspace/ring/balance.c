/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "ring/balance.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "ring/build.h"

static uint64_t weight_sum(const struct ring *ring)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ring->n_members; i++)
		sum += ring->members[i].weight_milli;
	return sum;
}

double ring_expected(const struct ring *ring, uint16_t member)
{
	uint64_t sum = weight_sum(ring);

	return sum ? (double)ring->members[member].weight_milli / (double)sum : 0;
}

int ring_balance(const struct ring *ring, struct ring_balance *out)
{
	struct ring_balance balance = {.busiest = RING_NONE};
	ring_length *lengths = ring_array_alloc(ring->n_members, sizeof(*lengths));
	double sum = (double)weight_sum(ring), squares = 0, mean = 0;

	if (!lengths)
		return -ENOMEM;
	ring_shares(ring, lengths);
	for (size_t i = 0; i < ring->n_members; i++) {
		double relative;

		if (!ring->members[i].weight_milli)
			continue;
		relative = ring_share(ring, lengths[i]) * sum / ring->members[i].weight_milli;
		if (balance.busiest == RING_NONE || relative > balance.peak) {
			balance.peak = relative;
			balance.busiest = (uint16_t)i;
		}
		if (!balance.n_members || relative < balance.least)
			balance.least = relative;
		balance.n_members++;
		mean += relative;
		squares += relative * relative;
	}
	free(lengths);
	if (balance.n_members) {
		mean /= (double)balance.n_members;
		squares = squares / (double)balance.n_members - mean * mean;
		balance.cv = squares > 0 ? sqrt(squares) / mean : 0;
	}
	*out = balance;
	return 0;
}
