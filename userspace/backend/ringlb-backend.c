/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sets a host up as a backend of dr, ipip and gue pools. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>
#include <jansson.h>
#include <xdp/libxdp.h>

#include "backend/arguments.h"
#include "backend/check.h"
#include "backend/record.h"
#include "backend/setup.h"
#include "backend/status.h"

void say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("ringlb-backend: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
}

static int print_libbpf(enum libbpf_print_level level, const char *format, va_list arguments)
{
	return level == LIBBPF_DEBUG ? 0 : vfprintf(stderr, format, arguments);
}

static int print_libxdp(enum libxdp_print_level level, const char *format, va_list arguments)
{
	return level == LIBXDP_DEBUG ? 0 : vfprintf(stderr, format, arguments);
}

static int silent_libxdp(enum libxdp_print_level level, const char *format, va_list arguments)
{
	(void)level;
	(void)format;
	(void)arguments;
	return 0;
}

static void print_notes(const struct setup_notes *notes)
{
	for (uint32_t i = 0; i < notes->len; i++)
		say("%s", notes->lines[i]);
}

/* Without options: those that the interface is attached with. */
static int options_from_record(struct arguments *arguments, struct record *record,
			       struct failure *failure)
{
	const struct record_interface *entry;
	int err = record_read(arguments->state_dir, record, failure);

	if (err)
		return err;
	entry = record_find(record, arguments->ifname, if_nametoindex(arguments->ifname));
	if (!entry)
		return fail_with(failure, -ENOENT,
				 "'%s' is not attached yet: ringlb-backend attach %s --vip ADDRESS",
				 arguments->ifname, arguments->ifname);
	arguments->options = entry->options;
	return 0;
}

static int run_attach(struct arguments *arguments, struct record *record)
{
	struct setup_notes notes = {};
	struct failure failure;
	int err = 0;

	if (!arguments->has_options)
		err = options_from_record(arguments, record, &failure);
	if (!err)
		err = setup_attach(arguments->state_dir, arguments->ifname, &arguments->options,
				   &notes, &failure);
	print_notes(&notes);
	if (err)
		say("%s", failure.what);
	return err ? BACKEND_FAILED : BACKEND_DONE;
}

static int run_detach(const struct arguments *arguments)
{
	struct setup_notes notes = {};
	struct failure failure;
	int err = setup_detach(arguments->state_dir, arguments->ifname, &notes, &failure);

	print_notes(&notes);
	if (err)
		say("%s", failure.what);
	return err ? BACKEND_FAILED : BACKEND_DONE;
}

static void print_json(json_t *value)
{
	json_dumpf(value, stdout, JSON_INDENT(2));
	putchar('\n');
}

/* Is this the interface that was asked about? Without a name: all are. */
static bool is_asked(const struct arguments *arguments, const struct record_interface *entry)
{
	uint32_t ifindex = arguments->ifname ? if_nametoindex(arguments->ifname) : 0;

	if (!arguments->ifname)
		return true;
	return ifindex ? entry->ifindex == ifindex : !strcmp(entry->name, arguments->ifname);
}

static int check_entries(const struct arguments *arguments, const struct record *record,
			 struct report *report, struct netlink *netlink, struct failure *failure)
{
	bool any = false;

	for (uint32_t i = 0; i < record->n_interfaces; i++) {
		const struct record_interface *entry = &record->interfaces[i];
		unsigned int before = report->n_problems;
		int err;

		if (!is_asked(arguments, entry))
			continue;
		any = true;
		err = check_interface(report, netlink, record, entry, failure);
		if (err)
			return err;
		if (!report->findings && before == report->n_problems)
			printf("%s: ok\n", report->ifname);
	}
	report->ifname[0] = '\0';
	if (!any && arguments->ifname)
		report_problem(report, "ringlb-backend attach IFACE --vip ADDRESS",
			       "'%s' is not attached", arguments->ifname);
	else if (!any)
		report_problem(report, "ringlb-backend attach IFACE --vip ADDRESS",
			       "nothing is attached");
	return 0;
}

static int run_check(const struct arguments *arguments, struct record *record)
{
	struct report report = {.findings = arguments->json ? json_array() : NULL};
	struct netlink *netlink = NULL;
	struct failure failure;
	int err = record_read(arguments->state_dir, record, &failure);

	if (!err) {
		err = netlink_open(&netlink);
		if (err)
			failure_set(&failure, "cannot reach the kernel over netlink: %s",
				    strerror(-err));
	}
	if (!err)
		err = check_entries(arguments, record, &report, netlink, &failure);
	if (err)
		say("%s", failure.what);
	else if (report.findings)
		print_json(report.findings);
	json_decref(report.findings);
	netlink_close(netlink);
	return err || report.n_problems ? BACKEND_FAILED : BACKEND_DONE;
}

static int show_entries(const struct arguments *arguments, const struct record *record, json_t *all,
			struct failure *failure)
{
	for (uint32_t i = 0; i < record->n_interfaces; i++) {
		json_t *one = NULL;
		int err;

		if (!is_asked(arguments, &record->interfaces[i]))
			continue;
		err = status_of(&record->interfaces[i], &one, failure);
		if (err)
			return err;
		json_array_append_new(all, one);
		if (!arguments->json)
			status_print(one);
	}
	if (json_array_size(all) || !arguments->ifname)
		return 0;
	return fail_with(failure, -ENOENT, "'%s' is not attached", arguments->ifname);
}

static int run_status(const struct arguments *arguments, struct record *record)
{
	json_t *all = json_array();
	struct failure failure;
	int err = record_read(arguments->state_dir, record, &failure);

	if (!err)
		err = show_entries(arguments, record, all, &failure);
	if (err)
		say("%s", failure.what);
	else if (arguments->json)
		print_json(all);
	else if (!json_array_size(all))
		puts("nothing is attached");
	json_decref(all);
	return err ? BACKEND_FAILED : BACKEND_DONE;
}

static int run(struct arguments *arguments, struct record *record)
{
	if (arguments->help) {
		print_help();
		return BACKEND_DONE;
	}
	if (arguments->version) {
		puts("ringlb-backend " RINGLB_VERSION);
		return BACKEND_DONE;
	}
	libbpf_set_print(arguments->verbose ? print_libbpf : NULL);
	libxdp_set_print(arguments->verbose ? print_libxdp : silent_libxdp);
	if (geteuid() != 0) {
		say("root is needed, to look at programs as well as to attach them");
		return BACKEND_FAILED;
	}
	switch (arguments->command) {
	case COMMAND_ATTACH:
		return run_attach(arguments, record);
	case COMMAND_DETACH:
		return run_detach(arguments);
	case COMMAND_CHECK:
		return run_check(arguments, record);
	default:
		return run_status(arguments, record);
	}
}

int main(int argc, char **argv)
{
	/* Both are too big for the stack. */
	static struct arguments arguments;
	static struct record record;
	int status = backend_arguments_read(&arguments, argc, argv);

	if (!status)
		status = run(&arguments, &record);
	if (fclose(stdout) == EOF) {
		say("cannot write to standard output: %s", strerror(errno));
		status = status ? status : BACKEND_FAILED;
	}
	return status;
}
