/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "control/server_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOCKET_MODE    0660
#define SOCKET_GROUP   "ringlb"
#define SOCKET_BACKLOG 64

/* Return: 0, or -ENAMETOOLONG if @path and @suffix do not fit a socket address. */
static int socket_address(struct sockaddr_un *address, const char *path, const char *suffix)
{
	int len;

	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	len = snprintf(address->sun_path, sizeof(address->sun_path), "%s%s", path, suffix);
	if (len < 0 || (size_t)len >= sizeof(address->sun_path))
		return -ENAMETOOLONG;
	return 0;
}

/* Return: a file descriptor that holds the lock; -EADDRINUSE if another has it; -errno. */
static int path_lock(const char *path)
{
	char name[PATH_MAX];
	int err, fd;

	if (snprintf(name, sizeof(name), "%s.lock", path) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		err = errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
		close(fd);
		return err;
	}
	return fd;
}

/*
 * The lock keeps two of us apart; this finds any other program that listens here.
 * Return: 0 if @address may be taken: nothing is there, or a socket that nobody serves.
 */
static int path_probe(const struct sockaddr_un *address)
{
	struct stat st;
	int err = 0, fd;

	if (lstat(address->sun_path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* EAGAIN: its backlog is full. EPROTOTYPE: it is no stream socket. */
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ||
	    errno == EAGAIN || errno == EPROTOTYPE)
		err = -EADDRINUSE;
	else if (errno != ECONNREFUSED && errno != ENOENT)
		err = -errno;
	close(fd);
	return err;
}

static int path_set_group(const char *path)
{
	const struct group *group = getgrnam(SOCKET_GROUP);

	if (!group)
		return 0;
	return lchown(path, (uid_t)-1, group->gr_gid) < 0 ? -errno : 0;
}

/*
 * Bind under @temporary, finish it there and rename it to @final, so that whoever
 * opens @final finds either what was there before or a socket that is ready.
 */
static int socket_bind(struct server_socket *out, const struct sockaddr_un *temporary,
		       const struct sockaddr_un *final)
{
	struct stat st;
	int err;

	if (unlink(temporary->sun_path) < 0 && errno != ENOENT)
		return -errno;
	/* Linux gives the new file the mode of the socket, less the umask: never open to others. */
	if (fchmod(out->fd, 0600) < 0 ||
	    bind(out->fd, (const struct sockaddr *)temporary, sizeof(*temporary)) < 0)
		return -errno;

	err = path_set_group(temporary->sun_path);
	if (err)
		goto unlink;
	if (chmod(temporary->sun_path, SOCKET_MODE) < 0 || listen(out->fd, SOCKET_BACKLOG) < 0 ||
	    lstat(temporary->sun_path, &st) < 0 ||
	    rename(temporary->sun_path, final->sun_path) < 0) {
		err = -errno;
		goto unlink;
	}
	out->device = st.st_dev;
	out->inode = st.st_ino;
	return 0;

unlink:
	unlink(temporary->sun_path);
	return err;
}

int server_socket_open(struct server_socket *out, const char *path)
{
	struct server_socket made = {.fd = -1, .lock_fd = -1};
	struct sockaddr_un final, temporary;
	int err;

	if (!*path) /* would be an abstract address */
		return -EINVAL;
	err = socket_address(&final, path, "");
	if (!err)
		err = socket_address(&temporary, path, ".new");
	if (err)
		return err;
	memcpy(made.path, final.sun_path, sizeof(made.path));

	made.lock_fd = path_lock(path);
	if (made.lock_fd < 0)
		return made.lock_fd;
	err = path_probe(&final);
	if (err)
		goto close;
	made.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (made.fd < 0) {
		err = -errno;
		goto close;
	}
	err = socket_bind(&made, &temporary, &final);
	if (err)
		goto close;
	*out = made;
	return 0;

close:
	if (made.fd >= 0)
		close(made.fd);
	close(made.lock_fd);
	return err;
}

void server_socket_close(struct server_socket *server_socket)
{
	struct stat st;

	if (lstat(server_socket->path, &st) == 0 && st.st_dev == server_socket->device &&
	    st.st_ino == server_socket->inode)
		unlink(server_socket->path);
	close(server_socket->fd);
	close(server_socket->lock_fd);
}
