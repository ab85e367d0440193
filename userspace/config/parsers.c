/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "config/parsers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/text.h"
#include "config/validate.h"

int config_parse_seed(const char *text, void *out)
{
	return text_parse_seed(text, out);
}

int config_parse_name(const char *text, void *out)
{
	if (!text_is_name(text))
		return -EINVAL;
	memcpy(out, text, strlen(text) + 1);
	return 0;
}

int config_parse_interface_name(const char *text, void *out)
{
	char name[IFNAMSIZ] = "";

	if (strlen(text) >= sizeof(name))
		return -EINVAL;
	memcpy(name, text, strlen(text) + 1);
	if (!config_interface_name_valid(name))
		return -EINVAL;
	memcpy(out, name, sizeof(name));
	return 0;
}

int config_parse_mode(const char *text, void *out)
{
	enum config_mode *mode = out;

	if (!strcmp(text, "native"))
		*mode = CONFIG_NATIVE;
	else if (!strcmp(text, "generic"))
		*mode = CONFIG_GENERIC;
	else
		return -EINVAL;
	return 0;
}

int config_parse_forward(const char *text, void *out)
{
	for (enum config_forward forward = CONFIG_DR; forward <= CONFIG_GUE; forward++) {
		if (strcmp(text, text_forward(forward)) != 0)
			continue;
		*(enum config_forward *)out = forward;
		return 0;
	}
	return -EINVAL;
}

int config_parse_gue_port(const char *text, void *out)
{
	uint16_t port;

	if (text_parse_port(text, &port) || !port)
		return -EINVAL;
	*(uint16_t *)out = port;
	return 0;
}

int config_parse_gue_checksum(const char *text, void *out)
{
	enum config_gue_checksum *checksum = out;

	if (!strcmp(text, "zero"))
		*checksum = CONFIG_GUE_ZERO;
	else if (!strcmp(text, "full"))
		*checksum = CONFIG_GUE_FULL;
	else
		return -EINVAL;
	return 0;
}

int config_parse_panic(const char *text, void *out)
{
	enum config_panic *panic = out;

	if (!strcmp(text, "all"))
		*panic = CONFIG_PANIC_ALL;
	else if (!strcmp(text, "none"))
		*panic = CONFIG_PANIC_NONE;
	else
		return -EINVAL;
	return 0;
}

int config_parse_vnodes(const char *text, void *out)
{
	static const char digits[] = "0123456789";
	unsigned long vnodes;

	/* As everywhere, no sign, no space and no leading zero; and 0 is no number of vnodes. */
	if (*text == '0' || strspn(text, digits) != strlen(text) || strlen(text) > 9)
		return -EINVAL;
	vnodes = strtoul(text, NULL, 10);
	if (vnodes < 1 || vnodes > CONFIG_POSITIONS_MAX)
		return -EINVAL;
	*(uint32_t *)out = (uint32_t)vnodes;
	return 0;
}

int config_parse_address(const char *text, void *out)
{
	return text_parse_address(text, out);
}

int config_parse_port(const char *text, void *out)
{
	return text_parse_port(text, out);
}

int config_parse_weight(const char *text, void *out)
{
	return text_parse_weight(text, out);
}

int config_parse_drain(const char *text, void *out)
{
	enum config_drain *drain = out;

	if (!strcmp(text, "keep"))
		*drain = CONFIG_DRAIN_KEEP;
	else if (!strcmp(text, "remove"))
		*drain = CONFIG_DRAIN_REMOVE;
	else if (!strcmp(text, "no"))
		*drain = CONFIG_NO_DRAIN;
	else
		return -EINVAL;
	return 0;
}

int config_parse_drain_until(const char *text, void *out)
{
	return text_parse_seed(text, out);
}

const char *config_hint_weight(const char *text)
{
	return strchr(text, '.') ? "at most three decimals" : NULL;
}
