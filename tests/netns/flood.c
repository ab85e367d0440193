/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A SYN flood: `flood ADDRESS PORT COUNT` sends COUNT SYNs, each from a random address of
 * 198.18.0.0/15 or 2001:db8::/32 and a random port.
 *
 * Their TCP checksum is wrong: a load balancer does not look at it, and the kernels of
 * the backends drop them at once. The flood is for the former alone.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define SEED 20240607

struct syn4 {
	struct iphdr ip;
	struct tcphdr tcp;
};

struct syn6 {
	struct ip6_hdr ip;
	struct tcphdr tcp;
};

static void die(const char *what)
{
	fprintf(stderr, "flood: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void fill_tcp(struct tcphdr *tcp, int port)
{
	tcp->source = (uint16_t)random();
	tcp->dest = htons((uint16_t)port);
	tcp->seq = (uint32_t)random();
	tcp->doff = sizeof(*tcp) / 4;
	tcp->syn = 1;
	tcp->window = htons(64240);
}

/* IPPROTO_RAW: the IP header is ours; the kernel fills in an IPv4 header's checksum. */
static void send_one(int fd, const void *packet, size_t len, const struct sockaddr *to,
		     socklen_t to_len)
{
	while (sendto(fd, packet, len, 0, to, to_len) < 0)
		if (errno != ENOBUFS && errno != EAGAIN)
			die("cannot send");
}

static void flood4(const struct in_addr *address, int port, long count)
{
	const struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = *address};
	int fd = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);

	if (fd < 0)
		die("socket");
	for (; count > 0; count--) {
		struct syn4 syn = {
			.ip.version = 4,
			.ip.ihl = 5,
			.ip.ttl = 64,
			.ip.protocol = IPPROTO_TCP,
			.ip.saddr = htonl(0xc6120000 | (uint32_t)(random() & 0x1ffff)),
			.ip.daddr = address->s_addr,
		};

		fill_tcp(&syn.tcp, port);
		send_one(fd, &syn, sizeof(syn), (const struct sockaddr *)&to, sizeof(to));
	}
}

static void flood6(const struct in6_addr *address, int port, long count)
{
	const struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_addr = *address};
	int fd = socket(AF_INET6, SOCK_RAW, IPPROTO_RAW);

	if (fd < 0)
		die("socket");
	for (; count > 0; count--) {
		struct syn6 syn = {
			.ip.ip6_flow = htonl(6 << 28),
			.ip.ip6_plen = htons(sizeof(syn.tcp)),
			.ip.ip6_nxt = IPPROTO_TCP,
			.ip.ip6_hlim = 64,
			.ip.ip6_dst = *address,
		};

		syn.ip.ip6_src.s6_addr32[0] = htonl(0x20010db8);
		syn.ip.ip6_src.s6_addr32[3] = (uint32_t)random();
		fill_tcp(&syn.tcp, port);
		send_one(fd, &syn, sizeof(syn), (const struct sockaddr *)&to, sizeof(to));
	}
}

int main(int argc, char **argv)
{
	struct in6_addr v6;
	struct in_addr v4;

	if (argc != 4) {
		fputs("usage: flood ADDRESS PORT COUNT\n", stderr);
		return 2;
	}
	srandom(SEED);
	errno = EINVAL;
	if (inet_pton(AF_INET, argv[1], &v4) == 1)
		flood4(&v4, atoi(argv[2]), atol(argv[3]));
	else if (inet_pton(AF_INET6, argv[1], &v6) == 1)
		flood6(&v6, atoi(argv[2]), atol(argv[3]));
	else
		die(argv[1]);
	return 0;
}
