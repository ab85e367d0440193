/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The control socket as a file: its mode, what was there before, and its end. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "tests/unit/server_fixture.h"

static void socket_is_private(void **state)
{
	struct fixture *f = *state;
	struct stat st;
	mode_t masks[] = {0, 0777, 022}, old = umask(0);
	char name[80];

	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		server_close(f->server);
		f->server = NULL;
		assert_int_equal(access(f->path, F_OK), -1); /* closing unlinks */
		umask(masks[i]);
		assert_int_equal(server_open(&f->server, f->loop, f->path, handle, f), 0);
		umask(old);
		assert_int_equal(stat(f->path, &st), 0);
		assert_true(S_ISSOCK(st.st_mode));
		assert_int_equal(st.st_mode & 07777, 0660);
	}
	snprintf(name, sizeof(name), "%s.new", f->path);
	assert_int_equal(access(name, F_OK), -1);
}

static void live_socket_is_refused(void **state)
{
	struct fixture *f = *state;
	struct server *second = (struct server *)state;
	struct stat before, after;
	int fd;

	assert_int_equal(stat(f->path, &before), 0);
	assert_int_equal(server_open(&second, f->loop, f->path, handle, f), -EADDRINUSE);
	assert_ptr_equal(second, state);
	assert_int_equal(stat(f->path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	fd = client_open(f);
	assert_alive(f, fd);
	close(fd);
}

/* Another one that is between looking for a live socket and putting its own in place. */
static void locked_path_is_refused(void **state)
{
	struct fixture *f = *state;
	char name[80];
	int fd;

	server_close(f->server);
	f->server = NULL;
	snprintf(name, sizeof(name), "%s.lock", f->path);
	fd = open(name, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0); /* closing has let go of it */
	assert_int_equal(server_open(&f->server, f->loop, f->path, handle, f), -EADDRINUSE);
	assert_null(f->server);
	close(fd);
	assert_int_equal(server_open(&f->server, f->loop, f->path, handle, f), 0);
}

/* A socket at the fixture's path that is not made by the server. Return: its descriptor. */
static int foreign_socket(struct fixture *f, int type)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	server_close(f->server);
	f->server = NULL;
	strcpy(address.sun_path, f->path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void foreign_sockets_are_refused(void **state)
{
	struct fixture *f = *state;
	int fd = foreign_socket(f, SOCK_STREAM);

	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(server_open(&f->server, f->loop, f->path, handle, f), -EADDRINUSE);
	close(fd);
	unlink(f->path);
	fd = foreign_socket(f, SOCK_DGRAM);
	assert_int_equal(server_open(&f->server, f->loop, f->path, handle, f), -EADDRINUSE);
	assert_null(f->server);
	assert_int_equal(access(f->path, F_OK), 0);
	close(fd);
}

static void stale_socket_is_replaced(void **state)
{
	struct fixture *f = *state;
	char name[80];
	int fd;

	close(foreign_socket(f, SOCK_STREAM));
	assert_int_equal(access(f->path, F_OK), 0);
	snprintf(name, sizeof(name), "%s.new", f->path); /* of a server that died at a bad moment */
	fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(server_open(&f->server, f->loop, f->path, handle, f), 0);
	fd = client_open(f);
	assert_alive(f, fd);
	close(fd);
}

static void other_files_are_left_alone(void **state)
{
	struct fixture *f = *state;
	struct stat st;
	int fd;

	server_close(f->server);
	f->server = NULL;
	fd = open(f->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "precious", 8), 8);
	close(fd);
	assert_int_equal(server_open(&f->server, f->loop, f->path, handle, f), -ENOTSOCK);
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_size, 8);

	/* Nor is what took the place of our socket unlinked with it. */
	unlink(f->path);
	assert_int_equal(server_open(&f->server, f->loop, f->path, handle, f), 0);
	unlink(f->path);
	fd = open(f->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	close(fd);
	server_close(f->server);
	f->server = NULL;
	assert_int_equal(access(f->path, F_OK), 0);
}

static void paths_that_cannot_be(void **state)
{
	struct fixture *f = *state;
	struct server *none = NULL;
	char path[256];

	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(server_open(&none, f->loop, path, handle, f), -ENAMETOOLONG);
	assert_int_equal(server_open(&none, f->loop, "", handle, f), -EINVAL);
	snprintf(path, sizeof(path), "%s/none/socket", f->dir);
	assert_int_equal(server_open(&none, f->loop, path, handle, f), -ENOENT);
	assert_null(none);
	server_close(NULL);
}

struct reader {
	int fd;
	size_t len;
};

/* In a thread of its own, as server_close() does not return meanwhile. */
static void *read_to_the_end(void *context)
{
	struct reader *reader = context;
	char bytes[65536];
	ssize_t got;

	while ((got = read(reader->fd, bytes, sizeof(bytes))) > 0)
		reader->len += (size_t)got;
	return NULL;
}

/* As for `down`: the handler answers, the loop ends, and the answer must still arrive. */
static void close_sends_what_waits(void **state)
{
	struct fixture *f = *state;
	struct reader reader = {.fd = client_open(f)};
	pthread_t thread;

	client_say(f, reader.fd, "{\"command\": \"large\"}\n");
	while (f->handled < 1)
		turn(f);
	assert_true(fcntl(reader.fd, F_SETFL, 0) >= 0);
	assert_int_equal(pthread_create(&thread, NULL, read_to_the_end, &reader), 0);
	server_close(f->server);
	f->server = NULL;
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(reader.len, strlen("{\"ok\":true,\"result\":\"\"}\n") + LARGE_BYTES);
	close(reader.fd);
}

static void close_does_not_wait_for_stalled_readers(void **state)
{
	struct fixture *f = *state;
	struct timespec before, after;
	int fd = client_open(f);

	client_say(f, fd, "{\"command\": \"large\"}\n");
	while (f->handled < 1)
		turn(f);
	clock_gettime(CLOCK_MONOTONIC, &before);
	server_close(f->server);
	f->server = NULL;
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_true(after.tv_sec - before.tv_sec <= 3);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(socket_is_private),
		WITH_FIXTURE(live_socket_is_refused),
		WITH_FIXTURE(locked_path_is_refused),
		WITH_FIXTURE(foreign_sockets_are_refused),
		WITH_FIXTURE(stale_socket_is_replaced),
		WITH_FIXTURE(other_files_are_left_alone),
		WITH_FIXTURE(paths_that_cannot_be),
		WITH_FIXTURE(close_sends_what_waits),
		WITH_FIXTURE(close_does_not_wait_for_stalled_readers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
