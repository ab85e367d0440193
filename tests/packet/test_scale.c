/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * As many pools and VIPs as there may be at once: each VIP's flows go to the backend that the
 * ring library names in its own pool, also after one pool's ring was swapped. Says what the
 * maps take, as the kernel counts it.
 */
#include <dirent.h>
#include <netinet/in.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "tests/packet/rig.h"
#include "tests/unit/ring_reference.h"

#define BACKENDS 16 /* of each pool; the last one joins later */
#define VNODES	 200
#define FLOWS	 4 /* of each VIP */
#define RINGS	 8 /* different ones; pools share them, with backends of their own */

static struct rig rig;
static struct ring *rings[RINGS];

static struct endpoint vip_at(uint32_t i)
{
	bool is_ipv6 = i % 2;

	return (struct endpoint){
		.address = {htonl(is_ipv6 ? 0x20010db8 : 0xc6120000 + i), 0, 0,
			    is_ipv6 ? htonl(i) : 0},
		.port = htons(443),
		.protocol = i % 4 < 2 ? IPPROTO_TCP : IPPROTO_UDP,
		.family = is_ipv6 ? ENDPOINT_IPV6 : ENDPOINT_IPV4,
	};
}

static uint32_t id_of(uint32_t pool, uint32_t member)
{
	return pool * BACKENDS + member;
}

static void publish(uint32_t pool, const struct ring *ring)
{
	uint32_t ids[BACKENDS];

	for (uint32_t i = 0; i < BACKENDS; i++)
		ids[i] = id_of(pool, i);
	rig_publish(&rig, pool, ring, ids);
}

static uint64_t hash_of(const struct flow *flow, uint64_t seed)
{
	size_t address_len = flow->family == ENDPOINT_IPV6 ? 16 : 4, at = 2 * address_len;
	uint8_t key[37];

	memcpy(key, flow->source, address_len);
	memcpy(key + address_len, flow->destination, address_len);
	memcpy(key + at, &flow->source_port, 2);
	memcpy(key + at + 2, &flow->destination_port, 2);
	key[at + 4] = flow->protocol;
	return ring_hash_xxh64.hash(key, at + 5, seed);
}

static void assert_goes_to(uint32_t i, const struct ring *ring, struct rng *rng)
{
	const struct endpoint vip = vip_at(i);
	const uint64_t random[4] = {rng_next(rng), rng_next(rng), 0, 0};
	struct frame_spec spec = {.ttl = 64};
	struct frame frame, out;
	uint32_t expected;

	spec.flow = frame_flow(vip.family, vip.protocol, random);
	memcpy(spec.flow.destination, vip.address, sizeof(vip.address));
	spec.flow.destination_port = vip.port;
	frame_build(&frame, &spec);
	expected = id_of(i % POOLS_MAX, ring_owner(ring, hash_of(&spec.flow, ring->params.seed)));
	assert_int_equal(rig_run(&rig, rig.ingress, &frame, &out), XDP_TX);
	assert_int_equal(rig_backend_of(&out), expected);
}

static void test_every_vip(void **state)
{
	struct rng rng = rng_start(1);

	(void)state;
	for (uint32_t i = 0; i < VIPS_MAX; i++)
		for (int flow = 0; flow < FLOWS; flow++)
			assert_goes_to(i, rings[i % POOLS_MAX % RINGS], &rng);
}

/* A swap in one pool is none in the others. */
static void test_one_pool_changes(void **state)
{
	struct ring *other = ring_numbered(&ring_hash_xxh64, 77, VNODES, BACKENDS - 1);
	struct rng rng = rng_start(2);
	const uint32_t changed = 300;

	(void)state;
	publish(changed, other);
	for (uint32_t i = 0; i < VIPS_MAX; i++) {
		uint32_t pool = i % POOLS_MAX;

		assert_goes_to(i, pool == changed ? other : rings[pool % RINGS], &rng);
	}
	publish(changed, rings[changed % RINGS]);
	ring_free(other);
}

/* There is no room for one more, which is said and changes nothing. */
static void test_full(void **state)
{
	const struct endpoint one_more = {
		.address = {htonl(0xc0000201)},
		.port = htons(1),
		.protocol = IPPROTO_TCP,
		.family = ENDPOINT_IPV4,
	};
	const struct vip value = {.vip = 0, .pool = 0};
	struct rng rng = rng_start(3);

	(void)state;
	assert_true(dataplane_set_vip(rig.dp, &one_more, &value) < 0);
	assert_int_equal(
		dataplane_publish_ring(rig.dp, POOLS_MAX,
				       rig_prepare(&rig, 0, rings[0], (uint32_t[BACKENDS]){})),
		-E2BIG);
	for (uint32_t i = 0; i < VIPS_MAX; i += 97)
		assert_goes_to(i, rings[i % POOLS_MAX % RINGS], &rng);
}

static uint64_t memory_of(int map)
{
	char path[64], line[128];
	unsigned long long bytes = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", map);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file) &&
	       sscanf(line, "memlock: %llu", &bytes) != 1)
		;
	rig_require(file != NULL, "cannot read '%s'", path);
	fclose(file);
	return bytes;
}

/* docs/performance.md has these figures. */
static void test_memory(void **state)
{
	uint64_t rings_sum = 0, vips = 0;
	char path[512];
	struct dirent *entry;
	DIR *directory = opendir(RIG_PIN_DIR);

	(void)state;
	rig_require(directory != NULL, "no maps in '%s'", RIG_PIN_DIR);
	while ((entry = readdir(directory))) {
		uint32_t id;
		int map, ring;

		snprintf(path, sizeof(path), RIG_PIN_DIR "/%s", entry->d_name);
		map = bpf_obj_get(path);
		if (map < 0)
			continue;
		if (strstr(entry->d_name, "vip"))
			vips += memory_of(map);
		for (uint32_t pool = 0; !strncmp(entry->d_name, "rings_", 6) && pool < POOLS_MAX;
		     pool++) {
			if (bpf_map_lookup_elem(map, &pool, &id))
				continue;
			ring = bpf_map_get_fd_by_id(id);
			rings_sum += memory_of(ring);
			close(ring);
		}
		close(map);
	}
	closedir(directory);
	print_message("# %d rings of %d positions: %.1f MiB; maps of VIPs: %.1f MiB\n", POOLS_MAX,
		      VNODES * BACKENDS, (double)rings_sum / 0x100000, (double)vips / 0x100000);
	/* A map of 128 KiB each, and what the kernel keeps of a map. */
	assert_in_range(rings_sum / POOLS_MAX >> 10, 128, 140);
	assert_in_range(vips >> 10, 512, 4096);
}

static void set_up(void)
{
	for (uint64_t i = 0; i < RINGS; i++)
		rings[i] = ring_numbered(&ring_hash_xxh64, i, VNODES, BACKENDS);
	for (uint32_t pool = 0; pool < POOLS_MAX; pool++) {
		const struct backend backend = {.forward = FORWARD_DR};

		for (uint32_t i = 0; i < BACKENDS; i++)
			rig_set_backend(&rig, id_of(pool, i), &backend, rig.ingress);
		publish(pool, rings[pool % RINGS]);
	}
	for (uint32_t i = 0; i < VIPS_MAX; i++) {
		const struct endpoint vip = vip_at(i);

		rig_set_vip(&rig, &vip, i, i % POOLS_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_vip),
		cmocka_unit_test(test_one_pool_changes),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_memory),
	};
	int failed;

	test_seed_print();
	rig_open(&rig);
	set_up();
	failed = cmocka_run_group_tests_name("scale", tests, NULL, NULL);
	for (size_t i = 0; i < RINGS; i++)
		ring_free(rings[i]);
	rig_close(&rig);
	return failed;
}
