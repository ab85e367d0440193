/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Map `addresses`: it follows `vips` and `replies`, which have ports too. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "dataplane/state.h"
#include "ringlb.skel.h"

static struct address address_of(const struct endpoint *endpoint)
{
	struct address address = {.family = endpoint->family};

	memcpy(address.address, endpoint->address, sizeof(address.address));
	return address;
}

int addresses_add(struct dataplane *dp, const struct endpoint *endpoint, uint32_t what)
{
	int fd = bpf_map__fd(dp->skeleton->maps.addresses);
	struct address key = address_of(endpoint);
	uint32_t flags = 0;

	if (what == ADDRESS_BACKEND)
		front_add_backend(dp, endpoint->address);
	if (!bpf_map_lookup_elem(fd, &key, &flags) && (flags & what))
		return 0;
	flags |= what;
	return bpf_map_update_elem(fd, &key, &flags, BPF_ANY) ? -errno : 0;
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct address));
}

/* Take @what from @key, and the entry away if that was all. */
static int clear(int fd, const struct address *key, uint32_t what)
{
	uint32_t flags = 0;

	if (bpf_map_lookup_elem(fd, key, &flags) || !(flags & what))
		return 0;
	flags &= ~what;
	if (flags)
		return bpf_map_update_elem(fd, key, &flags, BPF_EXIST) ? -errno : 0;
	return bpf_map_delete_elem(fd, key) ? -errno : 0;
}

int addresses_keep(struct dataplane *dp, uint32_t what, const struct endpoint *endpoints,
		   size_t len)
{
	int fd = bpf_map__fd(dp->skeleton->maps.addresses), err = 0;
	struct address *kept = calloc(len + 1, sizeof(*kept));
	struct address *live = calloc(ADDRESSES_MAX + 1, sizeof(*live));
	size_t n_live = 0;

	if (!kept || !live)
		err = -ENOMEM;
	for (size_t i = 0; i < len && !err; i++)
		kept[i] = address_of(&endpoints[i]);
	if (!err)
		qsort(kept, len, sizeof(*kept), compare);
	/* Listed first: deleting the key just read would send the walk back to the beginning. */
	while (!err && n_live < ADDRESSES_MAX &&
	       !bpf_map_get_next_key(fd, n_live ? &live[n_live - 1] : NULL, &live[n_live]))
		n_live++;
	for (size_t i = 0; i < n_live && !err; i++)
		if (!bsearch(&live[i], kept, len, sizeof(*kept), compare))
			err = clear(fd, &live[i], what);
	if (!err && what == ADDRESS_BACKEND)
		err = front_keep_backends(dp, endpoints, len);
	free(kept);
	free(live);
	return err;
}
