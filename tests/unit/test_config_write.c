/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A model to a file, which is replaced in one step or not at all. This program
 * brings its own versions of the calls that a full or broken disk makes fail,
 * which do so on request.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config/text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The call to fail with EIO, and how many of its calls succeed before. */
static const char *failing;
static int n_before;

static bool fails_now(const char *call)
{
	if (!failing || strcmp(failing, call) || n_before-- > 0)
		return false;
	errno = EIO;
	return true;
}

int fchmod(int fd, mode_t mode)
{
	return fails_now("fchmod") ? -1 : (int)syscall(SYS_fchmod, fd, mode);
}

int fchown(int fd, uid_t owner, gid_t group)
{
	return fails_now("fchown") ? -1 : (int)syscall(SYS_fchown, fd, owner, group);
}

int fsync(int fd)
{
	return fails_now("fsync") ? -1 : (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
	if (fails_now("rename"))
		return -1;
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* Short writes, as a signal may cause, must not cost bytes. */
ssize_t write(int fd, const void *bytes, size_t len)
{
	return fails_now("write") ? -1 : (ssize_t)syscall(SYS_write, fd, bytes, len > 7 ? 7 : len);
}

static const char yaml[] = "seed: 0x0000000000000abc\n"
			   "interfaces:\n"
			   "- name: eth0\n"
			   "  mode: generic\n"
			   "pools:\n"
			   "- name: web\n"
			   "  forward: nat\n"
			   "  placement: ring\n"
			   "  vnodes: 200\n"
			   "  panic: none\n"
			   "  check:\n"
			   "    type: http\n"
			   "    port: 8081\n"
			   "    path: \"/healthz\"\n"
			   "    host: \"www.example\"\n"
			   "    expect: 200-299\n"
			   "    body: \"ok\"\n"
			   "    interval: 500ms\n"
			   "    timeout: 500ms\n"
			   "    rise: 1\n"
			   "    fall: 2\n"
			   "    jitter: 5%\n"
			   "  backends:\n"
			   "  - name: web1\n"
			   "    address: 10.0.0.1\n"
			   "    port: 8080\n"
			   "    weight: 0.5\n"
			   "- name: \"null\"\n"
			   "  forward: dr\n"
			   "  placement: ring\n"
			   "  vnodes: 1\n"
			   "  panic: all\n"
			   "  check:\n"
			   "    type: udp\n"
			   "    port: 53\n"
			   "    send: \"a \\n\"\n"
			   "    receive: \"b\"\n"
			   "    interval: 2s\n"
			   "    timeout: 1s\n"
			   "    rise: 2\n"
			   "    fall: 3\n"
			   "    jitter: 10%\n"
			   "  backends:\n"
			   "  - name: \"1e3\"\n"
			   "    address: \"2001:db8::1\"\n"
			   "    weight: 1\n"
			   "- name: idle\n"
			   "  forward: dr\n"
			   "  placement: ring\n"
			   "  vnodes: 200\n"
			   "  panic: all\n"
			   "  backends: []\n"
			   "vips:\n"
			   "- address: 192.0.2.10\n"
			   "  protocol: tcp\n"
			   "  port: 80\n"
			   "  hash: 5-tuple\n"
			   "  pool: web\n"
			   "- address: \"2001:db8::10\"\n"
			   "  protocol: udp\n"
			   "  port: 0\n"
			   "  hash: 5-tuple\n"
			   "  pool: \"null\"\n";

/* A new directory with a model to write in it, and the working directory to return to. */
struct fixture {
	struct config config;
	struct config_error error;
	char directory[64]; /* empty until it has been made */
	int home;
};

static int setup(void **state)
{
	struct fixture *fixture = test_calloc(1, sizeof(*fixture));
	char made[] = "/tmp/ringlb-test.XXXXXX";

	*state = fixture;
	failing = NULL;
	fixture->home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fixture->home < 0 || !mkdtemp(made))
		return -1;
	strcpy(fixture->directory, made);
	if (chdir(fixture->directory))
		return -1;
	return config_read(&fixture->config, yaml, strlen(yaml), &fixture->error);
}

/*
 * Named in full and only if setup() made it: were it ".", a setup() that failed
 * early would have this delete the files of whoever runs the tests.
 */
static int remove_directory(const char *path)
{
	DIR *directory;
	struct dirent *entry;

	if (!*path)
		return 0;
	directory = opendir(path);
	if (!directory)
		return -1;
	unlinkat(dirfd(directory), "d/real.yaml", 0);
	while ((entry = readdir(directory)) != NULL)
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			unlinkat(dirfd(directory), entry->d_name,
				 entry->d_type == DT_DIR ? AT_REMOVEDIR : 0);
	closedir(directory);
	return rmdir(path);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	int err;

	failing = NULL;
	err = fchdir(fixture->home) || close(fixture->home);
	config_release(&fixture->config);
	if (remove_directory(fixture->directory))
		err = -1;
	test_free(fixture);
	return err;
}

static size_t count_entries(void)
{
	DIR *directory = opendir(".");
	size_t n = 0;

	while (readdir(directory))
		n++;
	closedir(directory);
	return n - 2;
}

static void assert_file(const char *path, const char *expected)
{
	char text[4096];
	FILE *file = fopen(path, "re");
	size_t len;

	assert_non_null(file);
	len = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[len] = '\0';
	assert_string_equal(text, expected);
}

static void make_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static mode_t mode_of(const char *path)
{
	struct stat status;

	assert_int_equal(lstat(path, &status), 0);
	return status.st_mode;
}

static void test_new_file(void **state)
{
	struct fixture *fixture = *state;
	struct config read;
	mode_t mask = umask(0);

	assert_int_equal(config_write_file(&fixture->config, "a.yaml", &fixture->error), 0);
	umask(mask);
	assert_file("a.yaml", yaml);
	assert_int_equal(mode_of("a.yaml"), S_IFREG | 0600);
	assert_int_equal(count_entries(), 1);
	assert_int_equal(config_read_file(&read, "a.yaml", &fixture->error), 0);
	assert_true(config_equal(&read, &fixture->config));
	config_release(&read);
}

static void test_old_file(void **state)
{
	struct fixture *fixture = *state;
	struct stat status;

	make_file("a.yaml", "old\n");
	assert_int_equal(chmod("a.yaml", 0640), 0);
	/* Only root can give a file away; to others this part is nothing. */
	if (!geteuid())
		assert_int_equal(chown("a.yaml", 1, 2), 0);
	assert_int_equal(config_write_file(&fixture->config, "a.yaml", &fixture->error), 0);
	assert_file("a.yaml", yaml);
	assert_int_equal(stat("a.yaml", &status), 0);
	assert_int_equal(status.st_mode, S_IFREG | 0640);
	assert_int_equal(status.st_uid, geteuid() ? geteuid() : 1);
	assert_int_equal(status.st_gid, geteuid() ? getegid() : 2);
	if (!geteuid()) {
		assert_int_equal(chown("a.yaml", 0, 3), 0);
		assert_int_equal(config_write_file(&fixture->config, "a.yaml", &fixture->error), 0);
		assert_int_equal(stat("a.yaml", &status), 0);
		assert_int_equal(status.st_uid, 0);
		assert_int_equal(status.st_gid, 3);
	}
	assert_int_equal(count_entries(), 1);
}

static void test_symlink(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(mkdir("d", 0700), 0);
	make_file("d/real.yaml", "old\n");
	assert_int_equal(symlink("d/real.yaml", "a.yaml"), 0);
	assert_int_equal(config_write_file(&fixture->config, "a.yaml", &fixture->error), 0);
	assert_true(S_ISLNK(mode_of("a.yaml")));
	assert_file("d/real.yaml", yaml);
	assert_int_equal(unlink("d/real.yaml"), 0);

	assert_int_equal(config_write_file(&fixture->config, "a.yaml", &fixture->error), -ENOENT);
	assert_string_equal(fixture->error.what,
			    "cannot follow the symlink 'a.yaml': No such file or directory");
	assert_true(S_ISLNK(mode_of("a.yaml")));
	assert_int_equal(count_entries(), 2);
}

/* What could not be read back is not written. */
static void test_invalid(void **state)
{
	struct fixture *fixture = *state;
	struct config *config = &fixture->config, empty = {0};

	assert_int_equal(config_write_file(&empty, "a.yaml", &fixture->error), -EINVAL);
	assert_string_equal(fixture->error.what, "interfaces must have at least one entry");
	assert_int_equal(fixture->error.line, 0);
#define REFUSED(field, value, text)                                                                \
	do {                                                                                       \
		__typeof__(config->field) kept = config->field;                                    \
		config->field = value;                                                             \
		assert_int_equal(config_write_file(config, "a.yaml", &fixture->error), -EINVAL);   \
		assert_string_equal(fixture->error.what, text);                                    \
		config->field = kept;                                                              \
	} while (0)
	REFUSED(interfaces[0].mode, 7, "interface 'eth0': mode must be native or generic");
	REFUSED(interfaces[0].name[1], '/',
		"interface 'e/h0': name must be 1 to 15 bytes without '/', ':' or spaces, got "
		"'e/h0'");
	REFUSED(pools[0].forward, 7, "pool 'web': forward must be nat, dr, ipip or gue");
	REFUSED(pools[0].vnodes, 0, "pool 'web': vnodes must be 1 to 2097152, got '0'");
	REFUSED(pools[0].vnodes, CONFIG_POSITIONS_MAX + 1,
		"pool 'web': vnodes must be 1 to 2097152, got '2097153'");
	REFUSED(pools[0].panic, 7, "pool 'web': panic must be all or none");
	REFUSED(pools[0].check.type, 7,
		"pool 'web': check.type must be tcp, http, https, udp or icmp");
	REFUSED(pools[0].check.path[0], 'x',
		"pool 'web': check.path must be 1 to 255 printable characters without spaces or "
		"'#', starting with '/'");
	REFUSED(pools[0].check.host[0], '-',
		"pool 'web': check.host must be a host name: 1 to 253 letters, digits, '.', '_' "
		"or '-'");
	REFUSED(pools[0].check.expect_last, 100,
		"pool 'web': check.expect must be a status or a range of them, 200 to 599, as in "
		"200-299");
	REFUSED(pools[1].check.send[0], 0,
		"pool 'null': check.send is required by a check of type udp");
	REFUSED(pools[1].check.jitter_percent, 51,
		"pool 'null': check.jitter must be 0% to 50%, got '51%'");
	REFUSED(pools[0].name[0], '-',
		"pool '-eb': name must be 1 to 63 letters, digits, '.', '_' or '-', starting with "
		"a letter or digit, got '-eb'");
	strcpy(config->pools[2].name, "web");
	assert_int_equal(config_write_file(config, "a.yaml", &fixture->error), -EINVAL);
	assert_string_equal(fixture->error.what,
			    "pool 'web': name 'web' is given twice (first by pool 'web')");
	assert_int_equal(count_entries(), 0);
}

static void test_impossible(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(config_write_file(&fixture->config, "no/a.yaml", &fixture->error),
			 -ENOENT);
	assert_string_equal(fixture->error.what,
			    "cannot write 'no/a.yaml': No such file or directory");
	assert_int_equal(config_write_file(&fixture->config, ".", &fixture->error), -EISDIR);
	assert_string_equal(fixture->error.what, "cannot write '.': Is a directory");
	assert_int_equal(config_write_file(&fixture->config, "/dev/null", &fixture->error),
			 -ENOTSUP);
	assert_string_equal(fixture->error.what,
			    "cannot write '/dev/null': Operation not supported");
	assert_int_equal(count_entries(), 0);
}

/* Whatever fails, the old file is there, whole, and nothing else is. */
static void test_failures(void **state)
{
	static const struct {
		const char *call;
		int n_before;
	} rows[] = {
		{"fchown", 0}, {"fchmod", 0}, {"write", 0},
		{"write", 3},  {"fsync", 0},  {"rename", 0},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < COUNT(rows); i++) {
		if (!strcmp(rows[i].call, "fchown") && geteuid())
			continue;
		make_file("a.yaml", "old\n");
		if (!geteuid())
			assert_int_equal(chown("a.yaml", 1, 2), 0);
		failing = rows[i].call;
		n_before = rows[i].n_before;
		assert_int_equal(config_write_file(&fixture->config, "a.yaml", &fixture->error),
				 -EIO);
		failing = NULL;
		assert_string_equal(fixture->error.what,
				    "cannot write 'a.yaml': Input/output error");
		assert_file("a.yaml", "old\n");
		assert_int_equal(count_entries(), 1);
	}
}

/* After the rename there is no way back: the new file is in place, and the caller is told. */
static void test_directory_sync(void **state)
{
	struct fixture *fixture = *state;

	make_file("a.yaml", "old\n");
	failing = "fsync";
	n_before = 1;
	assert_int_equal(config_write_file(&fixture->config, "a.yaml", &fixture->error), -EIO);
	assert_file("a.yaml", yaml);
	assert_int_equal(count_entries(), 1);
}

#define WRITE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WRITE(test_new_file),	    WRITE(test_old_file), WRITE(test_symlink),
		WRITE(test_impossible),	    WRITE(test_invalid),  WRITE(test_failures),
		WRITE(test_directory_sync),
	};

	return cmocka_run_group_tests_name("config write", tests, NULL, NULL);
}
