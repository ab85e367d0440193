/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tcp: a connection is taken. udp: a datagram is answered. A socket for each probe. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/health_probe.h"

void probe_socket_stop(struct probe *probe)
{
	probe->io = sd_event_source_disable_unref(probe->io);
	if (probe->fd >= 0)
		close(probe->fd);
	probe->fd = -1;
}

/* Return: 0, or the errno. */
static int socket_watch(struct probe *probe, uint32_t events, sd_event_io_handler_t handler)
{
	int err =
		sd_event_add_io(probe->prober->loop, &probe->io, probe->fd, events, handler, probe);

	if (err >= 0)
		err = sd_event_source_set_priority(probe->io, PROBE_PRIORITY);
	return err < 0 ? -err : 0;
}

static int tcp_ready(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct probe *probe = context;
	socklen_t len = sizeof(int);
	int error = 0;

	(void)source;
	(void)events;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len))
		error = errno;
	if (error)
		probe_fail(probe, error);
	else
		probe_finish(probe, PROBE_SUCCEEDED, "");
	return 0;
}

/*
 * SYN, SYN-ACK, RST, as HAProxy does it: the handshake's last ACK is held back and
 * the socket is closed without lingering. So the backend's program never sees the
 * connection, and neither side keeps it in TIME-WAIT.
 */
void probe_tcp_start(struct probe *probe)
{
	const struct linger linger = {.l_onoff = 1};
	struct sockaddr_storage address;
	socklen_t len = probe_sockaddr(probe, &address);
	const int off = 0;
	int error;

	probe->fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (probe->fd < 0) {
		probe_fail(probe, errno);
		return;
	}
	setsockopt(probe->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	setsockopt(probe->fd, IPPROTO_TCP, TCP_QUICKACK, &off, sizeof(off));
	if (connect(probe->fd, (struct sockaddr *)&address, len) && errno != EINPROGRESS) {
		probe_fail(probe, errno);
		return;
	}
	error = socket_watch(probe, EPOLLOUT, tcp_ready);
	if (error)
		probe_fail(probe, error);
}

static void udp_fail(struct probe *probe, int error)
{
	/* What an ICMP port unreachable becomes, which says more than the errno's own text. */
	if (error == ECONNREFUSED)
		probe_finish(probe, PROBE_FAILED, "port unreachable");
	else
		probe_fail(probe, error);
}

static int udp_ready(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct probe *probe = context;
	const char *wanted = probe->check->receive;
	char answer[65536];
	ssize_t len = recv(fd, answer, sizeof(answer), 0);

	(void)source;
	(void)events;
	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return 0; /* a checksum was wrong */
	if (len < 0)
		udp_fail(probe, errno);
	else if (memmem(answer, (size_t)len, wanted, strlen(wanted)))
		probe_finish(probe, PROBE_SUCCEEDED, "");
	else
		probe_finish(probe, PROBE_FAILED, "answer does not match");
	return 0;
}

/* Connected, so that only the backend can answer, and ICMP errors come back. */
void probe_udp_start(struct probe *probe)
{
	const char *text = probe->check->send;
	struct sockaddr_storage address;
	socklen_t len = probe_sockaddr(probe, &address);
	int error;

	probe->fd = socket(address.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (probe->fd < 0 || connect(probe->fd, (struct sockaddr *)&address, len) ||
	    send(probe->fd, text, strlen(text), 0) < 0) {
		udp_fail(probe, errno);
		return;
	}
	error = socket_watch(probe, EPOLLIN, udp_ready);
	if (error)
		udp_fail(probe, error);
}
