/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ringlbd: options, signals and the event loop around a struct control. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <bpf/libbpf.h>
#include <systemd/sd-event.h>
#include <xdp/libxdp.h>

#include "control/api.h"
#include "control/control.h"
#include "control/down.h"
#include "control/fragments.h"
#include "control/log.h"
#include "control/moving_log.h"
#include "control/notify.h"
#include "control/server.h"
#include "control/watch.h"

#define SOCKET_DIR  "/run/ringlb"
#define SOCKET_NAME "/ringlb.sock"

/* A burst of netlink changes is answered once; and all is looked at now and then. */
#define REFRESH_SOON_US	 100000
#define REFRESH_EVERY_US 5000000
#define TICK_US		 1000000
#define TIMER_SLACK_US	 10000

static const char usage[] =
	"usage: ringlbd [OPTION]...\n"
	"\n"
	"Balance TCP and UDP flows over backends, as the configuration file says.\n"
	"Traffic flows on when ringlbd ends; --detach (or `ringlb down`) ends that too.\n"
	"\n"
	"  -c, --config FILE    configuration (default /etc/ringlb/ringlb.yaml)\n"
	"  -s, --socket PATH    control socket (default /run/ringlb/ringlb.sock)\n"
	"  -p, --pin-dir DIR    where maps are pinned (default " DATAPLANE_PIN_DIR ")\n"
	"  -S, --state-dir DIR  where live changes are kept (default /var/lib/ringlb)\n"
	"  -d, --detach         remove everything that was put in place, and exit\n"
	"  -v, --verbose        show what libbpf and libxdp say\n"
	"  -V, --version        print the version and exit\n"
	"  -h, --help           this text\n"
	"\n"
	"Examples:\n"
	"  ringlb check /etc/ringlb/ringlb.yaml && ringlbd\n"
	"  ringlbd --config ./lab.yaml --socket ./ringlb.sock --state-dir ./state\n"
	"  ringlbd --detach\n"
	"\n"
	"Signals: SIGHUP reloads the configuration; SIGTERM and SIGINT end the daemon.\n";

struct options {
	struct control_options control;
	const char *socket;
	bool detach;
	bool verbose;
};

struct daemon {
	struct api api;
	struct watch *watch;
	struct fragments *fragments;
	sd_event *loop;
	sd_event_source *refresh;
	struct server *server;
	struct moving_log moving;
	uint64_t told; /* generation that the service manager knows */
};

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("ringlbd: ", stderr);
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

static void set_verbosity(bool verbose)
{
	libbpf_set_print(verbose ? print_libbpf : NULL);
	libxdp_set_print(verbose ? print_libxdp : silent_libxdp);
}

/* Return: -1 to go on, or the exit status. */
static int parse_options(int argc, char **argv, struct options *options)
{
	static const struct option longs[] = {
		{"config", required_argument, NULL, 'c'},
		{"socket", required_argument, NULL, 's'},
		{"pin-dir", required_argument, NULL, 'p'},
		{"state-dir", required_argument, NULL, 'S'},
		{"detach", no_argument, NULL, 'd'},
		{"verbose", no_argument, NULL, 'v'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{},
	};
	int option;

	while ((option = getopt_long(argc, argv, "c:s:p:S:dvVh", longs, NULL)) != -1) {
		switch (option) {
		case 'c':
			options->control.config_path = optarg;
			break;
		case 's':
			options->socket = optarg;
			break;
		case 'p':
			options->control.pin_dir = optarg;
			break;
		case 'S':
			options->control.state_dir = optarg;
			break;
		case 'd':
			options->detach = true;
			break;
		case 'v':
			options->verbose = true;
			break;
		case 'V':
			puts("ringlbd " RINGLB_VERSION);
			return 0;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			return 2;
		}
	}
	if (optind == argc)
		return -1;
	say("unexpected argument '%s' (ringlbd --help)", argv[optind]);
	return 2;
}

static void print_removed(void *context, const char *line)
{
	(void)context;
	puts(line);
}

static int detach(const struct options *options)
{
	char error[DOWN_ERROR_LEN] = "";
	int count = control_down_offline(options->control.pin_dir, print_removed, NULL, error);

	if (count < 0)
		say("%s", error);
	else if (!count)
		puts("nothing was in place");
	return count < 0;
}

/* An interface that went and came back is another one to the kernel, without a program. */
static void refresh_interfaces(struct control *control)
{
	struct control_error error = {};
	int attached = control_refresh_interfaces(control, &error);

	log_trouble(EVENT_ATTACH_TROUBLE, attached < 0 ? error.what : NULL);
	if (attached > 0)
		log_event(EVENT_ATTACHED, NULL, "attached to %d interface%s that came back",
			  attached, attached == 1 ? "" : "s");
}

/* Whatever has changed is in the log, by whose command it was, and in the answer to it. */
static void on_note(void *context, enum control_note what, const char *by, const char *line)
{
	struct daemon *daemon = context;

	log_event(what == CONTROL_WARNING ? EVENT_WARNING : EVENT_CHANGED, LOG_FIELDS({"by", by}),
		  "%s: %s%s", by, what == CONTROL_WARNING ? "warning: " : "", line);
	api_note(&daemon->api, what, line);
}

/* A tick: look at all next hops, then wait for the next change or the next round. */
static int on_refresh(sd_event_source *source, uint64_t now_us, void *context)
{
	struct daemon *daemon = context;
	char text[128] = "";
	int changed;

	(void)now_us;
	refresh_interfaces(daemon->api.control);
	changed = control_refresh_nexthops(daemon->api.control);
	if (changed < 0)
		snprintf(text, sizeof(text), "cannot resolve next hops: %s", strerror(-changed));
	log_trouble(EVENT_NEXTHOP_TROUBLE, changed < 0 ? text : NULL);
	sd_event_source_set_time_relative(source, REFRESH_EVERY_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* To be called after whatever may have changed the running configuration. */
static void sync_watch(struct daemon *daemon)
{
	struct control_error error = {};

	log_trouble(EVENT_RING_TROUBLE, watch_sync(daemon->watch, &error) ? error.what : NULL);
	moving_log_sync(&daemon->moving, daemon->api.control);
	notify_status(daemon->api.control, &daemon->told);
}

static int on_tick(sd_event_source *source, uint64_t now_us, void *context)
{
	struct daemon *daemon = context;
	struct control_error error = {};

	(void)now_us;
	log_trouble(EVENT_TICK_TROUBLE,
		    control_tick(daemon->api.control, &error) ? error.what : NULL);
	sync_watch(daemon);
	log_tick();
	sd_event_source_set_time_relative(source, TICK_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int on_netlink(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct daemon *daemon = context;
	uint64_t due, now;

	(void)source;
	(void)fd;
	(void)events;
	if (nexthops_drain(daemon->api.control->nexthops) <= 0)
		return 0;
	/* Never later than already planned, or a steady trickle would put it off for good. */
	sd_event_now(daemon->loop, CLOCK_MONOTONIC, &now);
	sd_event_source_get_time(daemon->refresh, &due);
	if (due < now + REFRESH_SOON_US)
		return 0;
	return sd_event_source_set_time(daemon->refresh, now + REFRESH_SOON_US);
}

static int on_reload(sd_event_source *source, const struct signalfd_siginfo *info, void *context)
{
	struct daemon *daemon = context;
	struct control_error error = {};

	(void)source;
	(void)info;
	if (notify_reload(daemon->api.control, "SIGHUP", &error))
		log_event(EVENT_NOT_RELOADED, LOG_FIELDS({"by", "SIGHUP"}), "not reloaded: %s",
			  error.what);
	else
		log_event(EVENT_RELOADED, LOG_FIELDS({"by", "SIGHUP"}), "reloaded '%s'",
			  daemon->api.control->config_path);
	sync_watch(daemon);
	return 0;
}

static json_t *on_request(void *context, json_t *request)
{
	struct daemon *daemon = context;
	json_t *answer = api_handle(&daemon->api, request);

	if (daemon->api.done)
		sd_event_exit(daemon->loop, 0);
	else
		sync_watch(daemon);
	return answer;
}

static int add_signals(struct daemon *daemon)
{
	sigset_t signals;
	int err;

	sigemptyset(&signals);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	/* A client that goes away while it is written to is no reason to end. */
	signal(SIGPIPE, SIG_IGN);
	err = sd_event_add_signal(daemon->loop, NULL, SIGHUP, on_reload, daemon);
	if (err >= 0)
		err = sd_event_add_signal(daemon->loop, NULL, SIGINT, NULL, NULL);
	if (err >= 0)
		err = sd_event_add_signal(daemon->loop, NULL, SIGTERM, NULL, NULL);
	return err;
}

static int add_sources(struct daemon *daemon)
{
	int err = sd_event_add_io(daemon->loop, NULL, nexthops_fd(daemon->api.control->nexthops),
				  EPOLLIN, on_netlink, daemon);

	if (err >= 0)
		err = sd_event_add_time_relative(daemon->loop, &daemon->refresh, CLOCK_MONOTONIC,
						 REFRESH_EVERY_US, TIMER_SLACK_US, on_refresh,
						 daemon);
	if (err >= 0)
		err = sd_event_add_time_relative(daemon->loop, NULL, CLOCK_MONOTONIC, TICK_US,
						 TIMER_SLACK_US, on_tick, daemon);
	/* A loop that hangs sends nothing, and a service manager that waits for it acts. */
	if (err >= 0)
		err = sd_event_set_watchdog(daemon->loop, true);
	return err;
}

static int serve(struct daemon *daemon, const struct options *options)
{
	const struct config *running = &daemon->api.control->running;
	struct timespec now;
	int err;

	clock_gettime(CLOCK_MONOTONIC, &now);
	daemon->api.started = now.tv_sec;
	err = add_sources(daemon);
	if (err >= 0)
		err = watch_open(&daemon->watch, daemon->loop, daemon->api.control);
	if (err >= 0)
		err = fragments_open(&daemon->fragments, daemon->loop, daemon->api.control);
	if (err < 0) {
		log_event(EVENT_FAILED, NULL, "cannot set up the event loop: %s", strerror(-err));
		return 1;
	}
	daemon->api.health = watch_health(daemon->watch);
	if (daemon->api.control->dropped)
		log_event(EVENT_WARNING, LOG_FIELDS({"by", "start"}),
			  "'%s' was edited since the last run: unsaved live changes are dropped",
			  daemon->api.control->config_path);
	log_event(EVENT_READY, NULL, "ready: interfaces %zu, pools %zu, vips %zu; socket '%s'",
		  running->n_interfaces, running->n_pools, running->n_vips, options->socket);
	daemon->told = daemon->api.control->generation;
	notify_ready(daemon->api.control);
	err = sd_event_loop(daemon->loop);
	notify_stopping();
	fragments_close(daemon->fragments);
	watch_close(daemon->watch);
	sd_event_source_unref(daemon->refresh);
	return err < 0;
}

static int run(const struct options *options)
{
	struct control_options control = options->control;
	struct control_error error = {};
	struct daemon daemon = {};
	int status = 1, err;

	control.note = on_note;
	control.note_context = &daemon;

	err = sd_event_new(&daemon.loop);
	if (err >= 0)
		err = add_signals(&daemon);
	if (err < 0) {
		log_event(EVENT_FAILED, NULL, "cannot set up the event loop: %s", strerror(-err));
		return 1;
	}
	/* /run is empty after a boot. A directory that was asked for has to be there. */
	if (!strcmp(options->socket, SOCKET_DIR SOCKET_NAME))
		mkdir(SOCKET_DIR, 0755);
	/* Before anything is put in place; requests wait for the loop. */
	err = server_open(&daemon.server, daemon.loop, options->socket, on_request, &daemon);
	if (err)
		log_event(EVENT_FAILED, NULL, "cannot listen on '%s': %s", options->socket,
			  strerror(-err));
	else if (control_open(&daemon.api.control, &control, &error))
		log_event(EVENT_FAILED, NULL, "%s", error.what);
	else
		status = serve(&daemon, options);
	server_close(daemon.server);
	control_close(daemon.api.control);
	sd_event_unref(daemon.loop);
	return status;
}

int main(int argc, char **argv)
{
	struct options options = {
		.control =
			{
				.config_path = "/etc/ringlb/ringlb.yaml",
				.pin_dir = DATAPLANE_PIN_DIR,
				.state_dir = "/var/lib/ringlb",
			},
		.socket = SOCKET_DIR SOCKET_NAME,
	};
	int status = parse_options(argc, argv, &options);

	if (status >= 0)
		return status;
	log_open();
	set_verbosity(options.verbose);
	return options.detach ? detach(&options) : run(&options);
}
