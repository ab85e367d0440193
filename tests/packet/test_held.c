/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fragments that come before the first one of their datagram, with the part of the daemon
 * that waits for it. What it sends is read at the other end of the veth.
 */
#include "tests/packet/fragments_setup.h"

#include "control/fragments.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#define DATAGRAMS     50
#define SHUFFLED      10000
#define AT_ONCE	      40 /* datagrams whose fragments are mixed */
#define RING_SLOTS    (HELD_RING_BYTES / 2048)
#define LOOP_US	      50000
#define IDLE_TURNS    (2 * FRAGMENTS_WAIT_MS * 1000 / LOOP_US)
#define RECEIVE_BYTES (64 << 20)

static struct control control;
static struct fragments *fragments;
static sd_event *loop;
static int sniffer;

/* veth takes what XDP sends only where a program waits: it passes all. */
static void receive_xdp(uint32_t ifindex)
{
	const struct bpf_insn pass[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_PASS},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "pass", "GPL", pass, ARRAY_LEN(pass), NULL);

	rig_require(fd >= 0, "cannot load a program: %s", strerror(errno));
	rig_require(bpf_xdp_attach((int)ifindex, fd, 0, NULL) == 0, "cannot attach it");
	close(fd);
}

static void open_sniffer(uint32_t ifindex)
{
	const struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)ifindex,
	};
	int bytes = RECEIVE_BYTES;

	sniffer = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0);
	rig_require(sniffer >= 0, "cannot open a packet socket");
	setsockopt(sniffer, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	rig_require(bind(sniffer, (const struct sockaddr *)&address, sizeof(address)) == 0,
		    "cannot bind a packet socket");
}

/* The next frame to a backend that came out. */
static bool next_sent(struct frame *frame)
{
	for (;;) {
		ssize_t len = recv(sniffer, frame->bytes, sizeof(frame->bytes), 0);

		if (len < 0)
			return false;
		frame->len = (size_t)len;
		if (rig_backend_of(frame) != BACKEND_NONE)
			return true;
	}
}

static size_t count_sent(void)
{
	struct frame frame;
	size_t count = 0;

	while (next_sent(&frame))
		count++;
	return count;
}

static void turn(uint64_t timeout_us)
{
	assert_true(sd_event_run(loop, timeout_us) >= 0);
}

/* Until all that was held came again: it is counted twice, and what is sent once. */
static void run_until(const uint64_t before[VERDICT_COUNT], uint64_t sent)
{
	for (;;) {
		uint64_t sum = 0, held = counted(before, HOLD_FRAGMENT);

		for (int v = 0; v < VERDICT_COUNT; v++)
			sum += counted(before, v);
		assert_true(sum - held <= sent);
		if (sum - held == sent)
			return;
		turn(LOOP_US);
	}
}

static int send_piece(const struct datagram *datagram, size_t piece)
{
	struct frame frame;

	make_piece(&frame, datagram, piece);
	return rig_run(&rig, rig.ingress, &frame, &frame);
}

/* The last one first. What comes out are the others, each once, to the right backend. */
static void test_reverse(void **state)
{
	struct rng rng = rng_start(11);
	struct datagram *datagrams = make_datagrams(DATAGRAMS, &rng);
	uint64_t before[VERDICT_COUNT];
	struct frame expected, frame;

	(void)state;
	read_counters(before);
	for (size_t i = 0; i < DATAGRAMS; i++) {
		for (size_t piece = PIECES; piece-- > 0;)
			assert_int_equal(send_piece(&datagrams[i], piece),
					 piece ? XDP_DROP : XDP_TX);
		run_until(before, (i + 1) * PIECES);
		for (size_t piece = PIECES; --piece > 0;) {
			make_piece(&expected, &datagrams[i], piece);
			rig_expect_macs(&expected, datagrams[i].backend);
			assert_true(next_sent(&frame));
			assert_int_equal(frame.len, expected.len);
			assert_memory_equal(frame.bytes, expected.bytes, frame.len);
		}
	}
	assert_int_equal(count_sent(), 0);
	assert_int_equal(counted(before, HOLD_FRAGMENT), DATAGRAMS * (PIECES - 1));
	assert_int_equal(counted(before, TX_BACKEND), DATAGRAMS * PIECES);
	free(datagrams);
}

/* They come while others wait already, and then the first. */
static void test_first_comes_later(void **state)
{
	struct rng rng = rng_start(12);
	struct datagram *datagrams = make_datagrams(DATAGRAMS, &rng);
	uint64_t before[VERDICT_COUNT];

	(void)state;
	read_counters(before);
	for (size_t i = 0; i < DATAGRAMS; i++) {
		send_piece(&datagrams[i], 2);
		send_piece(&datagrams[i], 1);
		turn(0);
	}
	assert_int_equal(counted(before, TX_BACKEND), 0);
	for (size_t i = 0; i < DATAGRAMS; i++) {
		assert_int_equal(send_piece(&datagrams[i], 0), XDP_TX);
		assert_int_equal(send_piece(&datagrams[i], 3), XDP_TX);
	}
	run_until(before, DATAGRAMS * PIECES);
	assert_int_equal(counted(before, HOLD_FRAGMENT), DATAGRAMS * 2);
	assert_int_equal(count_sent(), counted(before, TX_BACKEND) - DATAGRAMS * 2);
	assert_int_equal(counted(before, TX_BACKEND) + counted(before, DROP_FRAGMENT_NO_FIRST),
			 DATAGRAMS * PIECES);
	free(datagrams);
}

static void test_first_never_comes(void **state)
{
	struct rng rng = rng_start(13);
	struct datagram *datagrams = make_datagrams(DATAGRAMS, &rng);
	uint64_t before[VERDICT_COUNT];

	(void)state;
	read_counters(before);
	for (size_t i = 0; i < DATAGRAMS; i++)
		assert_int_equal(send_piece(&datagrams[i], 1 + i % (PIECES - 1)), XDP_DROP);
	run_until(before, DATAGRAMS);
	assert_int_equal(counted(before, HOLD_FRAGMENT), DATAGRAMS);
	assert_int_equal(counted(before, DROP_FRAGMENT_NO_FIRST), DATAGRAMS);
	/* It does not go round: nothing more is counted. */
	for (int i = 0; i < IDLE_TURNS; i++)
		turn(LOOP_US);
	assert_int_equal(counted(before, HOLD_FRAGMENT), DATAGRAMS);
	assert_int_equal(counted(before, DROP_FRAGMENT_NO_FIRST), DATAGRAMS);
	assert_int_equal(count_sent(), 0);
	free(datagrams);
}

/* More than there is room for, and nobody reads: the rest is dropped and counted. */
static void test_no_room(void **state)
{
	const size_t count = 3 * RING_SLOTS;
	struct rng rng = rng_start(14);
	struct datagram *datagrams = make_datagrams(count, &rng);
	uint64_t before[VERDICT_COUNT];

	(void)state;
	read_counters(before);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(send_piece(&datagrams[i], 1), XDP_DROP);
	assert_in_range(counted(before, HOLD_FRAGMENT), RING_SLOTS - 1, RING_SLOTS);
	assert_int_equal(counted(before, DROP_FRAGMENT_NOT_HELD),
			 count - counted(before, HOLD_FRAGMENT));
	run_until(before, count);
	assert_int_equal(counted(before, DROP_FRAGMENT_NO_FIRST), counted(before, HOLD_FRAGMENT));
	free(datagrams);
}

/* A longer frame than a record has room for. */
static void test_too_long(void **state)
{
	const struct frame_spec spec = {
		.flow = {.destination = {vips[0].address[0]},
			 .source = {0x01020304},
			 .protocol = IPPROTO_UDP,
			 .family = ENDPOINT_IPV4},
		.ttl = 64,
		.payload_len = 100,
	};
	struct frame whole, frame = {};
	uint64_t before[VERDICT_COUNT];
	uint8_t bytes[HELD_FRAME_MAX + 1] = {};

	(void)state;
	read_counters(before);
	frame_build(&whole, &spec);
	frame_fragment(&frame, &whole, 1, 8, 16);
	for (size_t len = HELD_FRAME_MAX; len <= sizeof(bytes); len++) {
		/* Ethernet padding, for this purpose. */
		LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = bytes,
			    .data_size_in = (uint32_t)len, .repeat = 1);

		memcpy(bytes, frame.bytes, frame.len);
		assert_int_equal(bpf_prog_test_run_opts(rig.program, &options), 0);
		assert_int_equal(options.retval, XDP_DROP);
	}
	assert_int_equal(counted(before, HOLD_FRAGMENT), 1);
	assert_int_equal(counted(before, DROP_FRAGMENT_NOT_HELD), 1);
	run_until(before, 2);
}

/* What was taken before the end is given back, what was not is there at the next start. */
static void test_end_and_start(void **state)
{
	struct rng rng = rng_start(15);
	struct datagram *datagrams = make_datagrams(DATAGRAMS, &rng);
	uint64_t before[VERDICT_COUNT];

	(void)state;
	read_counters(before);
	for (size_t i = 0; i < DATAGRAMS; i++)
		send_piece(&datagrams[i], 1);
	turn(0);
	turn(0);
	fragments_close(fragments);
	assert_int_equal(counted(before, DROP_FRAGMENT_NO_FIRST), DATAGRAMS);
	for (size_t i = 0; i < DATAGRAMS; i++)
		send_piece(&datagrams[i], 2);
	assert_int_equal(counted(before, HOLD_FRAGMENT), 2 * DATAGRAMS);
	assert_int_equal(fragments_open(&fragments, loop, &control), 0);
	for (size_t i = 0; i < DATAGRAMS; i++)
		send_piece(&datagrams[i], 0);
	run_until(before, 3 * DATAGRAMS);
	assert_int_equal(count_sent(), DATAGRAMS);
	free(datagrams);
}

/* The interface that it came by is no more. */
static void test_interface_gone(void **state)
{
	struct rng rng = rng_start(16);
	struct datagram *datagram = make_datagrams(1, &rng);
	uint32_t ifindex = rig_add_veth("gone");
	uint64_t before[VERDICT_COUNT];
	struct frame frame;

	(void)state;
	read_counters(before);
	make_piece(&frame, datagram, 1);
	assert_int_equal(rig_run(&rig, ifindex, &frame, &frame), XDP_DROP);
	rig_shell("ip link del gone");
	send_piece(datagram, 0);
	run_until(before, 2);
	assert_int_equal(counted(before, DROP_FRAGMENT_NO_FIRST), 1);
	assert_int_equal(count_sent(), 0);
	free(datagram);
}

/* All the pieces of AT_ONCE datagrams in a random order, then the next ones. */
static void test_shuffled(void **state)
{
	struct rng rng = rng_start(17);
	struct datagram *datagrams = make_datagrams(SHUFFLED, &rng);
	uint64_t before[VERDICT_COUNT], sent_at_once = 0, out = 0;
	size_t order[AT_ONCE * PIECES];
	struct frame frame;

	(void)state;
	read_counters(before);
	for (size_t first = 0; first < SHUFFLED; first += AT_ONCE) {
		for (size_t i = 0; i < ARRAY_LEN(order); i++) {
			size_t other = rng_below(&rng, i + 1);

			order[i] = order[other];
			order[other] = i;
		}
		for (size_t i = 0; i < ARRAY_LEN(order); i++)
			sent_at_once += send_piece(&datagrams[first + order[i] / PIECES],
						   order[i] % PIECES) == XDP_TX;
		for (int i = 0; i < 4; i++)
			turn(0);
		while (next_sent(&frame))
			out++;
	}
	run_until(before, SHUFFLED * PIECES);
	out += count_sent();
	printf("# of %d fragments, %" PRIu64 " were held and %" PRIu64 " lost\n", SHUFFLED * PIECES,
	       counted(before, HOLD_FRAGMENT),
	       counted(before, DROP_FRAGMENT_NO_FIRST) + counted(before, DROP_FRAGMENT_NOT_HELD));
	assert_int_equal(counted(before, TX_BACKEND), sent_at_once + out);
	assert_int_equal(counted(before, TX_BACKEND) + counted(before, DROP_FRAGMENT_NO_FIRST) +
				 counted(before, DROP_FRAGMENT_NOT_HELD),
			 SHUFFLED * PIECES);
	/* What else the machine does must not make the test fail: almost nothing is lost. */
	assert_true(counted(before, TX_BACKEND) > SHUFFLED * PIECES * 99 / 100);
	free(datagrams);
}

static int open_all(void **state)
{
	uint32_t peer;

	set_up(state);
	peer = if_nametoindex("rl0-peer");
	receive_xdp(peer);
	open_sniffer(peer);
	control.dp = rig.dp;
	rig_require(sd_event_new(&loop) >= 0 && fragments_open(&fragments, loop, &control) == 0,
		    "cannot set up the loop");
	return 0;
}

static int close_all(void **state)
{
	fragments_close(fragments);
	sd_event_unref(loop);
	close(sniffer);
	return tear_down(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reverse),		  cmocka_unit_test(test_first_comes_later),
		cmocka_unit_test(test_first_never_comes), cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_too_long),	  cmocka_unit_test(test_end_and_start),
		cmocka_unit_test(test_interface_gone),	  cmocka_unit_test(test_shuffled),
	};

	test_seed_print();
	return cmocka_run_group_tests(tests, open_all, close_all);
}
