/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Many clients that hold their connections open and use them all the time:
 *
 *   clients tcp|udp ADDRESS PORT COUNT INTERVAL-MS SHORT-RATE STATE
 *
 * COUNT long-lived flows send a request each INTERVAL-MS, one flow after the other; each
 * answer must be the right one, and always of the same backend. Beside them SHORT-RATE
 * connections a second are made for one exchange each. Goes on until SIGTERM.
 *
 * SIGUSR1 writes the state to the file STATE, all at once, as one JSON object; so do the
 * start and SIGTERM. SIGUSR2 closes the long-lived flows of the backend that STATE.close names.
 * Counters:
 *
 *   open, opened, closed, broken    long-lived flows; broken ones by reason below it
 *   quiet          open, but without an answer in the last QUIET_MS
 *   lost           datagrams that were sent again
 *   silence_ms     longest wait for an answer since the last report
 *   broken_at_ms   UNIX time of the last one that broke
 *   short_ok, short_failed, short_slow    slow: something must have been sent twice
 *   backends       by name: open, broken, and short, the exchanges of short ones
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/netns/clients_state.h"

#define EVENTS	   256
#define BRIEF_MAX  512
#define TICK_MS	   5
#define TIMEOUT_MS 30000
#define RESEND_MS  1000 /* of a datagram */
#define SLOW_MS	   900	/* TCP's first SYN retransmission is due after 1000 */

static void fail_errno(struct flow *flow, int err)
{
	if (err == ECONNRESET || err == EPIPE)
		fail(flow, RESET);
	else if (err == ECONNREFUSED)
		fail(flow, REFUSED);
	else
		fail(flow, err == ETIMEDOUT ? TIMEOUT : OTHER);
}

static void write_request(const struct flow *flow, char request[REQUEST_LEN + 1])
{
	snprintf(request, REQUEST_LEN + 1, "%08x%08x", (unsigned int)(flow - all.flows),
		 flow->sequence);
}

static void ask(struct flow *flow)
{
	char request[REQUEST_LEN + 1];

	if (!flow->waiting)
		flow->sequence++;
	write_request(flow, request);
	flow->sent_ms = now_ms();
	flow->waiting = true;
	if (send(flow->fd, request, REQUEST_LEN, MSG_NOSIGNAL) != REQUEST_LEN)
		fail_errno(flow, errno);
}

static void begin(struct flow *flow, bool brief)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = flow};
	int type = (all.tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK;
	uint32_t sequence = flow->sequence;

	*flow = (struct flow){.brief = brief, .begun = true, .backend = -1, .sequence = sequence};
	flow->began_ms = flow->sent_ms = now_ms();
	flow->fd = socket(all.to.ss_family, type, 0);
	if (flow->fd < 0 || epoll_ctl(all.epoll, EPOLL_CTL_ADD, flow->fd, &event))
		die("socket");
	if (connect(flow->fd, (struct sockaddr *)&all.to, all.to_len) && errno != EINPROGRESS)
		fail_errno(flow, errno);
}

static void finish_brief(struct flow *flow)
{
	all.short_ok++;
	all.short_slow += now_ms() - flow->began_ms >= SLOW_MS;
	all.backends[flow->backend].brief++;
	finish(flow);
}

static void take_answer(struct flow *flow)
{
	int64_t silence_ms = now_ms() - flow->sent_ms;
	char request[REQUEST_LEN + 1];
	bool right;
	int backend;

	write_request(flow, request);
	right = flow->waiting && !memcmp(flow->answer + NAME_LEN, request, REQUEST_LEN);
	if (!right && all.tcp) {
		fail(flow, WRONG_ANSWER);
		return;
	}
	backend = find_backend(flow->answer);
	if (flow->backend < 0) {
		flow->backend = backend;
		all.opened += !flow->brief;
		all.backends[backend].open += !flow->brief;
	}
	if (flow->backend != backend) {
		fail(flow, OTHER_BACKEND);
		return;
	}
	/* A datagram that was sent again is answered again, perhaps late. */
	if (!right)
		return;
	flow->waiting = false;
	flow->answered_ms = now_ms();
	all.answers++;
	if (silence_ms > all.silence_ms)
		all.silence_ms = silence_ms;
	if (flow->brief)
		finish_brief(flow);
}

static void receive(struct flow *flow)
{
	while (flow->fd >= 0) {
		ssize_t got = recv(flow->fd, flow->answer + flow->got, ANSWER_LEN - flow->got, 0);

		if (got < 0 && errno == EAGAIN)
			return;
		if (got <= 0) {
			if (got)
				fail_errno(flow, errno);
			else
				fail(flow, ENDED);
			return;
		}
		flow->got += (size_t)got;
		if (flow->got < ANSWER_LEN && all.tcp)
			continue;
		flow->got = 0;
		take_answer(flow);
	}
}

static void handle(struct flow *flow, uint32_t events)
{
	int err = 0;
	socklen_t len = sizeof(err);

	if (flow->fd < 0)
		return;
	if (events & EPOLLERR) {
		getsockopt(flow->fd, SOL_SOCKET, SO_ERROR, &err, &len);
		fail_errno(flow, err);
		return;
	}
	if (!flow->connected && events & EPOLLOUT) {
		flow->connected = true;
		ask(flow);
	}
	if (flow->fd >= 0 && events & EPOLLIN)
		receive(flow);
}

/* It is this flow's turn. */
static void visit(struct flow *flow)
{
	if (!flow->begun) {
		begin(flow, false);
	} else if (flow->fd < 0) {
		return;
	} else if (flow->waiting || !flow->connected) {
		int64_t silence_ms = now_ms() - flow->sent_ms;

		if (now_ms() - flow->began_ms > TIMEOUT_MS && silence_ms > TIMEOUT_MS) {
			fail(flow, TIMEOUT);
		} else if (!all.tcp && silence_ms > RESEND_MS) {
			all.lost++;
			ask(flow);
		}
	} else {
		ask(flow);
	}
}

/* Begin up to @due brief flows. Return: how many. */
static int64_t visit_brief(int64_t due)
{
	int64_t begun = 0;

	for (struct flow *flow = all.flows + all.count; flow < all.flows + all.count + BRIEF_MAX;
	     flow++) {
		if (flow->fd >= 0 && now_ms() - flow->began_ms > TIMEOUT_MS)
			fail(flow, TIMEOUT);
		if (flow->fd < 0 && begun < due) {
			begin(flow, true);
			begun++;
		}
	}
	return begun;
}

static void close_named(void)
{
	char path[4096], name[NAME_LEN + 1] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s.close", all.state);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%16s", name) != 1)
		die(path);
	fclose(file);
	for (struct flow *flow = all.flows; flow < all.flows + all.count; flow++) {
		if (flow->fd < 0 || flow->backend < 0 ||
		    strcmp(all.backends[flow->backend].name, name))
			continue;
		finish(flow);
		all.closed++;
	}
}

/* Return: false once it is time to end. */
static bool take_signal(int fd)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return true;
	if (info.ssi_signo == SIGUSR2)
		close_named();
	else
		report();
	return info.ssi_signo != SIGTERM;
}

static bool wait_for_events(int signals)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(all.epoll, events, EVENTS, TICK_MS);

	for (int i = 0; i < n; i++) {
		if (!events[i].data.ptr) {
			if (!take_signal(signals))
				return false;
		} else {
			handle(events[i].data.ptr, events[i].events);
		}
	}
	return true;
}

static void run(int signals)
{
	int64_t start_ms = now_ms(), visited = 0, brief = 0;

	while (wait_for_events(signals)) {
		int64_t passed_ms = now_ms() - start_ms;
		int64_t turn = passed_ms * all.count / all.interval_ms;

		for (; visited < turn; visited++)
			visit(&all.flows[visited % all.count]);
		brief += visit_brief(passed_ms * all.rate / 1000 - brief);
	}
}

static int watch_signals(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_NONBLOCK);
	if (fd < 0 || epoll_ctl(all.epoll, EPOLL_CTL_ADD, fd, &event))
		die("cannot watch signals");
	return fd;
}

static void read_endpoint(const char *address, int port)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&all.to;
	struct sockaddr_in *v4 = (struct sockaddr_in *)&all.to;

	v4->sin_port = htons((uint16_t)port);
	if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		all.to_len = sizeof(*v4);
		return;
	}
	memset(v4, 0, sizeof(*v4));
	v6->sin6_port = htons((uint16_t)port);
	v6->sin6_family = AF_INET6;
	all.to_len = sizeof(*v6);
	errno = EINVAL;
	if (inet_pton(AF_INET6, address, &v6->sin6_addr) != 1)
		die(address);
}

/* As many sockets as this process may have. */
static void raise_limit(void)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

int main(int argc, char **argv)
{
	int signals;

	if (argc != 8) {
		fputs("usage: clients tcp|udp ADDRESS PORT COUNT INTERVAL-MS SHORT-RATE STATE\n",
		      stderr);
		return 2;
	}
	all.tcp = !strcmp(argv[1], "tcp");
	read_endpoint(argv[2], atoi(argv[3]));
	all.count = atoi(argv[4]);
	all.interval_ms = atoi(argv[5]);
	all.rate = atoi(argv[6]);
	all.state = argv[7];
	all.flows = calloc((size_t)all.count + BRIEF_MAX, sizeof(*all.flows));
	all.epoll = epoll_create1(0);
	if (!all.flows || all.epoll < 0)
		die("cannot start");
	for (int i = 0; i < all.count + BRIEF_MAX; i++)
		all.flows[i].fd = -1;
	raise_limit();
	signals = watch_signals();
	report();
	run(signals);
	return 0;
}
