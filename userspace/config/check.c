/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "config/check.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/fields.h"
#include "config/text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define PATH_DEFAULT	     "/"
#define EXPECT_FIRST_DEFAULT 200
#define EXPECT_LAST_DEFAULT  399
#define INTERVAL_DEFAULT_MS  2000
#define TIMEOUT_DEFAULT_MS   1000 /* or the interval, if that is shorter */
#define RISE_DEFAULT	     2
#define FALL_DEFAULT	     3
#define JITTER_DEFAULT	     10 /* % */

#define INTERVAL_MIN_MS 100
#define INTERVAL_MAX_MS 3600000
#define TIMEOUT_MIN_MS	50
#define STATUS_MIN	200
#define STATUS_MAX	599
#define TIMES_MAX	100 /* of rise and fall */
#define JITTER_MAX	50
#define HOST_MAX	253

#define MUST_TYPE     "must be tcp, http, https, udp or icmp"
#define MUST_PORT     "must be 1 to 65535"
#define MUST_PATH     "must be 1 to 255 printable characters without spaces or '#', starting with '/'"
#define MUST_HOST     "must be a host name: 1 to 253 letters, digits, '.', '_' or '-'"
#define MUST_EXPECT   "must be a status or a range of them, 200 to 599, as in 200-299"
#define MUST_TEXT     "must be 1 to 255 bytes"
#define MUST_INTERVAL "must be 100ms to 1h"
#define MUST_TIMEOUT  "must be 50ms to the interval"
#define MUST_TIMES    "must be 1 to 100"
#define MUST_JITTER   "must be 0% to 50%"

static int parse_type(const char *text, void *out)
{
	for (enum config_check_type type = CONFIG_CHECK_TCP; type <= CONFIG_CHECK_ICMP; type++) {
		if (strcmp(text, text_check_type(type)) != 0)
			continue;
		*(enum config_check_type *)out = type;
		return 0;
	}
	return -EINVAL;
}

static int parse_port(const char *text, void *out)
{
	uint16_t port;

	if (text_parse_port(text, &port) || !port)
		return -EINVAL;
	*(uint16_t *)out = port;
	return 0;
}

/* Any text that has room. An empty one would say that none is given. */
static int parse_text(const char *text, void *out)
{
	size_t len = strlen(text);

	if (len < 1 || len > CONFIG_CHECK_TEXT_MAX)
		return -EINVAL;
	memcpy(out, text, len + 1);
	return 0;
}

static bool is_path(const char *text)
{
	if (text[0] != '/')
		return false;
	for (; *text; text++)
		if (*text <= ' ' || *text > '~' || *text == '#')
			return false;
	return true;
}

static int parse_path(const char *text, void *out)
{
	return is_path(text) ? parse_text(text, out) : -EINVAL;
}

static bool is_host(const char *text)
{
	size_t len = strlen(text);

	if (len < 1 || len > HOST_MAX || !isalnum((unsigned char)text[0]))
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr("._-", *text))
			return false;
	return true;
}

static int parse_host(const char *text, void *out)
{
	return is_host(text) ? parse_text(text, out) : -EINVAL;
}

/* A number of 1 to 3 digits, as all that are not durations are, up to @end. */
static int parse_number(const char *text, const char *end, uint32_t *number)
{
	size_t len = strspn(text, "0123456789");

	if (len < 1 || len > 3 || (len > 1 && *text == '0') || text + len != end)
		return -EINVAL;
	*number = (uint32_t)strtoul(text, NULL, 10);
	return 0;
}

static bool is_expect(uint32_t first, uint32_t last)
{
	return first >= STATUS_MIN && first <= last && last <= STATUS_MAX;
}

static int parse_expect(const char *text, void *out)
{
	const char *dash = strchrnul(text, '-');
	const char *last = *dash ? dash + 1 : text;
	uint32_t numbers[2];
	uint16_t *expect = out;

	if (parse_number(text, dash, &numbers[0]) ||
	    parse_number(last, strchr(last, '\0'), &numbers[1]) ||
	    !is_expect(numbers[0], numbers[1]))
		return -EINVAL;
	expect[0] = (uint16_t)numbers[0];
	expect[1] = (uint16_t)numbers[1];
	return 0;
}

_Static_assert(offsetof(struct config_check, expect_last) ==
		       offsetof(struct config_check, expect_first) + sizeof(uint16_t),
	       "parse_expect() writes both");

static int parse_duration(const char *text, void *out)
{
	return text_parse_duration_ms(text, out);
}

static const char *hint_duration(const char *text)
{
	if (*text && strspn(text, "0123456789") == strlen(text))
		return "a unit is missing: ms, s, m or h";
	return strchr(text, '.') ? "a whole number of ms, s, m or h" : NULL;
}

static int parse_times(const char *text, void *out)
{
	return parse_number(text, strchr(text, '\0'), out);
}

static int parse_percent(const char *text, void *out)
{
	const char *sign = strchrnul(text, '%');

	return strcmp(sign, "%") ? -EINVAL : parse_number(text, sign, out);
}

#define AT(member) .offset = offsetof(struct config_check, member)

static const struct config_field fields[] = {
	{.name = "type", .required = true, .parse = parse_type, .must = MUST_TYPE, AT(type)},
	{.name = "port", .parse = parse_port, .must = MUST_PORT, AT(port)},
	{.name = "path", .parse = parse_path, .must = MUST_PATH, AT(path)},
	{.name = "host", .parse = parse_host, .must = MUST_HOST, AT(host)},
	{.name = "expect", .parse = parse_expect, .must = MUST_EXPECT, AT(expect_first)},
	{.name = "body", .parse = parse_text, .must = MUST_TEXT, AT(body)},
	{.name = "send", .parse = parse_text, .must = MUST_TEXT, AT(send)},
	{.name = "receive", .parse = parse_text, .must = MUST_TEXT, AT(receive)},
	{.name = "interval",
	 .parse = parse_duration,
	 .must = MUST_INTERVAL,
	 .hint = hint_duration,
	 AT(interval_ms)},
	{.name = "timeout",
	 .parse = parse_duration,
	 .must = MUST_TIMEOUT,
	 .hint = hint_duration,
	 AT(timeout_ms)},
	{.name = "rise", .parse = parse_times, .must = MUST_TIMES, AT(rise)},
	{.name = "fall", .parse = parse_times, .must = MUST_TIMES, AT(fall)},
	{.name = "jitter", .parse = parse_percent, .must = MUST_JITTER, AT(jitter_percent)},
};

static bool is_http(const struct config_check *check)
{
	return check->type == CONFIG_CHECK_HTTP || check->type == CONFIG_CHECK_HTTPS;
}

int config_check_read(yaml_document_t *document, const yaml_node_t *mapping, size_t pool,
		      struct config_check *check, struct config_error *error)
{
	const struct config_place place = {.section = CONFIG_POOL, .index = pool, .field = "check"};
	int err;

	check->interval_ms = INTERVAL_DEFAULT_MS;
	check->timeout_ms = UINT32_MAX;
	check->rise = RISE_DEFAULT;
	check->fall = FALL_DEFAULT;
	check->jitter_percent = JITTER_DEFAULT;
	err = config_fields_read(document, mapping, &place, fields, COUNT(fields), check, NULL,
				 error);
	if (err)
		return err;
	if (check->timeout_ms == UINT32_MAX)
		check->timeout_ms = check->interval_ms < TIMEOUT_DEFAULT_MS ? check->interval_ms
									    : TIMEOUT_DEFAULT_MS;
	if (is_http(check) && !*check->path)
		memcpy(check->path, PATH_DEFAULT, sizeof(PATH_DEFAULT));
	if (is_http(check) && !check->expect_last) {
		check->expect_first = EXPECT_FIRST_DEFAULT;
		check->expect_last = EXPECT_LAST_DEFAULT;
	}
	return 0;
}

/* One pool's check while it is judged. */
struct judge {
	const struct config_validation *validation;
	size_t pool;
	const struct config_check *check;
};

static struct config_place place_of(const struct judge *judge, const char *field)
{
	return (struct config_place){.section = CONFIG_POOL, .index = judge->pool, .field = field};
}

static int refuse(const struct judge *judge, const char *field, const char *must)
{
	const struct config_place place = place_of(judge, field);

	return config_refuse(judge->validation, &place, "%s", must);
}

/* @name begins with "check.". Refuse a field that is given, but that the type does not have. */
static int check_absent(const struct judge *judge, const char *name, bool given)
{
	const struct config_place place = place_of(judge, name);

	if (!given)
		return 0;
	return config_refuse(judge->validation, &place, "means nothing to a check of type %s",
			     text_check_type(judge->check->type));
}

static int check_http(const struct judge *judge)
{
	const struct config_check *check = judge->check;
	int err = 0;

	if (!is_http(check)) {
		err = check_absent(judge, "check.path", *check->path);
		if (!err)
			err = check_absent(judge, "check.host", *check->host);
		if (!err)
			err = check_absent(judge, "check.expect", check->expect_last);
		return err ? err : check_absent(judge, "check.body", *check->body);
	}
	if (!is_path(check->path))
		return refuse(judge, "check.path", MUST_PATH);
	if (*check->host && !is_host(check->host))
		return refuse(judge, "check.host", MUST_HOST);
	if (!is_expect(check->expect_first, check->expect_last))
		return refuse(judge, "check.expect", MUST_EXPECT);
	return 0;
}

static int check_udp(const struct judge *judge)
{
	const struct config_check *check = judge->check;
	int err;

	if (check->type != CONFIG_CHECK_UDP) {
		err = check_absent(judge, "check.send", *check->send);
		return err ? err : check_absent(judge, "check.receive", *check->receive);
	}
	return *check->send ? 0 : refuse(judge, "check.send", "is required by a check of type udp");
}

/* The port is the check's, or each backend has one. */
static int check_port(const struct judge *judge)
{
	const struct config_pool *pool = &judge->validation->config->pools[judge->pool];
	const struct config_place place = place_of(judge, "check.port");

	if (judge->check->type == CONFIG_CHECK_ICMP)
		return check_absent(judge, "check.port", judge->check->port);
	for (size_t i = 0; !judge->check->port && i < pool->n_backends; i++)
		if (!pool->backends[i].port)
			return config_refuse(judge->validation, &place,
					     "is required, as backend '%s' has no port",
					     pool->backends[i].name);
	return 0;
}

static int check_times(const struct judge *judge)
{
	const struct config_check *check = judge->check;
	const struct config_place interval = place_of(judge, "check.interval");
	const struct config_place timeout = place_of(judge, "check.timeout");
	const struct config_place rise = place_of(judge, "check.rise");
	const struct config_place fall = place_of(judge, "check.fall");
	const struct config_place jitter = place_of(judge, "check.jitter");
	char text[TEXT_DURATION_LEN];

	if (check->interval_ms < INTERVAL_MIN_MS || check->interval_ms > INTERVAL_MAX_MS)
		return config_refuse(judge->validation, &interval, MUST_INTERVAL ", got '%s'",
				     text_duration(check->interval_ms, text));
	if (check->timeout_ms < TIMEOUT_MIN_MS || check->timeout_ms > check->interval_ms)
		return config_refuse(judge->validation, &timeout, MUST_TIMEOUT ", got '%s'",
				     text_duration(check->timeout_ms, text));
	if (check->rise < 1 || check->rise > TIMES_MAX)
		return config_refuse(judge->validation, &rise, MUST_TIMES ", got '%u'",
				     check->rise);
	if (check->fall < 1 || check->fall > TIMES_MAX)
		return config_refuse(judge->validation, &fall, MUST_TIMES ", got '%u'",
				     check->fall);
	if (check->jitter_percent > JITTER_MAX)
		return config_refuse(judge->validation, &jitter, "must be 0%% to 50%%, got '%u%%'",
				     check->jitter_percent);
	return 0;
}

int config_check_validate(const struct config_validation *validation, size_t pool)
{
	const struct judge judge = {validation, pool, &validation->config->pools[pool].check};
	int err;

	if (judge.check->type == CONFIG_CHECK_NONE)
		return 0;
	if (judge.check->type < CONFIG_CHECK_TCP || judge.check->type > CONFIG_CHECK_ICMP)
		return refuse(&judge, "check.type", MUST_TYPE);
	err = check_http(&judge);
	if (!err)
		err = check_udp(&judge);
	if (!err)
		err = check_port(&judge);
	if (!err)
		err = check_times(&judge);
	return err;
}
