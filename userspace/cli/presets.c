/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/presets.h"

#include <string.h>

struct preset {
	const char *name;
	struct cli_options options;
};

static const struct preset presets[] = {
	/* Published lessons on consistent hashing, one hash each. */
	{"md5-32",
	 {.hash = "md5-32",
	  .servers = "4",
	  .vnodes = "100",
	  .keys = "user:",
	  .count = "10000",
	  .schemes = "modulo,ring"}},
	{"md5-mod32",
	 {.hash = "md5-mod32",
	  .servers = "4",
	  .vnodes = "1,10,100,200",
	  .keys = "key",
	  .count = "1000",
	  .schemes = "ring"}},
	{"blake2b-64",
	 {.hash = "blake2b-64",
	  .servers = "16",
	  .vnodes = "200",
	  .keys = "key:",
	  .count = "200000",
	  .schemes = "modulo,ring"}},
	/* The classic ones: a million keys, one server more. */
	{"10-to-11", {.servers = "10", .to = "11", .count = "1000000"}},
	{"4-to-5", {.servers = "4", .to = "5", .count = "1000000"}},
	{"movement",
	 {.servers = "4,10,16,50,100,250,500,1000",
	  .count = "200000",
	  .schemes = "modulo,ring,jump,maglev"}},
	{"vnodes",
	 {.servers = "16",
	  .vnodes = "1,4,16,64,100,128,150,200,256,1000",
	  .count = "1000000",
	  .schemes = "ring"}},
	{"cost",
	 {.servers = "16,100,1000,10000",
	  .vnodes = "1,50,200",
	  .count = "200000",
	  .schemes = "ring"}},
};

#define COUNT (sizeof(presets) / sizeof(presets[0]))

static void refuse(const char *name)
{
	char list[256] = "";
	size_t len = 0;

	for (size_t i = 0; i < COUNT && len < sizeof(list); i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", i ? ", " : "",
					presets[i].name);
	cli_error("preset must be one of %s, got '%s'", list, name);
}

static const char *either(const char *given, const char *preset)
{
	return given ? given : preset;
}

bool presets_find(const char *name, const struct cli_options *given, struct cli_options *out)
{
	const struct cli_options *options;
	size_t i = 0;

	while (i < COUNT && strcmp(presets[i].name, name) != 0)
		i++;
	if (i == COUNT) {
		refuse(name);
		return false;
	}
	options = &presets[i].options;
	*out = *given;
	out->hash = either(given->hash, options->hash);
	out->servers = either(given->servers, options->servers);
	out->to = either(given->to, options->to);
	out->vnodes = either(given->vnodes, options->vnodes);
	out->keys = either(given->keys, options->keys);
	out->count = either(given->count, options->count);
	out->schemes = either(given->schemes, options->schemes);
	return true;
}
