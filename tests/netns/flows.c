/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Many short flows, each from a source port that is known, and who answered them:
 *
 *   flows serve NAME PORT...     answer NAME to each UDP datagram, from the address
 *                                that it was sent to
 *   flows ask PROTO SOURCE ADDRESS PORT SOURCE-PORT...
 *                                one request from each source port (N or N-N); prints
 *                                "SOURCE-PORT NAME" for each, NAME being "-" for none
 *   flows stream PROTO SOURCE ADDRESS PORT SOURCE-PORT...
 *                                the same again and again until SIGTERM, then prints
 *                                "requests N errors N slow N"
 *
 * PROTO is tcp (HTTP, a new connection for each) or udp. A request is slow if it took
 * so long that a lost packet must have been sent again.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NAME_LEN	64
#define TIMEOUT_S	4
#define SLOW_MS		900 /* TCP's first SYN retransmission is due after 1000 */
#define PAUSE_US	500
#define SERVE_PORTS_MAX 8

static volatile sig_atomic_t stopped;

static void stop(int signal_number)
{
	(void)signal_number;
	stopped = 1;
}

static void die(const char *what)
{
	fprintf(stderr, "flows: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static socklen_t read_endpoint(struct sockaddr_storage *out, const char *address, int port)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
	struct sockaddr_in *v4 = (struct sockaddr_in *)out;

	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		return sizeof(*v4);
	}
	if (inet_pton(AF_INET6, address, &v6->sin6_addr) != 1) {
		errno = EINVAL;
		die(address);
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons((uint16_t)port);
	return sizeof(*v6);
}

struct asker {
	bool tcp;
	const char *source;
	struct sockaddr_storage to;
	socklen_t to_len;
	int ports[65536];
	int count;
	int errors, slow;
};

static int open_flow(const struct asker *asker, int port)
{
	const struct timeval timeout = {.tv_sec = TIMEOUT_S};
	struct sockaddr_storage from;
	socklen_t from_len = read_endpoint(&from, asker->source, port);
	int fd = socket(asker->to.ss_family, asker->tcp ? SOCK_STREAM : SOCK_DGRAM, 0), on = 1;

	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (!bind(fd, (struct sockaddr *)&from, from_len) &&
	    !connect(fd, (const struct sockaddr *)&asker->to, asker->to_len))
		return fd;
	fprintf(stderr, "flows: port %d: %s\n", port, strerror(errno));
	close(fd);
	return -1;
}

/* The last line of what is answered. */
static bool exchange(int fd, bool tcp, char name[NAME_LEN])
{
	static const char request[] = "GET / HTTP/1.0\r\n\r\n";
	char answer[4096], *line;
	size_t len = 0;
	ssize_t got;

	if (send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) < 0)
		return false;
	do {
		got = recv(fd, answer + len, sizeof(answer) - 1 - len, 0);
		if (got < 0)
			return false;
		len += (size_t)got;
	} while (tcp && got && len < sizeof(answer) - 1);
	if (len && answer[len - 1] == '\n')
		len--;
	answer[len] = 0;
	line = strrchr(answer, '\n');
	snprintf(name, NAME_LEN, "%.*s", NAME_LEN - 1, line ? line + 1 : answer);
	return len > 0;
}

static void ask(struct asker *asker, int port, bool print)
{
	int64_t start = now_ms(), took;
	int fd = open_flow(asker, port);
	char name[NAME_LEN] = "-";

	if (fd < 0 || !exchange(fd, asker->tcp, name)) {
		/* An interrupted last request says nothing. */
		if (!stopped) {
			asker->errors++;
			fprintf(stderr, "flows: port %d: no answer: %s\n", port, strerror(errno));
		}
	}
	if (fd >= 0)
		close(fd);
	took = now_ms() - start;
	asker->slow += took >= SLOW_MS;
	if (print)
		printf("%d %s\n", port, name);
}

static int run_ask(struct asker *asker)
{
	for (int i = 0; i < asker->count; i++)
		ask(asker, asker->ports[i], true);
	return asker->errors > 0;
}

static int run_stream(struct asker *asker)
{
	int requests = 0;

	for (; !stopped; requests++) {
		ask(asker, asker->ports[requests % asker->count], false);
		usleep(PAUSE_US);
	}
	printf("requests %d errors %d slow %d\n", requests, asker->errors, asker->slow);
	return 0;
}

/* Send the answer from the address that was asked: a VIP, with dr. */
static void answer(int fd, const char *name)
{
	struct sockaddr_in6 peer;
	char request[512], control[256];
	struct iovec iov = {.iov_base = request, .iov_len = sizeof(request)};
	struct msghdr message = {
		.msg_name = &peer,
		.msg_namelen = sizeof(peer),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	char text[NAME_LEN];

	if (recvmsg(fd, &message, 0) < 0)
		return;
	for (struct cmsghdr *one = CMSG_FIRSTHDR(&message); one; one = CMSG_NXTHDR(&message, one))
		if (one->cmsg_level == IPPROTO_IPV6 && one->cmsg_type == IPV6_PKTINFO)
			/* Not bound to the interface: a VIP is on lo. */
			((struct in6_pktinfo *)CMSG_DATA(one))->ipi6_ifindex = 0;
	iov.iov_base = text;
	iov.iov_len = (size_t)snprintf(text, sizeof(text), "%s\n", name);
	sendmsg(fd, &message, 0);
}

static int listen_udp(int port)
{
	struct sockaddr_storage any;
	socklen_t len = read_endpoint(&any, "::", port);
	int fd = socket(AF_INET6, SOCK_DGRAM, 0), on = 1, off = 0;

	if (fd < 0 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) ||
	    setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on)) ||
	    bind(fd, (struct sockaddr *)&any, len))
		die("cannot serve");
	return fd;
}

static int run_serve(const char *name, char **ports, int n_ports)
{
	struct pollfd fds[SERVE_PORTS_MAX];

	if (n_ports > SERVE_PORTS_MAX)
		return 2;
	for (int i = 0; i < n_ports; i++)
		fds[i] = (struct pollfd){.fd = listen_udp(atoi(ports[i])), .events = POLLIN};
	puts("ready");
	fflush(stdout);
	while (!stopped && (poll(fds, (nfds_t)n_ports, -1) >= 0 || errno == EINTR))
		for (int i = 0; i < n_ports; i++)
			if (fds[i].revents & POLLIN)
				answer(fds[i].fd, name);
	return 0;
}

static void add_ports(struct asker *asker, char **ranges, int n_ranges)
{
	for (int i = 0; i < n_ranges; i++) {
		char *end;
		long first = strtol(ranges[i], &end, 10), last = first;

		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		errno = EINVAL;
		if (*end || first < 1 || last > 65535)
			die(ranges[i]);
		for (; first <= last && asker->count < 65536; first++)
			asker->ports[asker->count++] = (int)first;
	}
}

int main(int argc, char **argv)
{
	static struct asker asker;

	sigaction(SIGTERM, &(struct sigaction){.sa_handler = stop}, NULL);
	if (argc >= 4 && !strcmp(argv[1], "serve"))
		return run_serve(argv[2], argv + 3, argc - 3);
	if (argc < 7) {
		fputs("usage: flows serve NAME PORT... | "
		      "flows ask|stream PROTO SOURCE ADDRESS PORT SOURCE-PORT...\n",
		      stderr);
		return 2;
	}
	asker.tcp = !strcmp(argv[2], "tcp");
	asker.source = argv[3];
	asker.to_len = read_endpoint(&asker.to, argv[4], atoi(argv[5]));
	add_ports(&asker, argv + 6, argc - 6);
	return !strcmp(argv[1], "stream") ? run_stream(&asker) : run_ask(&asker);
}
