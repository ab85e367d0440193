/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The backend's programs for tests in other languages: reads one command a line, a JSON
 * object, from standard input and answers each with one line, {"error": TEXT} if it failed.
 *
 *   load    gue_port mss ipip gue vips locals from     anew, with counters at 0
 *   run     frame        {"action": "PASS", "verdict": "PASS_IPIP", "frame": HEX}
 *   clamp   frame        {"verdict": "PASS_CLAMPED" or null, "frame": HEX}
 *   port                 {"port": N}, of the latest PASS_OTHER_PORT
 *
 * The verdict of a run is the one whose counter rose; it is an error unless exactly one
 * rose, by one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <jansson.h>

#include "backend/address.h"
#include "backend/check.h"
#include "backend.skel.h"

#define FRAME_MAX 65536
#define CPUS_MAX  4096

static struct backend_bpf *skeleton;
static uint64_t counts[BACKEND_VERDICT_COUNT];

static json_t *failed(const char *what, int err)
{
	return json_pack("{s:s++}", "error", what, ": ", strerror(-err));
}

static uint32_t number_of(const json_t *command, const char *name)
{
	return (uint32_t)json_integer_value(json_object_get(command, name));
}

static int fill(struct bpf_map *map, const json_t *list, bool prefixes)
{
	const uint32_t value = 1;
	struct backend_prefix prefix;
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		const void *key = prefixes ? (const void *)&prefix : &prefix.address;

		if (prefix_parse(json_string_value(item), &prefix))
			return -EINVAL;
		if (bpf_map_update_elem(bpf_map__fd(map), key, &value, BPF_ANY))
			return -errno;
	}
	return 0;
}

static json_t *do_load(const json_t *command)
{
	const json_t *from = json_object_get(command, "from");
	struct backend_settings *settings;
	int err;

	backend_bpf__destroy(skeleton);
	skeleton = backend_bpf__open();
	if (!skeleton)
		return failed("open", -errno);
	settings = (struct backend_settings *)(uintptr_t)&skeleton->rodata->settings;
	*settings = (struct backend_settings){
		.gue_port = (uint16_t)number_of(command, "gue_port"),
		.mss = (uint16_t)number_of(command, "mss"),
		.ipip = json_is_true(json_object_get(command, "ipip")),
		.gue = json_is_true(json_object_get(command, "gue")),
		.from = json_array_size(from) > 0,
	};
	memset(counts, 0, sizeof(counts));
	err = backend_bpf__load(skeleton);
	if (!err)
		err = fill(skeleton->maps.backend_vips, json_object_get(command, "vips"), true);
	if (!err)
		err = fill(skeleton->maps.backend_locals, json_object_get(command, "locals"),
			   false);
	if (!err)
		err = fill(skeleton->maps.backend_from, from, true);
	return err ? failed("load", err) : json_object();
}

/* Return: the verdict whose count rose by one; -1 if none did; -2 for anything else. */
static int verdict_since(void)
{
	static uint64_t values[CPUS_MAX];
	int verdict = -1;

	for (uint32_t i = 0; i < BACKEND_VERDICT_COUNT; i++) {
		uint64_t sum = 0;

		if (bpf_map_lookup_elem(bpf_map__fd(skeleton->maps.backend_counts), &i, values))
			return -2;
		for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++)
			sum += values[cpu];
		if (sum != counts[i])
			verdict = verdict == -1 && sum == counts[i] + 1 ? (int)i : -2;
		counts[i] = sum;
	}
	return verdict;
}

static size_t read_hex(const char *text, uint8_t *out)
{
	size_t len = strlen(text) / 2;

	for (size_t i = 0; i < len && i < FRAME_MAX; i++)
		if (sscanf(text + 2 * i, "%2hhx", &out[i]) != 1)
			return 0;
	return len;
}

static char *write_hex(const uint8_t *bytes, size_t len)
{
	char *text = malloc(2 * len + 1);

	if (!text)
		exit(1);
	for (size_t i = 0; i < len; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
	text[2 * len] = '\0';
	return text;
}

static json_t *run(const json_t *command, struct bpf_program *program, const char *action[])
{
	static uint8_t in[FRAME_MAX], out[FRAME_MAX];
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = in, .data_out = out,
		    .data_size_out = sizeof(out), .repeat = 1);
	int verdict, err;
	json_t *answer;
	char *text;

	options.data_size_in =
		(uint32_t)read_hex(json_string_value(json_object_get(command, "frame")), in);
	err = bpf_prog_test_run_opts(bpf_program__fd(program), &options);
	if (err)
		return failed("run", err);
	verdict = verdict_since();
	if (verdict == -2)
		return json_pack("{s:s}", "error", "not one verdict a packet");
	text = write_hex(out, options.data_size_out);
	answer = json_pack("{s:s, s:s?, s:s}", "action",
			   action && options.retval < 5 ? action[options.retval] : "", "verdict",
			   verdict < 0 ? NULL : backend_verdict_name((uint32_t)verdict), "frame",
			   text);
	free(text);
	return answer;
}

static json_t *do_port(void)
{
	uint32_t key = 0, port = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(skeleton->maps.backend_port), &key, &port))
		return failed("port", -errno);
	return json_pack("{s:i}", "port", (int)port);
}

static json_t *answer_to(const json_t *command)
{
	static const char *actions[] = {"ABORTED", "DROP", "PASS", "TX", "REDIRECT"};
	const char *what = json_string_value(json_object_get(command, "do"));

	if (what && !strcmp(what, "load"))
		return do_load(command);
	if (what && skeleton && !strcmp(what, "run"))
		return run(command, skeleton->progs.ringlb_backend, actions);
	if (what && skeleton && !strcmp(what, "clamp"))
		return run(command, skeleton->progs.ringlb_clamp, NULL);
	if (what && skeleton && !strcmp(what, "port"))
		return do_port();
	return json_pack("{s:s}", "error", "what is to be done?");
}

int main(void)
{
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, stdin) > 0) {
		json_t *command = json_loads(line, 0, NULL);
		json_t *answer = answer_to(command);

		json_dumpf(answer, stdout, JSON_COMPACT);
		putchar('\n');
		fflush(stdout);
		json_decref(answer);
		json_decref(command);
	}
	backend_bpf__destroy(skeleton);
	free(line);
	return 0;
}
