/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * http and https, by libcurl's multi interface in sd-event's loop: libcurl says which
 * sockets it waits for and when it wants to be called, and never blocks.
 *
 * A probe ends as soon as its result is certain: without a body to match at the end of
 * the headers, else where the text is found. libcurl offers no other way to stop a
 * transfer from within than an error of a callback, so the result is kept in the
 * transfer and outlives that error.
 */
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "config/text.h"
#include "control/health_probe.h"

#define HEADERS_MAX    65536U /* bytes */
#define BODY_MAX       65536U
#define URL_LEN	       (CONFIG_CHECK_TEXT_MAX * 2 + TEXT_ENDPOINT_LEN)
#define TIMER_SLACK_US 1000

struct probe_http {
	sd_event *loop;
	CURLM *multi;
	sd_event_source *timer;
};

/**
 * struct probe_transfer - one request and its answer
 * @headers, @route: lists that @easy does not copy
 * @decided: @outcome and @reason are certain, whatever libcurl says of the transfer
 * @window: the end of the body so far, where a match may have begun
 */
struct probe_transfer {
	struct probe *probe;
	CURL *easy;
	struct curl_slist *headers;
	struct curl_slist *route;
	size_t header_bytes;
	size_t body_bytes;
	bool decided;
	enum probe_outcome outcome;
	char reason[HEALTH_REASON_LEN];
	size_t window_len;
	char window[CURL_MAX_WRITE_SIZE + CONFIG_CHECK_TEXT_MAX];
};

/* Return: 0, which makes libcurl stop. */
static size_t transfer_decide(struct probe_transfer *transfer, enum probe_outcome outcome,
			      const char *reason)
{
	transfer->decided = true;
	transfer->outcome = outcome;
	snprintf(transfer->reason, sizeof(transfer->reason), "%s", reason);
	return 0;
}

/* One line of the answer's headers, its end included. */
static size_t transfer_header(char *line, size_t size, size_t len, void *context)
{
	struct probe_transfer *transfer = context;
	const struct config_check *check = transfer->probe->check;
	char reason[HEALTH_REASON_LEN];
	long status = 0;

	(void)size;
	transfer->header_bytes += len;
	if (transfer->header_bytes > HEADERS_MAX)
		return transfer_decide(transfer, PROBE_FAILED, "headers longer than 64 KiB");
	if (line[0] != '\r' && line[0] != '\n')
		return len;
	curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status < 200)
		return len; /* an interim answer, such as 103 */
	if (status < check->expect_first || status > check->expect_last) {
		snprintf(reason, sizeof(reason), "status %ld", status);
		return transfer_decide(transfer, PROBE_FAILED, reason);
	}
	return *check->body ? len : transfer_decide(transfer, PROBE_SUCCEEDED, "");
}

/* A piece of the body, of at most CURL_MAX_WRITE_SIZE bytes. */
static size_t transfer_body(char *bytes, size_t size, size_t len, void *context)
{
	struct probe_transfer *transfer = context;
	const char *wanted = transfer->probe->check->body;
	size_t wanted_len = strlen(wanted), left = BODY_MAX - transfer->body_bytes, keep;
	size_t taken = len < left ? len : left;

	(void)size;
	memcpy(transfer->window + transfer->window_len, bytes, taken);
	transfer->window_len += taken;
	transfer->body_bytes += taken;
	if (memmem(transfer->window, transfer->window_len, wanted, wanted_len))
		return transfer_decide(transfer, PROBE_SUCCEEDED, "");
	if (transfer->body_bytes == BODY_MAX)
		return transfer_decide(transfer, PROBE_FAILED, "body does not match");
	keep = transfer->window_len < wanted_len ? transfer->window_len : wanted_len - 1;
	memmove(transfer->window, transfer->window + transfer->window_len - keep, keep);
	transfer->window_len = keep;
	return len;
}

/* What libcurl says of a transfer that ended before its result was certain. */
static void transfer_judge(struct probe_transfer *transfer, CURLcode code)
{
	enum probe_outcome outcome = PROBE_FAILED;
	char reason[HEALTH_REASON_LEN];
	long error = 0;

	curl_easy_getinfo(transfer->easy, CURLINFO_OS_ERRNO, &error);
	switch (code) {
	case CURLE_OK: /* the whole body was seen */
		snprintf(reason, sizeof(reason), "body does not match");
		break;
	case CURLE_COULDNT_CONNECT:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
		if (error)
			outcome = probe_error((int)error, reason);
		else
			snprintf(reason, sizeof(reason), "connection lost");
		break;
	case CURLE_GOT_NOTHING:
	case CURLE_PARTIAL_FILE:
		snprintf(reason, sizeof(reason), "connection closed early");
		break;
	case CURLE_UNSUPPORTED_PROTOCOL: /* HTTP/0.9 */
	case CURLE_WEIRD_SERVER_REPLY:
		snprintf(reason, sizeof(reason), "answer is not HTTP");
		break;
	case CURLE_SSL_CONNECT_ERROR:
		snprintf(reason, sizeof(reason), "TLS handshake failed");
		break;
	case CURLE_OUT_OF_MEMORY:
		outcome = PROBE_NOT_RUN;
		/* fallthrough */
	default:
		snprintf(reason, sizeof(reason), "%s", curl_easy_strerror(code));
	}
	transfer_decide(transfer, outcome, reason);
}

static void http_reap(struct probe_http *http)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(http->multi, &left)) != NULL) {
		CURLcode code = message->data.result;
		struct probe_transfer *transfer;
		char *private = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
		transfer = (void *)private;
		if (!transfer->decided)
			transfer_judge(transfer, code);
		probe_finish(transfer->probe, transfer->outcome, transfer->reason);
	}
}

static int http_ready(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct probe_http *http = context;
	int mask = 0, running;

	(void)source;
	if (events & EPOLLIN)
		mask |= CURL_CSELECT_IN;
	if (events & EPOLLOUT)
		mask |= CURL_CSELECT_OUT;
	if (events & (EPOLLERR | EPOLLHUP))
		mask |= CURL_CSELECT_ERR;
	curl_multi_socket_action(http->multi, fd, mask, &running);
	http_reap(http);
	return 0;
}

static int http_due(sd_event_source *source, uint64_t now_us, void *context)
{
	struct probe_http *http = context;
	int running;

	(void)source;
	(void)now_us;
	curl_multi_socket_action(http->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	http_reap(http);
	return 0;
}

/*
 * libcurl waits for a socket, for other events of it, or no longer. A socket that
 * cannot be watched for want of memory leaves its probe to the timeout: an error
 * from here would end all transfers.
 */
static int http_watch(CURL *easy, curl_socket_t fd, int what, void *context, void *assigned)
{
	struct probe_http *http = context;
	sd_event_source *io = assigned;
	uint32_t events = 0;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		sd_event_source_disable_unref(io);
		return 0;
	}
	if (what & CURL_POLL_IN)
		events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		events |= EPOLLOUT;
	if (io) {
		sd_event_source_set_io_events(io, events);
		return 0;
	}
	if (sd_event_add_io(http->loop, &io, fd, events, http_ready, http) < 0)
		return 0;
	sd_event_source_set_priority(io, PROBE_PRIORITY);
	curl_multi_assign(http->multi, fd, io);
	return 0;
}

/* May not call libcurl, not even if it wants to be called at once. */
static int http_plan(CURLM *multi, long timeout_ms, void *context)
{
	struct probe_http *http = context;

	(void)multi;
	if (timeout_ms < 0)
		return sd_event_source_set_enabled(http->timer, SD_EVENT_OFF) < 0 ? -1 : 0;
	sd_event_source_set_time_relative(http->timer, (uint64_t)timeout_ms * 1000);
	return sd_event_source_set_enabled(http->timer, SD_EVENT_ONESHOT) < 0 ? -1 : 0;
}

static void http_free(struct probe_http *http)
{
	if (http->multi)
		curl_multi_cleanup(http->multi);
	sd_event_source_disable_unref(http->timer);
	free(http);
	curl_global_cleanup();
}

void probe_http_release(struct prober *prober)
{
	if (prober->http)
		http_free(prober->http);
	prober->http = NULL;
}

/* Return: 0 or -errno. */
static int http_open(struct prober *prober)
{
	struct probe_http *http;
	int err = -ENOMEM;

	if (prober->http)
		return 0;
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return -ENOMEM;
	http = calloc(1, sizeof(*http));
	if (!http) {
		curl_global_cleanup();
		return -ENOMEM;
	}
	http->loop = prober->loop;
	http->multi = curl_multi_init();
	if (http->multi)
		err = sd_event_add_time(prober->loop, &http->timer, CLOCK_MONOTONIC, 0,
					TIMER_SLACK_US, http_due, http);
	if (err >= 0)
		err = sd_event_source_set_enabled(http->timer, SD_EVENT_OFF);
	if (err >= 0)
		err = sd_event_source_set_priority(http->timer, PROBE_PRIORITY);
	if (err < 0) {
		http_free(http);
		return err;
	}
	curl_multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, http_watch);
	curl_multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
	curl_multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, http_plan);
	curl_multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
	prober->http = http;
	return 0;
}

/*
 * With a host, the URL carries it, for TLS needs it there, and the route leads to the
 * backend instead; without, the URL is the backend's address. Either way nothing is
 * looked up in the DNS. Return: 0 or -ENOMEM.
 */
static int transfer_address(struct probe_transfer *transfer)
{
	const struct probe *probe = transfer->probe;
	const struct config_check *check = probe->check;
	char endpoint[TEXT_ENDPOINT_LEN], line[URL_LEN];

	text_endpoint(&probe->address, probe->port, endpoint);
	if (*check->host) {
		snprintf(line, sizeof(line), "::%s", endpoint);
		transfer->route = curl_slist_append(NULL, line);
		snprintf(line, sizeof(line), "Host: %s", check->host);
		transfer->headers = curl_slist_append(NULL, line);
		if (!transfer->route || !transfer->headers)
			return -ENOMEM;
		curl_easy_setopt(transfer->easy, CURLOPT_CONNECT_TO, transfer->route);
		curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->headers);
		snprintf(line, sizeof(line), "%s://%s:%d%s", text_check_type(check->type),
			 check->host, probe->port, check->path);
	} else {
		snprintf(line, sizeof(line), "%s://%s%s", text_check_type(check->type), endpoint,
			 check->path);
	}
	return curl_easy_setopt(transfer->easy, CURLOPT_URL, line) ? -ENOMEM : 0;
}

static void transfer_options(struct probe_transfer *transfer)
{
	CURL *easy = transfer->easy;

	curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, transfer_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, transfer_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "ringlb/" RINGLB_VERSION);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	/* "" overrides what the environment says. */
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	/* A check that takes an old connection again would not see that no new one is taken. */
	curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
	curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
	/* Reading all authorities for each connection would take longer than all the rest. */
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
	curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
}

void probe_http_stop(struct probe *probe)
{
	struct probe_transfer *transfer = probe->transfer;

	if (!transfer)
		return;
	probe->transfer = NULL;
	if (transfer->easy) {
		curl_multi_remove_handle(probe->prober->http->multi, transfer->easy);
		curl_easy_cleanup(transfer->easy);
	}
	curl_slist_free_all(transfer->headers);
	curl_slist_free_all(transfer->route);
	free(transfer);
}

void probe_http_start(struct probe *probe)
{
	struct probe_transfer *transfer;
	int err = http_open(probe->prober);

	if (err) {
		probe_fail(probe, -err);
		return;
	}
	transfer = calloc(1, sizeof(*transfer));
	probe->transfer = transfer;
	if (transfer) {
		transfer->probe = probe;
		transfer->easy = curl_easy_init();
	}
	if (!transfer || !transfer->easy || transfer_address(transfer)) {
		probe_fail(probe, ENOMEM);
		return;
	}
	transfer_options(transfer);
	/* Its timer is due at once, and starts the transfer from the loop. */
	if (curl_multi_add_handle(probe->prober->http->multi, transfer->easy))
		probe_fail(probe, ENOMEM);
}
