/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>

#include "backend/check.h"

#define NAME(action, name, text) #action "_" #name,
#define TEXT(action, name, text) text,
static const char *const names[] = {BACKEND_VERDICTS(NAME)};
static const char *const texts[] = {BACKEND_VERDICTS(TEXT)};
#undef NAME
#undef TEXT

const char *backend_verdict_name(uint32_t verdict)
{
	return verdict < BACKEND_VERDICT_COUNT ? names[verdict] : "?";
}

const char *backend_verdict_text(uint32_t verdict)
{
	return verdict < BACKEND_VERDICT_COUNT ? texts[verdict] : "?";
}

/* Counters that ought to be 0, and what to do if they are not. */
struct suspicion {
	enum backend_verdict verdict;
	const char *remedy;
};

static const struct suspicion suspicions[] = {
	{PASS_FRAGMENT,
	 "if they are encapsulated: raise the MTU between the load balancer and here"},
	{PASS_OUTER_OPTIONS, NULL},
	{PASS_NOT_GUE, "does something else use this port? --gue-port"},
	{PASS_GUE_OPTIONS, NULL},
	{PASS_INNER_BAD, NULL},
	{PASS_NOT_VIP, "is a VIP of the pool missing here? --vip"},
	{PASS_NOT_LOCAL, "if it is an address of this host now: attach again"},
	{DROP_NOT_FROM, "if it was a load balancer: --from"},
	{DROP_INNER_LENGTH, NULL},
	{DROP_ECN, "a router on the way marks packets that are not ECN capable"},
	{DROP_NOT_SHORTENED, NULL},
};

static uint64_t taken_out(const struct program_facts *facts)
{
	return facts->counts[PASS_IPIP] + facts->counts[PASS_GUE];
}

/* A few strays among many are worth a hint; if nothing comes as it should, that is why. */
static void check_expectations(struct report *report, const struct record_interface *entry,
			       const struct program_facts *facts)
{
	void (*say)(struct report *report, const char *remedy, const char *format, ...) =
		taken_out(facts) ? report_hint : report_problem;
	char remedy[64];

	if (facts->counts[PASS_OTHER_PORT]) {
		snprintf(remedy, sizeof(remedy), "--gue-port %u", facts->other_port);
		say(report, remedy, "%" PRIu64 " gue packets for VIPs came to UDP port %u, not %u",
		    facts->counts[PASS_OTHER_PORT], facts->other_port, entry->options.gue_port);
	}
	if (facts->counts[PASS_OTHER_MODE])
		say(report, "--mode",
		    "%" PRIu64 " packets for VIPs came in another encapsulation than %s",
		    facts->counts[PASS_OTHER_MODE], mode_name(entry->options.mode));
}

void check_counts(struct report *report, const struct record_interface *entry,
		  const struct program_facts *facts)
{
	check_expectations(report, entry, facts);
	for (size_t i = 0; i < sizeof(suspicions) / sizeof(suspicions[0]); i++) {
		uint64_t count = facts->counts[suspicions[i].verdict];

		if (count)
			report_hint(report, suspicions[i].remedy, "%" PRIu64 " packets: %s", count,
				    backend_verdict_text(suspicions[i].verdict));
	}
}
