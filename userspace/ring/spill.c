/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ring/build.h"
#include "ring/spill_walk.h"

/* Parts of a member's hashes that are not worth a move of their own. */
#define GRAIN 64
/* A change that is to come of less than this part of a member's due has come. */
#define PENDING_PARTS 100

/* What one step knows of a member and means to do. Loads are in the caller's unit. */
struct account {
	ring_length own;      /* hashes by the ring */
	ring_length lent;     /* of these */
	ring_length borrowed; /* of others */
	double limit;	      /* no more than this */
	double low;	      /* below this it may take back */
	double measured;      /* what it has, less what is to go by what was decided */
	double load;	      /* what it is to have by what is decided */
	double density;	      /* load of one hash that it has */
	bool over;	      /* its cap, as measured: it borrows nothing */
	bool failed;	      /* something came back to it */
	ring_length shed;     /* hashes to spill */
	ring_length back;     /* hashes to take back... */
	double spare;	      /* ...while they bring no more than this */
	bool returns;	      /* what it borrowed, as that alone is too much */
};

struct step {
	const struct ring *ring;
	struct spill_member *members;
	struct account *accounts;
	uint64_t number;
	double most_room; /* no member has more */
	bool changed;
};

/* Load of @length hashes of @owner: a guess, by the member that has them now. */
static double estimate(const struct account *has, ring_length length)
{
	return has->density * (double)length;
}

static int open_accounts(struct step *step, const struct spills *now, double cap, double total)
{
	const struct ring *ring = step->ring;
	size_t n = ring->n_members;
	ring_length *lengths = ring_array_alloc(3 * n, sizeof(*lengths));
	double weights = 0;

	step->accounts = calloc(n + 1, sizeof(*step->accounts));
	if (!lengths || !step->accounts) {
		free(lengths);
		return -ENOMEM;
	}
	ring_shares(ring, lengths);
	spills_sum(now, n, lengths + n, lengths + 2 * n);
	for (size_t i = 0; i < n; i++)
		weights += step->members[i].takes ? ring->members[i].weight_milli : 0;
	for (size_t i = 0; i < n; i++) {
		struct account *account = &step->accounts[i];
		double part = step->members[i].takes && weights > 0
				      ? total * ring->members[i].weight_milli / weights
				      : 0;
		ring_length has = lengths[i] - lengths[n + i] + lengths[2 * n + i];

		account->own = lengths[i];
		account->lent = lengths[n + i];
		account->borrowed = lengths[2 * n + i];
		account->limit = part * cap;
		account->low = part * (1 + (cap - 1) / 2);
		if (fabs(step->members[i].pending) < part / PENDING_PARTS)
			step->members[i].pending = 0;
		account->load = fmax(0, step->members[i].load + step->members[i].pending);
		/* What is to come may have come: only what can be seen is too much. */
		account->measured = fmin(step->members[i].load, account->load);
		account->density = has ? account->load / (double)has : 0;
	}
	free(lengths);
	return 0;
}

static void count_down(uint32_t *steps)
{
	*steps -= *steps > 0;
}

/* The next try comes later. */
static void fail(struct spill_member *member)
{
	member->patience = 2 * member->patience < SPILL_PATIENCE_MAX ? 2 * member->patience
								     : SPILL_PATIENCE_MAX;
}

/* Over the cap: give away what was taken back too much, or what makes for half way down. */
static void decide_shed(struct spill_member *member, struct account *account)
{
	double excess = account->measured - (account->limit + account->low) / 2;

	if (member->took)
		fail(member);
	member->took = false;
	if (member->trial && member->good > account->lent) {
		account->shed = member->good - account->lent;
	} else if (account->density > 0) {
		account->shed = (ring_length)(excess / account->density) + 1;
	}
	if (account->shed > account->own - account->lent)
		account->shed = account->own - account->lent;
	account->over = true;
	if (account->borrowed && account->own - account->lent <= account->own / GRAIN) {
		account->returns = true;
		*member = (struct spill_member){.takes = true,
						.load = member->load,
						.pending = member->pending,
						.patience = member->patience,
						.rest = SPILL_REST};
		return;
	}
	member->trial = 0;
	member->bad = account->lent;
	member->wait = member->patience;
}

/* Well below the cap: take half of it back, but not to where it was too much lately. */
static void decide_back(struct spill_member *member, struct account *account)
{
	bool known = member->wait && member->bad <= account->lent;
	ring_length over = account->lent - (known ? member->bad : 0);

	if (over > account->own / GRAIN)
		account->back = over / 2;
	else if (!known)
		account->back = over;
	account->spare = account->low - account->load;
	/* A crumb is not worth it; let it cool down first. */
	if (estimate(account, account->own / GRAIN) > account->spare &&
	    estimate(account, account->back) > account->spare)
		account->back = 0;
}

static void decide(struct step *step)
{
	for (size_t i = 0; i < step->ring->n_members; i++) {
		struct spill_member *member = &step->members[i];
		struct account *account = &step->accounts[i];

		if (!member->takes)
			continue;
		if (!member->patience)
			member->patience = SPILL_PATIENCE;
		if (account->measured > account->limit)
			decide_shed(member, account);
		else if (account->lent && !member->rest && account->load < account->low &&
			 member->pending >= 0)
			decide_back(member, account);
		count_down(&member->wait);
		count_down(&member->trial);
		count_down(&member->rest);
		if (!member->wait && !member->trial && !account->lent)
			member->patience = 0;
	}
}

/* @length hashes go from one member to another: what that makes of their loads. */
static void transfer(struct step *step, uint16_t from, uint16_t to, double load)
{
	step->accounts[from].load -= load;
	step->accounts[to].load += load;
	step->members[from].pending -= load;
	step->members[to].pending += load;
	step->changed = true;
}

/* Take back from the end of @spills what decide_back() said; an entry may be shortened. */
static void take_back(struct step *step, struct spills *spills)
{
	size_t kept = spills->len;

	for (size_t i = spills->len; i-- > 0;) {
		struct spill *spill = &spills->list[i];
		struct account *owner = &step->accounts[spill->owner];
		struct account *to = &step->accounts[spill->to];
		ring_length length = spill_length(spill);
		double dense = to->density > owner->density ? to->density : owner->density;

		if (spill->to == spill->owner)
			length = 0;
		if (length > owner->back)
			length = owner->back;
		if (length && dense * (double)length > owner->spare) {
			length = (ring_length)(owner->spare / dense);
			owner->back = length;
		}
		if (!length) {
			spills->list[--kept] = *spill;
			continue;
		}
		step->members[spill->owner].good = owner->lent;
		step->members[spill->owner].trial = 2 * SPILL_REST;
		step->members[spill->owner].rest = SPILL_REST;
		step->members[spill->owner].took = true;
		owner->back -= length;
		owner->spare -= dense * (double)length;
		transfer(step, spill->to, spill->owner, estimate(to, length));
		if (length == spill_length(spill))
			continue;
		spill->last -= (uint64_t)length;
		spills->list[--kept] = *spill;
	}
	spills->len -= kept;
	if (kept)
		memmove(spills->list, spills->list + kept, spills->len * sizeof(*spills->list));
}

static double room_of(const struct step *step, size_t member)
{
	const struct account *account = &step->accounts[member];

	/* Who takes no flows has a limit of 0. */
	return account->over ? -1 : account->limit - account->load;
}

static void find_most_room(struct step *step)
{
	step->most_room = -1;
	for (size_t i = 0; i < step->ring->n_members; i++)
		step->most_room = fmax(step->most_room, room_of(step, i));
}

/* The next member clockwise of @slot that has room for @load of @owner's; or RING_NONE. */
static uint16_t find_room(struct step *step, size_t slot, uint16_t owner, double load)
{
	const struct ring *ring = step->ring;

	/* Room only shrinks, so it need not be looked for again when there was none. */
	if (load > step->most_room)
		return RING_NONE;
	for (size_t i = 0; i < ring->len; i++) {
		uint16_t to = ring->owners[(slot + i) % ring->len];

		if (to != owner && room_of(step, to) >= load)
			return to;
	}
	find_most_room(step);
	return RING_NONE;
}

/* Spill as much as is to be of a piece that its owner has, in as large parts as find room. */
static int spill_piece(struct step *step, struct spills *out, const struct spill_walk *walk)
{
	struct account *owner = &step->accounts[walk->owner];
	ring_length left = (ring_length)(walk->last - walk->first) + 1, part = left;
	uint64_t at = walk->first;
	int err = 0;

	while (!err && left && owner->shed) {
		struct spill spill = {.first = at, .owner = walk->owner};

		if (part > left)
			part = left;
		if (part > owner->shed)
			part = owner->shed;
		spill.to = find_room(step, walk->slot, walk->owner, estimate(owner, part));
		if (spill.to == RING_NONE) {
			part /= 2;
			if (part <= owner->own / GRAIN / GRAIN)
				owner->shed = 0;
			continue;
		}
		spill.last = at + (uint64_t)(part - 1);
		at = spill.last + 1;
		left -= part;
		owner->shed -= part;
		transfer(step, walk->owner, spill.to, estimate(owner, part));
		err = spills_add(out, &spill);
	}
	return err;
}

/* Copy what is spilled and stays so, and add to it. */
static int spill_more(struct step *step, struct spills *out, const struct spills *kept)
{
	struct spill_walk walk = {.ring = step->ring, .spills = kept};
	int err = 0;

	find_most_room(step);
	while (!err && spill_walk_next(&walk)) {
		struct spill same = {.first = walk.first, .last = walk.last, .owner = walk.owner};

		if (!walk.spill) {
			err = spill_piece(step, out, &walk);
			continue;
		}
		same.to = walk.spill->to;
		same.until = walk.spill->until;
		err = spills_add(out, &same);
	}
	return err;
}

/* Return @spill to its owner, who keeps it for a while. */
static void come_back(struct step *step, struct spill *spill)
{
	struct spill_member *owner = &step->members[spill->owner];

	transfer(step, spill->to, spill->owner,
		 estimate(&step->accounts[spill->to], spill_length(spill)));
	step->accounts[spill->owner].lent -= spill_length(spill);
	spill->to = spill->owner;
	spill->until = step->number + owner->patience;
	step->accounts[spill->owner].failed = true;
}

/* Of @now, what is still so; and what comes back. */
static int list_kept(struct step *step, const struct spills *now, struct spills *kept)
{
	int err = 0;

	for (size_t i = 0; i < now->len && !err; i++) {
		struct spill spill = now->list[i];

		if (spill.to == spill.owner && spill.until <= step->number)
			continue;
		if (spill.to != spill.owner && step->accounts[spill.to].returns)
			come_back(step, &spill);
		err = spills_add(kept, &spill);
	}
	return err;
}

static int change_spills(struct step *step, const struct spills *now, struct spills *out)
{
	struct spills kept = {};
	int err = list_kept(step, now, &kept);

	for (size_t i = 0; i < step->ring->n_members; i++)
		if (step->accounts[i].failed)
			fail(&step->members[i]);
	if (!err) {
		take_back(step, &kept);
		err = spill_more(step, out, &kept);
	}
	spills_release(&kept);
	return err;
}

int spill_step(struct spills *out, const struct ring *ring, const struct spills *now,
	       struct spill_member *members, const struct spill_terms *terms)
{
	struct step step = {.ring = ring, .members = members, .number = terms->step};
	struct spills next = {};
	double total = 0;
	int err;

	for (size_t i = 0; i < ring->n_members; i++) {
		members[i].pending /= 2;
		total += members[i].takes ? members[i].load : 0;
	}
	if (total < terms->load_min) {
		if (total >= terms->load_min / 2 || !now->len)
			return 0;
		for (size_t i = 0; i < ring->n_members; i++)
			members[i] = (struct spill_member){.takes = members[i].takes,
							   .load = members[i].load};
		*out = next;
		return 1;
	}
	err = open_accounts(&step, now, terms->cap, total);
	if (!err) {
		decide(&step);
		err = change_spills(&step, now, &next);
	}
	free(step.accounts);
	if (err || !step.changed) {
		spills_release(&next);
		return err;
	}
	*out = next;
	return 1;
}
