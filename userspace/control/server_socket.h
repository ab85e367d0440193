/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The listening unix socket of server.c: claimed, created, renamed into place and
 * given up again. Knows nothing about clients.
 *
 * Between two processes that want the same path, a lock file beside it (PATH.lock,
 * empty, left behind) decides; the kernel drops the lock when its holder dies.
 */
#ifndef RINGLB_CONTROL_SERVER_SOCKET_H
#define RINGLB_CONTROL_SERVER_SOCKET_H

#include <sys/types.h>
#include <sys/un.h>

#define SERVER_SOCKET_PATH_SIZE sizeof(((struct sockaddr_un *)0)->sun_path)

struct server_socket {
	int fd;
	int lock_fd;
	dev_t device; /* what we put at @path, to unlink nobody else's */
	ino_t inode;
	char path[SERVER_SOCKET_PATH_SIZE];
};

/**
 * server_socket_open() - listen on @path, mode 0660, group `ringlb` where it exists
 * @out: filled on success; server_socket_close() it
 *
 * Return: 0; -EADDRINUSE if another process serves @path; -ENOTSOCK if something
 * that is not a socket is there; -ENAMETOOLONG; -errno. On error @out and
 * whatever is at @path are left as they were.
 */
int server_socket_open(struct server_socket *out, const char *path);

/** server_socket_close() - close, and unlink the path if it is still ours */
void server_socket_close(struct server_socket *server_socket);

#endif
