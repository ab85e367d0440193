/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Health checks over tcp, udp and icmp, and what holds for all types, against real sockets. */
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/syscall.h>

#include "health_rig.h"

static void test_tcp(void **state)
{
	static const char *const addresses[] = {"10.1.0.1", "fd00:1::1"};
	struct rig *rig = *state;

	for (size_t i = 0; i < 2; i++) {
		int fd = rig_socket(addresses[i], 80, SOCK_STREAM);
		struct health_status status;

		rig_check(rig, "type: tcp, rise: 2, fall: 3", addresses[i]);
		status = rig_status(rig, "a");
		assert_true(status.checked && status.up && !status.damped);
		assert_int_equal(status.successes + status.failures, 0);
		assert_int_equal(status.rise, 2);
		rig_wait_results(rig, "a", 3, 0);
		assert_int_equal(rig->n_events, 2 * i);
		/* Closed before it was complete: nothing for the server to accept. */
		assert_true(accept(fd, NULL, NULL) < 0 && errno == EAGAIN);
		status = rig_status(rig, "a");
		assert_string_equal(status.reason, "");
		assert_true(status.latency_ms > 0 && status.latency_ms < 100);

		close(fd);
		rig_goes_down(rig, 3, "connection refused");
		fd = rig_socket(addresses[i], 80, SOCK_STREAM);
		rig_goes_up(rig, 2);
		assert_int_equal(rig_status(rig, "a").changes, 2);
		close(fd);
	}
}

/* Another port than the backend's own, and a backend that is down from the start. */
static void test_port_and_first_failure(void **state)
{
	struct rig *rig = *state;
	int fd = rig_socket("10.1.0.1", 80, SOCK_STREAM), other;

	rig_check(rig, "type: tcp, port: 81, rise: 1, fall: 1", "10.1.0.1");
	rig_goes_down(rig, 1, "connection refused");
	other = rig_socket("10.1.0.1", 81, SOCK_STREAM);
	rig_goes_up(rig, 1);
	close(fd);
	close(other);
}

/*
 * Dead silence is seen within fall x interval, although each check has to time out: from
 * the first failure, timeout after its start, it takes 2 x (400 - 200 / 2) more, not 800.
 */
static uint64_t time_to_down_ms(struct rig *rig, const char *address)
{
	uint64_t began;

	rig_configure(rig,
		      "{name: web, forward: nat, check: {type: tcp, interval: 400ms, timeout: "
		      "200ms, fall: 3, jitter: 0%%}, backends: [{name: a, address: %s, port: 80}]}",
		      address);
	rig_wait_results(rig, "a", 0, 1);
	began = clock_us();
	rig_goes_down(rig, 3, "timeout");
	return (clock_us() - began) / 1000;
}

static void test_timeout(void **state)
{
	struct rig *rig = *state;
	uint64_t took_ms = time_to_down_ms(rig, "10.2.0.9");

	/* Another program's work may have come between. */
	for (int i = 10; i < 15 && took_ms > 700; i++) {
		char address[16];

		snprintf(address, sizeof(address), "10.2.0.%d", i);
		took_ms = time_to_down_ms(rig, address);
	}
	assert_in_range(took_ms, 500, 700);
	assert_true(rig_status(rig, "a").latency_ms >= 199);

	rig_configure(rig, "{name: web, forward: nat, check: {type: tcp, fall: 1, " FAST
			   "}, backends: [{name: a, address: 192.0.2.1, port: 80}]}");
	rig_goes_down(rig, 1, "network is unreachable");
}

struct udp {
	int fd;
	sd_event_source *io;
	const char *answer;
	unsigned int asked;
	char request[64];
};

static int udp_asked(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct udp *udp = context;
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	ssize_t got = recvfrom(fd, udp->request, sizeof(udp->request) - 1, 0,
			       (struct sockaddr *)&from, &len);

	(void)source;
	(void)events;
	assert_true(got >= 0);
	udp->request[got] = '\0';
	udp->asked++;
	if (udp->answer)
		assert_true(sendto(fd, udp->answer, strlen(udp->answer), 0,
				   (struct sockaddr *)&from, len) >= 0);
	return 0;
}

static void udp_open(struct rig *rig, struct udp *udp, const char *address)
{
	udp->fd = rig_socket(address, 80, SOCK_DGRAM);
	assert_true(sd_event_add_io(rig->loop, &udp->io, udp->fd, EPOLLIN, udp_asked, udp) >= 0);
}

static void udp_close(struct udp *udp)
{
	sd_event_source_disable_unref(udp->io);
	close(udp->fd);
}

static void test_udp(void **state)
{
	static const char *const addresses[] = {"10.1.0.1", "fd00:1::1"};
	struct rig *rig = *state;

	for (size_t i = 0; i < 2; i++) {
		struct udp udp = {.answer = "a pong!"};

		udp_open(rig, &udp, addresses[i]);
		rig_check(rig, "type: udp, send: 'ping me', receive: pong, rise: 2, fall: 3",
			  addresses[i]);
		rig_wait_results(rig, "a", 3, 0);
		assert_string_equal(udp.request, "ping me");
		assert_in_range(udp.asked, 3, 5);
		udp_close(&udp);
		rig_goes_down(rig, 3, "port unreachable");

		udp = (struct udp){.answer = "pongpong"};
		udp_open(rig, &udp, addresses[i]);
		rig_goes_up(rig, 2);
		assert_in_range(udp.asked, 2, 4);
		udp.answer = "pon";
		rig_goes_down(rig, 3, "answer does not match");
		udp.answer = "pong";
		rig_goes_up(rig, 2);
		udp.answer = NULL;
		rig_goes_down(rig, 3, "timeout");
		udp_close(&udp);
	}
}

/* Without `receive` any answer will do, even an empty one. */
static void test_udp_any_answer(void **state)
{
	struct udp udp = {.answer = ""};
	struct rig *rig = *state;

	udp_open(rig, &udp, "10.1.0.1");
	rig_check(rig, "type: udp, send: x, fall: 1", "10.1.0.1");
	rig_wait_results(rig, "a", 2, 0);
	udp_close(&udp);
}

static void write_sysctl(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, value, strlen(value)), strlen(value));
	close(fd);
}

static void test_icmp(void **state)
{
	static const struct {
		const char *address;
		const char *silence;
	} rows[] = {
		{"10.1.0.1", "/proc/sys/net/ipv4/icmp_echo_ignore_all"},
		{"fd00:1::1", "/proc/sys/net/ipv6/icmp/echo_ignore_all"},
	};
	struct rig *rig = *state;

	for (size_t i = 0; i < 2; i++) {
		rig_check(rig, "type: icmp, rise: 2, fall: 3", rows[i].address);
		rig_wait_results(rig, "a", 3, 0);
		write_sysctl(rows[i].silence, "1");
		rig_goes_down(rig, 3, "timeout");
		write_sysctl(rows[i].silence, "0");
		rig_goes_up(rig, 2);
	}
	rig_check(rig, "type: icmp, fall: 1", "192.0.2.1");
	rig_goes_down(rig, 1, "network is unreachable");
}

static void set_raw_allowed(bool allowed)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	assert_int_equal(syscall(SYS_capget, &header, data), 0);
	data[0].effective &= ~(1U << CAP_NET_RAW);
	data[0].effective |= (unsigned int)allowed << CAP_NET_RAW;
	assert_int_equal(syscall(SYS_capset, &header, data), 0);
}

/* Without CAP_NET_RAW: by ping sockets where the group may, else not at all. */
static void test_icmp_unprivileged(void **state)
{
	struct rig *rig = *state;
	struct health_status status;

	set_raw_allowed(false);
	write_sysctl("/proc/sys/net/ipv4/ping_group_range", "1 0");
	rig_check(rig, "type: icmp, fall: 1", "10.1.0.1");
	rig_wait_reason(rig, "a", "permission denied");
	status = rig_status(rig, "a");
	assert_true(status.up);
	assert_int_equal(status.successes + status.failures, 0);

	write_sysctl("/proc/sys/net/ipv4/ping_group_range", "0 0");
	rig_check(rig, "type: icmp, fall: 2", "10.1.0.1");
	rig_wait_results(rig, "a", 2, 0);
	rig_check(rig, "type: icmp, fall: 1", "fd00:1::1");
	rig_wait_results(rig, "a", 2, 0);
	rig_check(rig, "type: icmp, fall: 1", "10.2.0.9");
	rig_goes_down(rig, 1, "timeout");
	set_raw_allowed(true);
}

/* This host's own trouble is no backend's failure. */
static void test_no_file_descriptors(void **state)
{
	struct rig *rig = *state;
	int fd = rig_socket("10.1.0.1", 80, SOCK_STREAM), last;
	struct rlimit limit, none;

	rig_check(rig, "type: tcp, fall: 1", "10.1.0.1");
	rig_wait_results(rig, "a", 1, 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(limit.rlim_cur == limit.rlim_max);
	last = dup(0);
	none = (struct rlimit){(rlim_t)last, limit.rlim_max};
	close(last);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	rig_wait_reason(rig, "a", "too many open files");
	assert_int_equal(rig_status(rig, "a").failures, 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	rig_wait_results(rig, "a", rig_status(rig, "a").successes + 2, 0);
	assert_int_equal(rig->n_events, 0);
	close(fd);
}

/* A daemon that was away finds the answers and does not call them late. */
static void test_loop_away(void **state)
{
	struct rig *rig = *state;
	int fd = rig_socket("10.1.0.1", 80, SOCK_STREAM);

	rig_configure(rig,
		      "{name: web, forward: nat, check: {type: tcp, fall: 1, " FAST
		      "}, backends: [{name: a, address: 10.1.0.1, port: 80}]},"
		      "{name: ping, forward: nat, check: {type: icmp, fall: 1, " FAST
		      "}, backends: [{name: a, address: 10.1.0.1}, {name: b, address: 10.1.0.2},"
		      " {name: c, address: 10.1.0.3}, {name: d, address: 'fd00:1::1'}]}");
	for (int i = 0; i < 100; i++) {
		/* One thing at a time, so that checks are in flight when it goes away. */
		rig_turn(rig, 30000);
		if (i % 5 == 0)
			usleep(70000);
	}
	assert_int_equal(rig->n_events, 0);
	assert_true(rig_status(rig, "a").successes > 2);
	close(fd);
}

static void flap(struct rig *rig, const struct event *event)
{
	int *fd = rig->context;

	if (event->up)
		close(*fd);
	else
		*fd = rig_socket("10.1.0.1", 80, SOCK_STREAM);
}

static void test_damping(void **state)
{
	struct rig *rig = *state;
	int fd = -1;

	rig->on_event = flap;
	rig->context = &fd;
	rig_check(rig, "type: tcp, rise: 1, fall: 1", "10.1.0.1");
	for (int i = 0; i < 3; i++) {
		rig_goes_down(rig, 1, "connection refused");
		assert_false(rig_status(rig, "a").damped);
		rig_goes_up(rig, 1);
	}
	rig_goes_down(rig, 1, "connection refused");
	assert_true(rig_status(rig, "a").damped);
	assert_int_equal(rig_status(rig, "a").rise, 2);
	assert_int_equal(rig_status(rig, "a").changes, 7);
	rig_goes_up(rig, 2);
	assert_true(rig_status(rig, "a").damped);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG(test_tcp),
		RIG(test_port_and_first_failure),
		RIG(test_timeout),
		RIG(test_udp),
		RIG(test_udp_any_answer),
		RIG(test_icmp),
		RIG(test_icmp_unprivileged),
		RIG(test_no_file_descriptors),
		RIG(test_loop_away),
		RIG(test_damping),
	};

	return cmocka_run_group_tests_name("health", tests, NULL, NULL);
}
