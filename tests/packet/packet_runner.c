/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rig for other languages: reads one command a line, a JSON object, from
 * standard input and answers each with one line, {"error": TEXT} if it failed.
 * `do` says what; ports are numbers, addresses text, protocols "tcp", "udp"
 * or "sctp".
 *
 *   shell      command                     runs in the namespaces of the rig
 *   ifindex    name                        {"ifindex": N}
 *   egress     ifindex
 *   vip        address protocol port last vip pool quic flags mss   quic... as in struct vip
 *   quic_id    pool config octets backend               octets are hex digits
 *   reply      address protocol port to_address to_port flags  flags as in struct reply
 *   backend    id address port forward flags   forward is "dr", "nat", "ipip" or "gue"
 *   encap      seed source_ipv4 hosts_ipv4 source_ipv6 hosts_ipv6   all but seed addresses
 *   nexthop    id ifindex destination source
 *   mtu        id mtu
 *   answers    full                        the buckets of too_big.h are full in so many ms
 *   ring       pool seed vnodes backends   an array of ids, of weight 1 each
 *   no_ring    pool
 *   fragments                              {"entries": N}: remembered datagrams
 *   age        seconds                     the only one of these, by so much
 *   forget                                 all of these
	,
 *                  {"action": "TX", "verdict": "TX_BACKEND", "frame": HEX}
 *   flood      frame ifindex times         the same again and again, as fast as it goes:
 *                  {"ms": N, "counts": {"TX_BACKEND": N, ...}}
 *   run_long   frame ifindex linear        rig_run_long(); {} if the kernel can't
 *
 * The verdict of a run is the one whose counter rose; it is an error unless
 * exactly one rose, by one.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <jansson.h>
#include <xdp/libxdp.h>

#include "control/control.h"
#include "tests/packet/rig.h"

#define BACKENDS_OF_A_RING 64
#define CPUS_MAX	   4096
#define ARRAY_LEN(array)   (sizeof(array) / sizeof((array)[0]))

static struct rig rig;
static struct control *control;
static uint64_t verdicts[VERDICT_COUNT];

/* A handler's answer is a new object; NULL stands for a refused command. */
typedef json_t *(*handler)(const json_t *command);

static const char *text_of(const json_t *command, const char *name)
{
	const char *text = json_string_value(json_object_get(command, name));

	return text ? text : "";
}

static uint32_t number_of(const json_t *command, const char *name)
{
	return (uint32_t)json_integer_value(json_object_get(command, name));
}

static uint8_t read_address(const json_t *command, const char *name, __be32 address[4])
{
	const char *text = text_of(command, name);

	memset(address, 0, 16);
	if (inet_pton(AF_INET, text, address) == 1)
		return ENDPOINT_IPV4;
	return inet_pton(AF_INET6, text, address) == 1 ? ENDPOINT_IPV6 : 0;
}

static uint8_t read_protocol(const json_t *command)
{
	const char *text = text_of(command, "protocol");

	if (strcmp(text, "udp") == 0)
		return IPPROTO_UDP;
	return strcmp(text, "sctp") ? IPPROTO_TCP : IPPROTO_SCTP;
}

static struct endpoint read_endpoint(const json_t *command)
{
	struct endpoint key = {
		.port = htons((uint16_t)number_of(command, "port")),
		.protocol = read_protocol(command),
	};

	key.family = read_address(command, "address", key.address);
	return key;
}

static bool read_mac(const json_t *command, const char *name, uint8_t mac[6])
{
	return sscanf(text_of(command, name), "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1],
		      &mac[2], &mac[3], &mac[4], &mac[5]) == 6;
}

static json_t *done(int err)
{
	return err ? json_pack("{s:s}", "error", strerror(-err)) : json_object();
}

static json_t *do_shell(const json_t *command)
{
	return done(system(text_of(command, "command")) ? -ECANCELED : 0);
}

static json_t *do_ifindex(const json_t *command)
{
	return json_pack("{s:i}", "ifindex", (int)if_nametoindex(text_of(command, "name")));
}

static json_t *do_egress(const json_t *command)
{
	return done(dataplane_allow_egress(rig.dp, number_of(command, "ifindex")));
}

static json_t *do_vip(const json_t *command)
{
	const struct endpoint key = read_endpoint(command);
	const struct vip value = {
		.vip = number_of(command, "vip"),
		.pool = number_of(command, "pool"),
		.quic = number_of(command, "quic"),
		.flags = (uint8_t)number_of(command, "flags"),
		.mss = (uint16_t)number_of(command, "mss"),
	};

	if (!key.family)
		return NULL;
	if (number_of(command, "last"))
		rig_set_vip_range(&rig, &key, (uint16_t)number_of(command, "last"), &value);
	else
		rig_set_vip_value(&rig, &key, &value);
	return json_object();
}

/* As many octets as @text has, or -1. */
static int read_octets(const char *text, uint8_t *octets, size_t max)
{
	size_t len = strlen(text) / 2;

	if (len > max || strlen(text) % 2)
		return -1;
	for (size_t i = 0; i < len; i++) {
		if (sscanf(text + 2 * i, "%2hhx", &octets[i]) != 1)
			return -1;
	}
	return (int)len;
}

static json_t *do_quic_id(const json_t *command)
{
	uint32_t id = number_of(command, "backend");
	struct quic_id key = {
		.pool = number_of(command, "pool"),
		.config = number_of(command, "config"),
	};
	struct quic_backend value = {.backend = id};
	int len = read_octets(text_of(command, "octets"), key.octets, QUIC_ID_LEN_MAX);

	if (len < 1 || id >= BACKENDS_MAX)
		return NULL;
	key.len = (uint8_t)len;
	value.incarnation = dataplane_get_backend(rig.dp, id)->incarnation;
	return done(dataplane_set_quic_id(rig.dp, &key, &value));
}

static json_t *do_reply(const json_t *command)
{
	const struct endpoint key = read_endpoint(command);
	struct reply value = {
		.port = htons((uint16_t)number_of(command, "to_port")),
		.flags = (uint8_t)number_of(command, "flags"),
	};

	if (!key.family || read_address(command, "to_address", value.address) != key.family)
		return NULL;
	return done(dataplane_set_reply(rig.dp, &key, &value));
}

static uint8_t read_forward(const json_t *command)
{
	static const char *const names[] = {
		[FORWARD_DR] = "dr",
		[FORWARD_NAT] = "nat",
		[FORWARD_IPIP] = "ipip",
		[FORWARD_GUE] = "gue",
	};

	for (uint8_t i = FORWARD_DR; i < ARRAY_LEN(names); i++)
		if (strcmp(text_of(command, "forward"), names[i]) == 0)
			return i;
	return 0;
}

static json_t *do_backend(const json_t *command)
{
	struct backend value = {
		.port = htons((uint16_t)number_of(command, "port")),
		.forward = read_forward(command),
		.flags = (uint8_t)number_of(command, "flags"),
	};

	value.family = read_address(command, "address", value.address);
	if (!value.family || !value.forward)
		return NULL;
	return done(dataplane_set_backend(rig.dp, number_of(command, "id"), &value));
}

static json_t *do_encap(const json_t *command)
{
	struct encap value = {.seed = number_of(command, "seed")};
	__be32 ipv4[4], hosts_ipv4[4], hosts_ipv6[4];

	if (read_address(command, "source_ipv4", ipv4) != ENDPOINT_IPV4 ||
	    read_address(command, "hosts_ipv4", hosts_ipv4) != ENDPOINT_IPV4 ||
	    read_address(command, "source_ipv6", value.source_ipv6) != ENDPOINT_IPV6 ||
	    read_address(command, "hosts_ipv6", hosts_ipv6) != ENDPOINT_IPV6)
		return NULL;
	value.source_ipv4 = ipv4[0];
	value.hosts_ipv4 = hosts_ipv4[0];
	memcpy(value.hosts_ipv6, hosts_ipv6 + 2, sizeof(value.hosts_ipv6));
	return done(dataplane_set_encap(rig.dp, &value));
}

static json_t *do_nexthop(const json_t *command)
{
	struct nexthop value = {.ifindex = number_of(command, "ifindex")};
	uint32_t id = number_of(command, "id");

	if (id >= BACKENDS_MAX || !read_mac(command, "destination", value.destination) ||
	    !read_mac(command, "source", value.source))
		return NULL;
	dataplane_set_nexthop(rig.dp, id, &value);
	return done(0);
}

static json_t *do_mtu(const json_t *command)
{
	uint32_t id = number_of(command, "id");

	if (id >= BACKENDS_MAX)
		return NULL;
	dataplane_set_mtu(rig.dp, id, (uint16_t)number_of(command, "mtu"));
	return done(0);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static json_t *do_answers(const json_t *command)
{
	int fd = bpf_obj_get(DATAPLANE_PIN_DIR "/too_big_times"), n = libbpf_num_possible_cpus();
	uint64_t times[CPUS_MAX];
	uint32_t key = 0;
	int err;

	rig_require(fd >= 0 && n > 0 && n <= CPUS_MAX, "cannot open the map of times");
	for (int i = 0; i < n; i++)
		times[i] = now_ns() + number_of(command, "full") * 1000000ULL;
	err = bpf_map_update_elem(fd, &key, times, BPF_ANY) ? -errno : 0;
	close(fd);
	return done(err);
}

static json_t *do_ring(const json_t *command)
{
	const struct ring_params params = {
		.hash = &ring_hash_xxh64,
		.seed = number_of(command, "seed"),
		.vnodes = number_of(command, "vnodes"),
	};
	const json_t *backends = json_object_get(command, "backends");
	struct ring_member members[BACKENDS_OF_A_RING] = {};
	uint32_t ids[BACKENDS_OF_A_RING];
	size_t len = json_array_size(backends);
	struct ring *ring = NULL;
	int err;

	if (len > BACKENDS_OF_A_RING)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		ids[i] = (uint32_t)json_integer_value(json_array_get(backends, i));
		/* Names ascend as the ids are given, so ids[i] stays that of members[i]. */
		snprintf(members[i].name, sizeof(members[i].name), "backend-%02zu", i);
		members[i].weight_milli = RING_WEIGHT_ONE;
	}
	err = ring_build(&ring, &params, members, len);
	if (err)
		return done(err);
	rig_publish(&rig, number_of(command, "pool"), ring, ids);
	ring_free(ring);
	return done(0);
}

static json_t *do_no_ring(const json_t *command)
{
	return done(dataplane_remove_ring(rig.dp, number_of(command, "pool")));
}

/* Step through the map of fragments. */
static bool next_fragment(int fd, struct fragment_key *key, struct fragment_entry *entry)
{
	return !bpf_map_get_next_key(fd, key, key) && !bpf_map_lookup_elem(fd, key, entry);
}

static int fragments_fd(void)
{
	int fd = bpf_obj_get(DATAPLANE_PIN_DIR "/fragments");

	rig_require(fd >= 0, "cannot open the map of fragments");
	return fd;
}

static json_t *do_fragments(const json_t *command)
{
	struct fragment_key key = {};
	struct fragment_entry entry;
	int fd = fragments_fd(), entries = 0;

	(void)command;
	while (next_fragment(fd, &key, &entry))
		entries++;
	close(fd);
	return json_pack("{s:i}", "entries", entries);
}

static json_t *do_age(const json_t *command)
{
	struct fragment_key key = {};
	struct fragment_entry entry;
	int fd = fragments_fd(), err = -ENOENT;

	if (next_fragment(fd, &key, &entry)) {
		entry.expires_s -= number_of(command, "seconds");
		err = bpf_map_update_elem(fd, &key, &entry, BPF_EXIST) ? -errno : 0;
	}
	close(fd);
	return done(err);
}

static json_t *do_forget(const json_t *command)
{
	struct fragment_key key = {};
	int fd = fragments_fd(), err = 0;

	(void)command;
	while (!err && !bpf_map_get_next_key(fd, NULL, &key))
		err = bpf_map_delete_elem(fd, &key);
	close(fd);
	return done(err);
}

static json_t *done_by(int err, const struct control_error *error)
{
	return err ? json_pack("{s:s}", "error", error->what) : json_object();
}

static json_t *do_daemon(const json_t *command)
{
	const struct control_options options = {
		.config_path = text_of(command, "config"),
		.pin_dir = DATAPLANE_PIN_DIR,
		.state_dir = text_of(command, "state"),
	};
	struct control_error error = {};
	int err;

	if (control)
		return NULL;
	/* What they say of a kernel without dispatchers is no news. */
	libbpf_set_print(NULL);
	libxdp_set_print(NULL);
	/* One at a time. */
	dataplane_close(rig.dp);
	rig.dp = NULL;
	err = control_open(&control, &options, &error);
	if (!err) {
		rig.dp = control->dp;
		rig.program = dataplane_program_fd(rig.dp);
	}
	return done_by(err, &error);
}

static json_t *do_down(const json_t *command)
{
	struct control_pool *pool =
		control ? control_find_pool(control, text_of(command, "pool")) : NULL;
	struct control_error error = {};
	uint16_t member;

	if (!pool)
		return NULL;
	member = ring_find_member(pool->ring, text_of(command, "backend"));
	if (member == RING_NONE)
		return NULL;
	pool->down[member] = true;
	return done_by(control_refresh_rings(control, &error), &error);
}

static bool read_frame(const json_t *command, struct frame *frame)
{
	int len = read_octets(text_of(command, "frame"), frame->bytes, RIG_FRAME_TOP);

	frame->len = (size_t)len;
	return len >= RIG_FRAME_MIN;
}

/* The one verdict that was counted since the last call, or VERDICT_COUNT. */
static int counted_verdict(void)
{
	uint64_t rose = 0;
	int which = VERDICT_COUNT;

	for (int v = 0; v < VERDICT_COUNT; v++) {
		uint64_t now = rig_verdict(&rig, v);

		if (now != verdicts[v])
			which = v;
		rose += now - verdicts[v];
		verdicts[v] = now;
	}
	return rose == 1 ? which : VERDICT_COUNT;
}

static json_t *outcome(int action, const uint8_t *bytes, size_t len)
{
	static const char *const actions[] = {"ABORTED", "DROP", "PASS", "TX", "REDIRECT"};
	static char text[2 * RIG_LONG_MAX + 1];
	int verdict = counted_verdict();

	if (verdict == VERDICT_COUNT || action < 0 || action >= (int)ARRAY_LEN(actions))
		return json_pack("{s:s}", "error", "not exactly one verdict was counted");
	text[0] = 0;
	for (size_t i = 0; i < len; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return json_pack("{s:s, s:s, s:s}", "action", actions[action], "verdict",
			 verdict_name(verdict), "frame", text);
}

static json_t *do_run(const json_t *command)
{
	uint64_t mark = (uint64_t)json_integer_value(json_object_get(command, "mark"));
	struct frame frame;
	int action;

	if (!read_frame(command, &frame))
		return NULL;
	action = rig_run_marked(&rig, number_of(command, "ifindex"), &frame, mark, &frame);
	return outcome(action, frame.bytes, frame.len);
}

static json_t *do_flood(const json_t *command)
{
	uint32_t times = number_of(command, "times");
	json_t *counts = json_object();
	struct frame in, out;
	uint64_t before_ns = now_ns(), ns;

	if (!read_frame(command, &in))
		return NULL;
	counted_verdict();
	for (uint32_t i = 0; i < times; i++)
		rig_run(&rig, number_of(command, "ifindex"), &in, &out);
	ns = now_ns() - before_ns;
	for (int v = 0; v < VERDICT_COUNT; v++)
		if (rig_verdict(&rig, v) != verdicts[v])
			json_object_set_new(
				counts, verdict_name(v),
				json_integer((json_int_t)(rig_verdict(&rig, v) - verdicts[v])));
	counted_verdict();
	return json_pack("{s:I, s:o}", "ms", (json_int_t)(ns / 1000000), "counts", counts);
}

static json_t *do_run_long(const json_t *command)
{
	static uint8_t in[RIG_LONG_TOP], out[RIG_LONG_MAX];
	int len = read_octets(text_of(command, "frame"), in, sizeof(in)), action;
	size_t out_len = 0;

	if (len < RIG_FRAME_MIN)
		return NULL;
	action = rig_run_long(&rig, number_of(command, "ifindex"), number_of(command, "linear"), in,
			      (size_t)len, out, &out_len);
	return action == -EINVAL ? json_object() : outcome(action, out, out_len);
}

static const struct {
	const char *name;
	handler run;
} handlers[] = {
	{"shell", do_shell},
	{"ifindex", do_ifindex},
	{"egress", do_egress},
	{"vip", do_vip},
	{"reply", do_reply},
	{"backend", do_backend},
	{"encap", do_encap},
	{"nexthop", do_nexthop},
	{"ring", do_ring},
	{"no_ring", do_no_ring},
	{"quic_id", do_quic_id},
	{"run", do_run},
	{"run_long", do_run_long},
	{"flood", do_flood},
	{"age", do_age},
	{"forget", do_forget},
	{"fragments", do_fragments},
	{"daemon", do_daemon},
	{"down", do_down},
	{"mtu", do_mtu},
	{"answers", do_answers},
};

static json_t *answer(const char *line)
{
	json_t *command = json_loads(line, 0, NULL), *reply = NULL;
	const char *name = text_of(command, "do");

	for (size_t i = 0; i < ARRAY_LEN(handlers); i++) {
		if (strcmp(handlers[i].name, name) == 0)
			reply = handlers[i].run(command);
	}
	json_decref(command);
	return reply ? reply : json_pack("{s:s}", "error", "bad command");
}

int main(void)
{
	size_t size = 0;
	char *line = NULL;

	rig_open(&rig);
	while (getline(&line, &size, stdin) > 0) {
		json_t *reply = answer(line);

		json_dumpf(reply, stdout, JSON_COMPACT);
		putchar('\n');
		fflush(stdout);
		json_decref(reply);
	}
	free(line);
	if (control)
		rig.dp = NULL;
	control_close(control);
	rig_close(&rig);
	return 0;
}
