/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What runs on a backend for clients: `echoes NAME PORT...` answers every request with
 * NAME, on TCP and UDP, in both families, from the address that was asked. exchange.h
 * has the format.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/netns/exchange.h"

#define EVENTS 256

enum kind { LISTENER, CONNECTION, DATAGRAMS };

/* One socket. @have bytes of a request are in @request. */
struct peer {
	enum kind kind;
	int fd;
	size_t have;
	char request[REQUEST_LEN];
};

static char name[NAME_LEN + 1];
static int epoll;

static void die(const char *what)
{
	fprintf(stderr, "echoes: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void watch(enum kind kind, int fd)
{
	struct peer *peer = calloc(1, sizeof(*peer));
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = peer};

	if (!peer)
		die("cannot watch");
	*peer = (struct peer){.kind = kind, .fd = fd};
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl");
}

static int open_socket(int type, int port)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
	int fd = socket(AF_INET6, type | SOCK_NONBLOCK, 0), on = 1, off = 0;

	if (fd < 0 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) ||
	    setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, (struct sockaddr *)&any, sizeof(any)))
		die("cannot serve");
	return fd;
}

static void take_connections(int listener)
{
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0)
		watch(CONNECTION, fd);
}

static void make_answer(char answer[ANSWER_LEN], const char request[REQUEST_LEN])
{
	memcpy(answer, name, NAME_LEN);
	memcpy(answer + NAME_LEN, request, REQUEST_LEN);
}

static void drop(struct peer *peer)
{
	close(peer->fd);
	free(peer);
}

static void answer_connection(struct peer *peer)
{
	ssize_t got = read(peer->fd, peer->request + peer->have, REQUEST_LEN - peer->have);
	char answer[ANSWER_LEN];

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		drop(peer);
		return;
	}
	peer->have += (size_t)got;
	if (peer->have < REQUEST_LEN)
		return;
	peer->have = 0;
	make_answer(answer, peer->request);
	/* A client waits for its answer before it asks again, so there is always room. */
	if (send(peer->fd, answer, ANSWER_LEN, MSG_NOSIGNAL) != ANSWER_LEN)
		drop(peer);
}

/* The answer comes from the address that was asked: a VIP, with dr. */
static void answer_datagram(int fd)
{
	struct sockaddr_in6 from;
	char request[REQUEST_LEN], answer[ANSWER_LEN], control[256];
	struct iovec iov = {.iov_base = request, .iov_len = sizeof(request)};
	struct msghdr message = {
		.msg_name = &from,
		.msg_namelen = sizeof(from),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};

	if (recvmsg(fd, &message, 0) != REQUEST_LEN)
		return;
	for (struct cmsghdr *one = CMSG_FIRSTHDR(&message); one; one = CMSG_NXTHDR(&message, one))
		if (one->cmsg_level == IPPROTO_IPV6 && one->cmsg_type == IPV6_PKTINFO)
			/* Not bound to the interface: a VIP is on lo. */
			((struct in6_pktinfo *)CMSG_DATA(one))->ipi6_ifindex = 0;
	make_answer(answer, request);
	iov = (struct iovec){.iov_base = answer, .iov_len = sizeof(answer)};
	sendmsg(fd, &message, 0);
}

static void serve(int port)
{
	int fd = open_socket(SOCK_STREAM, port);

	if (listen(fd, 4096))
		die("cannot listen");
	watch(LISTENER, fd);
	watch(DATAGRAMS, open_socket(SOCK_DGRAM, port));
}

static void handle(struct peer *peer)
{
	switch (peer->kind) {
	case LISTENER:
		take_connections(peer->fd);
		break;
	case CONNECTION:
		answer_connection(peer);
		break;
	case DATAGRAMS:
		answer_datagram(peer->fd);
		break;
	}
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
	struct epoll_event events[EVENTS];
	int n;

	if (argc < 3 || strlen(argv[1]) > NAME_LEN) {
		fputs("usage: echoes NAME PORT...\n", stderr);
		return 2;
	}
	snprintf(name, sizeof(name), "%-*s", NAME_LEN, argv[1]);
	epoll = epoll_create1(0);
	if (epoll < 0)
		die("cannot start");
	raise_limit();
	for (int i = 2; i < argc; i++)
		serve(atoi(argv[i]));
	puts("ready");
	fflush(stdout);
	while ((n = epoll_wait(epoll, events, EVENTS, -1)) >= 0 || errno == EINTR)
		for (int i = 0; i < n; i++)
			handle(events[i].data.ptr);
	return 0;
}
