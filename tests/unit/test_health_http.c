/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Health checks over http and https, against servers that misbehave in every way we know of. */
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "health_server.h"

#define MATCH	   "body: needle"
#define BODY_LIMIT 65536

static void test_up_down_up(void **state)
{
	static const char *const addresses[] = {"10.1.0.1", "fd00:1::1"};
	struct rig *rig = *state;
	struct server server;

	/* A busy machine may cost a check or two, but none comes without being counted. */
	for (size_t i = 0; i < 2; i++) {
		server_open(rig, &server, addresses[i]);
		rig_check(rig, "type: http, rise: 2, fall: 3", addresses[i]);
		rig_wait_results(rig, "a", 3, 0);
		assert_in_range(server.accepted, 3, 5);
		assert_true(rig_status(rig, "a").latency_ms > 0);
		server_answer(&server, HANG_UP, "HTTP/1.1 503 Busy\r\n\r\n");
		rig_goes_down(rig, 3, "status 503");
		assert_in_range(server.accepted, 6, 8);
		server_answer(&server, HANG_UP, "HTTP/1.0 204 Fine\r\n\r\n");
		rig_goes_up(rig, 2);
		assert_in_range(server.accepted, 8, 10);
		server_close(&server);
		rig_goes_down(rig, 3, "connection refused");
	}
}

static void test_request(void **state)
{
	struct rig *rig = *state;
	struct server server;

	/* A proxy of the environment would swallow the check. */
	setenv("http_proxy", "http://10.2.0.9:1/", 1);
	setenv("all_proxy", "http://10.2.0.9:1/", 1);
	server_open(rig, &server, "fd00:1::1");
	rig_check(rig, "type: http, path: '/a/../b?c=%%20d', host: www.example", "fd00:1::1");
	rig_wait_results(rig, "a", 1, 0);
	assert_string_equal(server.request, "GET /a/../b?c=%20d HTTP/1.1\r\n"
					    "Host: www.example\r\n"
					    "User-Agent: ringlb/" RINGLB_VERSION "\r\n"
					    "Accept: */*\r\n\r\n");
	rig_check(rig, "type: http", "fd00:1::1");
	rig_wait_results(rig, "a", 1, 0);
	assert_memory_equal(server.request, "GET / HTTP/1.1\r\nHost: [fd00:1::1]\r\n", 35);
	server_close(&server);
	unsetenv("http_proxy");
	unsetenv("all_proxy");
}

/* @reason: NULL if the answer is good. */
static void check_answer(struct rig *rig, struct server *server, enum manner manner,
			 const char *answer, const char *reason)
{
	uint64_t end = clock_us() + PATIENCE_MS * 1000ULL;
	struct health_status before, status;
	uint32_t n = server->accepted;

	server_answer(server, manner, answer);
	while (server->accepted == n && clock_us() < end)
		rig_turn(rig, 10000);
	/* There is never more than one: the next result is that of this request. */
	before = status = rig_status(rig, "a");
	while (status.latency_ms == before.latency_ms && clock_us() < end) {
		rig_turn(rig, 10000);
		status = rig_status(rig, "a");
	}
	if (strcmp(status.reason, reason ? reason : ""))
		fail_msg("'%s' instead of '%s' for: %.100s", status.reason, reason ? reason : "",
			 answer);
	assert_true(reason ? status.failures > 0 : status.successes > 0);
}

static void test_status(void **state)
{
	static const struct {
		const char *answer;
		const char *reason;
	} rows[] = {
		{"HTTP/1.1 299 x\r\n\r\n", NULL},
		{"HTTP/1.1 250\r\n\r\n", NULL},
		{"HTTP/1.1 249 x\r\n\r\n", "status 249"},
		{"HTTP/1.1 300 x\r\nLocation: /other\r\n\r\n", "status 300"},
		{"HTTP/1.1 404 x\r\nContent-Length: 1000\r\n\r\n", "status 404"},
		{"HTTP/1.1 103 x\r\nLink: y\r\n\r\nHTTP/1.1 250 OK\r\n\r\n", NULL},
		{"HTTP/1.1 103 x\r\n\r\nHTTP/1.1 500 x\r\n\r\n", "status 500"},
		{"HTTP/1.1 103 x\r\n\r\n", "connection closed early"},
		{"hello\r\n\r\n", "answer is not HTTP"},
		{"HTTP/1.1 x\r\n\r\n", "answer is not HTTP"},
		{"\r\n", "answer is not HTTP"},
		{"", "connection closed early"},
		{"HTTP/1.1 25", "connection closed early"},
	};
	struct rig *rig = *state;
	struct server server;

	server_open(rig, &server, "10.1.0.1");
	rig_check(rig, "type: http, expect: 250-299", "10.1.0.1");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_answer(rig, &server, HANG_UP, rows[i].answer, rows[i].reason);
	/* The headers are enough: nobody waits for a body that does not come. */
	check_answer(rig, &server, HOLD, "HTTP/1.1 250 x\r\nContent-Length: 9\r\n\r\n", NULL);
	check_answer(rig, &server, TRICKLE, "HTTP/1.1 250 x\r\n\r\n", NULL);
	check_answer(rig, &server, FLOOD, "HTTP/1.1 250 x\r\n\r\n", NULL);
	check_answer(rig, &server, HOLD, "HTTP/1.1 250 x\r\n", "timeout");
	check_answer(rig, &server, TRICKLE, "HTTP/1.1 250 x\r\nA: ", "timeout");
	check_answer(rig, &server, TRICKLE, "HTTP/1.1 250 ", "timeout");
	check_answer(rig, &server, HOLD, "", "timeout");
	server_close(&server);
}

/* The needle ends at the limit: it is found; or one byte later: it is not. */
static void check_body_limit(struct rig *rig, struct server *server)
{
	const size_t needle = strlen("needle");
	char *answer = test_calloc(1, BODY_LIMIT + 1024);
	size_t head = (size_t)sprintf(answer, OK "\r\n");

	memset(answer + head, 'n', BODY_LIMIT + 512);
	memcpy(answer + head + BODY_LIMIT - needle, "needle", needle);
	check_answer(rig, server, HANG_UP, answer, NULL);
	memset(answer + head, 'n', BODY_LIMIT + 512);
	memcpy(answer + head + BODY_LIMIT - needle + 1, "needle", needle);
	check_answer(rig, server, HANG_UP, answer, "body does not match");
	check_answer(rig, server, FLOOD, answer, "body does not match");
	test_free(answer);
}

static void test_body(void **state)
{
	static const struct {
		const char *answer;
		const char *reason;
	} rows[] = {
		{OK "\r\nneedle", NULL},
		{OK "\r\nin the hayneedlestack", NULL},
		{OK "Content-Length: 6\r\n\r\nneedle", NULL},
		{OK "Content-Length: 5\r\n\r\nneedle", "body does not match"},
		{OK "Transfer-Encoding: chunked\r\n\r\n3\r\nnee\r\n3\r\ndle\r\n0\r\n\r\n", NULL},
		/* Across pieces, each longer than what is looked for. */
		{OK "Transfer-Encoding: chunked\r\n\r\na\r\nhay hay  n\r\na\r\needle hay."
		    "\r\n0\r\n\r\n",
		 NULL},
		{OK "Transfer-Encoding: chunked\r\n\r\n3\r\nnee\r\n0\r\n\r\n",
		 "body does not match"},
		{OK "X: needle\r\n\r\nhay", "body does not match"},
		{OK "\r\n", "body does not match"},
		{OK "\r\nneedl", "body does not match"},
		{OK "Content-Length: 7\r\n\r\nneedl", "connection closed early"},
		{"HTTP/1.1 404 x\r\n\r\nneedle", "status 404"},
	};
	struct rig *rig = *state;
	struct server server;

	server_open(rig, &server, "10.1.0.1");
	rig_check(rig, "type: http, " MATCH, "10.1.0.1");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_answer(rig, &server, HANG_UP, rows[i].answer, rows[i].reason);
	check_answer(rig, &server, HOLD, OK "Content-Length: 99\r\n\r\na needle", NULL);
	check_answer(rig, &server, TRICKLE, OK "\r\nhay", "timeout");
	check_body_limit(rig, &server);
	server_close(&server);
}

static void test_huge_headers(void **state)
{
	/* A kilobyte a line. */
#define X64  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X256 X64 X64 X64 X64
	static const char lines[] = OK "A: " X256 X256 X256 X256 "\r\n";
	struct rig *rig = *state;
	struct server server;
	char *answer = test_calloc(1, 300000);
	size_t len = (size_t)sprintf(answer, OK "A: ");

	server_open(rig, &server, "10.1.0.1");
	rig_check(rig, "type: http", "10.1.0.1");
	check_answer(rig, &server, FLOOD, lines, "headers longer than 64 KiB");
	memset(answer + len, 'x', 60000);
	strcat(answer, "\r\n\r\n");
	check_answer(rig, &server, HANG_UP, answer, NULL);
	memset(answer + len, 'x', 70000);
	strcat(answer, "\r\n\r\n");
	check_answer(rig, &server, HANG_UP, answer, "headers longer than 64 KiB");
	server_close(&server);
	test_free(answer);
}

/* A self-signed certificate that has run out, in a file of its own with its key. */
static void write_certificate(const char *path)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	FILE *file = fopen(path, "we");
	X509 *certificate = X509_new();

	assert_true(key && file && certificate);
	X509_gmtime_adj(X509_getm_notBefore(certificate), -7200);
	X509_gmtime_adj(X509_getm_notAfter(certificate), -3600);
	X509_set_pubkey(certificate, key);
	assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
	assert_true(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL));
	assert_true(PEM_write_X509(file, certificate));
	fclose(file);
	X509_free(certificate);
	EVP_PKEY_free(key);
}

/* Says in the body which names it was asked for. */
static const char tls_server[] =
	"import os, socket, ssl, sys\n"
	"names = []\n"
	"context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)\n"
	"context.load_cert_chain(sys.argv[1])\n"
	"context.sni_callback = lambda s, name, c: names.append(name)\n"
	"listening = socket.create_server(('10.1.0.1', 80))\n"
	"os.write(1, b'ready')\n"
	"while True:\n"
	"    plain, _ = listening.accept()\n"
	"    try:\n"
	"        tls = context.wrap_socket(plain, server_side=True)\n"
	"        host = tls.recv(4096).decode().split('Host: ')[1].split('\\r')[0]\n"
	"        body = f'sni={names[-1]} host={host}.'\n"
	"        tls.send(b'HTTP/1.1 200 OK\\r\\n\\r\\n' + body.encode())\n"
	"        tls.close()\n"
	"    except (OSError, IndexError):\n"
	"        plain.close()\n";

static pid_t start_tls_server(const char *certificate)
{
	char ready[8];
	int pipes[2];
	pid_t child;

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		/* A test that fails leaves nothing behind. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(pipes[1], STDOUT_FILENO);
		execlp("python3", "python3", "-c", tls_server, certificate, (char *)NULL);
		_exit(127);
	}
	close(pipes[1]);
	assert_true(read(pipes[0], ready, sizeof(ready)) > 0);
	close(pipes[0]);
	return child;
}

#define SLOW "interval: 300ms, timeout: 300ms, jitter: 0%%"
#define HTTPS(fields)                                                                              \
	"{name: web, forward: nat, check: {type: https, " fields SLOW                              \
	"}, backends: [{name: a, address: 10.1.0.1, port: 80}]}"

/*
 * Away in the middle of a handshake, and back when the time is over: what the server
 * has said goes on, and is not cut off before the server can answer that.
 */
static void check_loop_away(struct rig *rig)
{
	rig_configure(rig, HTTPS("fall: 1, "));
	for (int i = 0; i < 3; i++) {
		rig_wait_results(rig, "a", rig_status(rig, "a").successes + 1, 0);
		/* The start, libcurl's own, the connection. */
		for (int turn = 0; turn < 3; turn++)
			rig_turn(rig, 400000);
		usleep(350000);
	}
	rig_wait_results(rig, "a", 6, 0);
	assert_int_equal(rig->n_events, 0);
}

static void test_https(void **state)
{
	char path[] = "/tmp/ringlb-test.XXXXXX";
	struct rig *rig = *state;
	struct server server;
	pid_t child;

	close(mkstemp(path));
	write_certificate(path);
	child = start_tls_server(path);
	check_loop_away(rig);
	rig_wait_results(rig, "a", 2, 0);
	rig_configure(rig, HTTPS("host: www.example, body: 'sni=www.example host=www.example.', "));
	rig_wait_results(rig, "a", 2, 0);
	rig_configure(rig, HTTPS("rise: 2, fall: 2, body: 'sni=None host=10.1.0.1:80.', "));
	rig_wait_results(rig, "a", 2, 0);
	assert_int_equal(rig->n_events, 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	rig_goes_down(rig, 2, "connection refused");
	server_open(rig, &server, "10.1.0.1");
	server.blunt = true;
	check_answer(rig, &server, HOLD, OK "\r\n", "TLS handshake failed");
	server_close(&server);
	child = start_tls_server(path);
	rig_goes_up(rig, 2);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG(test_up_down_up), RIG(test_request), RIG(test_status),
		RIG(test_body),	      RIG(test_https),	 RIG(test_huge_headers),
	};

	return cmocka_run_group_tests_name("health http", tests, NULL, NULL);
}
