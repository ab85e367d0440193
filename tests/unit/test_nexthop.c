/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Next hops against the kernel itself. Each test gets two new network namespaces, which
 * only this process holds and which go with it:
 *
 *	here                                 peer
 *	v0 02:00:00:00:01:01 --------------- v1 02:00:00:00:01:02
 *	   10.0.1.1 fd00:1::1 fe80::1           10.0.1.2 fd00:1::2 fe80::2
 *	w0 02:00:00:00:02:01 --------------- w1 02:00:00:00:02:02
 *	   10.0.2.1 fd00:2::1 fe80::1           10.0.2.2 fd00:2::2 fe80::2
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/nexthop.h"

#define WAIT_MS	      3000
#define WAIT_PROBE_MS 12000 /* the kernel looks at managed entries every 5 s */

static int home_ns = -1, here_ns = -1, peer_ns = -1;
static struct nexthops *nexthops;

static const uint8_t mac_v0[6] = {2, 0, 0, 0, 1, 1}, mac_v1[6] = {2, 0, 0, 0, 1, 2};
static const uint8_t mac_w0[6] = {2, 0, 0, 0, 2, 1}, mac_w1[6] = {2, 0, 0, 0, 2, 2};
static const uint8_t mac_new[6] = {2, 0, 0, 0, 1, 0xee}, mac_none[6];

/* The exit status of a shell command in a namespace. */
static int run(int ns, const char *command)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		if (!setns(ns, CLONE_NEWNET))
			execl("/bin/sh", "sh", "-ec", command, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void here(const char *command)
{
	if (run(here_ns, command))
		fail_msg("failed: %s", command);
}

static void peer(const char *command)
{
	if (run(peer_ns, command))
		fail_msg("failed at the peer: %s", command);
}

static int namespace_new(void)
{
	int ns;

	assert_int_equal(unshare(CLONE_NEWNET), 0);
	ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	assert_true(ns >= 0);
	return ns;
}

/*
 * Ten requests a second instead of one, as long as the tests wait, so that no answer
 * takes a second; no addresses but ours, so that nothing changes unasked. Without a
 * link-local address the kernel sends no neighbour solicitations of its own accord.
 */
static void pair_add(char name, const char *far, char net)
{
	char command[2048];

	snprintf(
		command, sizeof(command),
		"n=%c d=%c; ip link add ${n}0 address 02:00:00:00:0$d:01 type veth"
		" peer name ${n}1 address 02:00:00:00:0$d:02 netns %s\n"
		"for f in 4 6; do cd /proc/sys/net/ipv$f/neigh/${n}0;"
		" echo 100 >retrans_time_ms; echo 30 >mcast_solicit; done\n"
		"ip link set ${n}0 addrgenmode none; ip link set ${n}0 up\n"
		"ip addr add 10.0.$d.1/24 dev ${n}0\n"
		"ip addr add fd00:$d::1/64 dev ${n}0 nodad; ip addr add fe80::1/64 dev ${n}0 nodad",
		name, net, far);
	here(command);
	snprintf(
		command, sizeof(command),
		"n=%c d=%c; ip link set ${n}1 addrgenmode none; ip link set ${n}1 up\n"
		"ip addr add 10.0.$d.2/24 dev ${n}1\n"
		"ip addr add fd00:$d::2/64 dev ${n}1 nodad; ip addr add fe80::2/64 dev ${n}1 nodad",
		name, net);
	peer(command);
}

static int setup(void **state)
{
	char far[64];

	(void)state;
	peer_ns = namespace_new();
	here_ns = namespace_new();
	snprintf(far, sizeof(far), "/proc/%d/fd/%d", getpid(), peer_ns);
	here("ip link set lo up");
	pair_add('v', far, '1');
	pair_add('w', far, '2');
	return nexthops_open(&nexthops);
}

static int teardown(void **state)
{
	(void)state;
	nexthops_close(nexthops);
	nexthops = NULL;
	close(here_ns);
	close(peer_ns);
	return setns(home_ns, CLONE_NEWNET);
}

static struct config_address address(const char *text)
{
	struct config_address parsed = {.family = strchr(text, ':') ? AF_INET6 : AF_INET};

	assert_int_equal(inet_pton(parsed.family, text, parsed.bytes), 1);
	return parsed;
}

static struct nexthop_info resolve(const char *backend)
{
	const struct config_address to = address(backend);
	struct nexthop_info info;

	memset(&info, 0xff, sizeof(info));
	assert_int_equal(nexthops_resolve(nexthops, &to, &info), 0);
	return info;
}

static void forget(const char *interface, const char *via)
{
	const struct config_address gateway = address(via);

	assert_int_equal(nexthops_forget(nexthops, if_nametoindex(interface), &gateway), 0);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Wait for a signalled change; fails if there is none until @deadline_ms. */
static void wait_change(int64_t deadline_ms, const char *what)
{
	struct pollfd pollfd = {.fd = nexthops_fd(nexthops), .events = POLLIN};
	int64_t left_ms;
	int changed = 0;

	while (!changed) {
		left_ms = deadline_ms - now_ms();
		if (left_ms <= 0 || poll(&pollfd, 1, (int)left_ms) != 1)
			fail_msg("not signalled: %s", what);
		changed = nexthops_drain(nexthops);
		assert_in_range(changed, 0, 1);
	}
}

/* As the daemon does it: resolve, and then again only after a change was signalled. */
static struct nexthop_info wait_state(const char *backend, enum nexthop_state state,
				      const uint8_t *mac, int timeout_ms)
{
	int64_t deadline_ms = now_ms() + timeout_ms;
	struct nexthop_info info;

	for (;;) {
		info = resolve(backend);
		if (info.state == state && !memcmp(info.destination, mac, 6))
			return info;
		wait_change(deadline_ms, backend);
	}
}

static void check_info(const struct nexthop_info *info, const char *interface, const char *via,
		       const uint8_t *source, const uint8_t *destination)
{
	const struct config_address gateway = address(via);

	assert_int_equal(info->ifindex, if_nametoindex(interface));
	assert_int_equal(info->via.family, gateway.family);
	assert_memory_equal(info->via.bytes, gateway.bytes, 16);
	assert_memory_equal(info->source, source, 6);
	assert_memory_equal(info->destination, destination, 6);
}

/* True if `ip neigh` shows the entry with @word. */
static bool neighbour_shows(const char *interface, const char *via, const char *word)
{
	char command[256];

	snprintf(command, sizeof(command), "ip -d neigh show %s dev %s | grep -qw -- '%s'", via,
		 interface, word);
	return run(here_ns, command) == 0;
}

/* Drain until nothing waits; what the kernel does at once has been told by then. */
static void drain_all(void)
{
	while (nexthops_drain(nexthops) == 1)
		;
	assert_int_equal(nexthops_drain(nexthops), 0);
}

struct reach {
	const char *route;
	const char *backend;
	const char *via;
};

static struct reach reaches[] = {
	{"true", "10.0.1.7", "10.0.1.7"},
	{"true", "fd00:1::7", "fd00:1::7"},
	{"ip route add 10.9.0.0/16 via 10.0.1.8", "10.9.0.1", "10.0.1.8"},
	{"ip route add fd09::/64 via fd00:1::8", "fd09::1", "fd00:1::8"},
	{"ip route add fd09::/64 via fe80::8 dev v0", "fd09::1", "fe80::8"},
	{"ip route add 10.9.0.0/16 via inet6 fe80::8 dev v0", "10.9.0.1", "fe80::8"},
};

/* The neighbour is not there yet, and comes up while we wait. */
static void test_reach(void **state)
{
	const struct reach *reach = *state;
	struct nexthop_info info;
	char command[128];

	here(reach->route);
	info = resolve(reach->backend);
	assert_int_equal(info.state, NEXTHOP_RESOLVING);
	check_info(&info, "v0", reach->via, mac_v0, mac_none);
	assert_true(neighbour_shows("v0", reach->via, "managed"));

	snprintf(command, sizeof(command), "ip addr add %s/128 dev v1 nodad", reach->via);
	if (!strchr(reach->via, ':'))
		snprintf(command, sizeof(command), "ip addr add %s/32 dev v1", reach->via);
	peer(command);
	info = wait_state(reach->backend, NEXTHOP_RESOLVED, mac_v1, WAIT_MS);
	check_info(&info, "v0", reach->via, mac_v0, mac_v1);
	assert_true(neighbour_shows("v0", reach->via, "managed"));
}

struct answer {
	const char *route;
	const char *backend;
	enum nexthop_state state;
};

static struct answer answers[] = {
	{"true", "192.0.2.1", NEXTHOP_NO_ROUTE},
	{"true", "2001:db8::1", NEXTHOP_NO_ROUTE},
	{"ip route add blackhole 192.0.2.0/24", "192.0.2.1", NEXTHOP_NO_ROUTE},
	{"ip route add blackhole 2001:db8::/64", "2001:db8::1", NEXTHOP_NO_ROUTE},
	{"ip route add prohibit 192.0.2.0/24", "192.0.2.1", NEXTHOP_NO_ROUTE},
	{"ip route add prohibit 2001:db8::/64", "2001:db8::1", NEXTHOP_NO_ROUTE},
	{"ip route add unreachable 192.0.2.0/24", "192.0.2.1", NEXTHOP_NO_ROUTE},
	{"ip route add unreachable 2001:db8::/64", "2001:db8::1", NEXTHOP_NO_ROUTE},
	{"ip route add throw 192.0.2.0/24", "192.0.2.1", NEXTHOP_NO_ROUTE},
	{"true", "10.0.1.255", NEXTHOP_NO_ROUTE}, /* broadcast */
	{"true", "ff02::1", NEXTHOP_NO_ROUTE},	  /* multicast */
	{"true", "10.0.1.1", NEXTHOP_LOCAL},
	{"true", "127.0.0.1", NEXTHOP_LOCAL},
	{"true", "fd00:1::1", NEXTHOP_LOCAL},
	{"true", "fe80::1", NEXTHOP_LOCAL},
	{"true", "::1", NEXTHOP_LOCAL},
	{"ip route add local 192.0.2.0/24 dev lo", "192.0.2.1", NEXTHOP_LOCAL},
	{"ip route add 192.0.2.0/24 dev lo", "192.0.2.1", NEXTHOP_NOT_ETHERNET},
	{"ip route add 2001:db8::/64 dev lo", "2001:db8::1", NEXTHOP_NOT_ETHERNET},
	{"ip route add 192.0.2.0/24 encap ip id 1 dst 10.0.1.2 via 10.0.1.2", "192.0.2.1",
	 NEXTHOP_NOT_ETHERNET},
	{"ip route add 2001:db8::/64 encap ip6 id 1 dst fd00:1::2 via fd00:1::2", "2001:db8::1",
	 NEXTHOP_NOT_ETHERNET},
	{"ip tuntap add t0 mode tun; ip link set t0 up; ip route add 192.0.2.0/24 dev t0",
	 "192.0.2.1", NEXTHOP_NOT_ETHERNET},
	{"echo 1 >/proc/sys/net/ipv6/conf/all/forwarding", "fd00:1::", NEXTHOP_LOCAL}, /* anycast */
	{"ip rule add to 10.0.1.2 blackhole", "10.0.1.2", NEXTHOP_NO_ROUTE},
	{"ip -6 rule add to fd00:1::2 prohibit", "fd00:1::2", NEXTHOP_NO_ROUTE},
};

/* All in one namespace: each row takes its own route away again. */
static void test_answers(void **state)
{
	struct nexthop_info info;

	(void)state;
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		here(answers[i].route);
		info = resolve(answers[i].backend);
		if (info.state != answers[i].state)
			fail_msg("%s, after '%s': state %d", answers[i].backend, answers[i].route,
				 (int)info.state);
		here("for t in main local; do ip route flush table $t exact 192.0.2.0/24;"
		     " ip -6 route flush table $t exact 2001:db8::/64; done");
	}
}

static void test_family_unknown(void **state)
{
	const struct config_address none = {.family = AF_UNSPEC};
	struct nexthop_info info = {.ifindex = 77};

	(void)state;
	assert_int_equal(nexthops_resolve(nexthops, &none, &info), -EAFNOSUPPORT);
	assert_int_equal(info.ifindex, 77);
}

static void test_multipath(void **state)
{
	struct nexthop_info info;

	(void)state;
	here("ip route add 10.9.0.0/16 nexthop via 10.0.1.2 nexthop via 10.0.2.2");
	wait_state("10.0.1.2", NEXTHOP_RESOLVED, mac_v1, WAIT_MS);
	wait_state("10.0.2.2", NEXTHOP_RESOLVED, mac_w1, WAIT_MS);
	info = resolve("10.9.0.1");
	assert_int_equal(info.state, NEXTHOP_RESOLVED);
	if (info.ifindex == if_nametoindex("v0"))
		check_info(&info, "v0", "10.0.1.2", mac_v0, mac_v1);
	else
		check_info(&info, "w0", "10.0.2.2", mac_w0, mac_w1);
}

/* An interface with ARP switched off has an answer at once and announces nothing. */
static void test_interface_without_arp(void **state)
{
	struct nexthop_info info;

	(void)state;
	here("ip link set v0 arp off");
	info = resolve("10.0.1.7");
	assert_int_equal(info.state, NEXTHOP_RESOLVED);
	check_info(&info, "v0", "10.0.1.7", mac_v0, mac_v0);
}

/* The peer announces its new MAC address: gratuitous ARP, unsolicited advertisement. */
static void test_mac_announced(void **state)
{
	(void)state;
	peer("echo 1 >/proc/sys/net/ipv4/conf/v1/arp_notify");
	peer("echo 1 >/proc/sys/net/ipv6/conf/v1/ndisc_notify");
	wait_state("10.0.1.2", NEXTHOP_RESOLVED, mac_v1, WAIT_MS);
	wait_state("fd00:1::2", NEXTHOP_RESOLVED, mac_v1, WAIT_MS);
	peer("ip link set v1 address 02:00:00:00:01:ee");
	wait_state("10.0.1.2", NEXTHOP_RESOLVED, mac_new, WAIT_MS);
	wait_state("fd00:1::2", NEXTHOP_RESOLVED, mac_new, WAIT_MS);
}

/* It says nothing: the kernel's own probing of managed entries finds out. */
static void test_mac_changed_silently(void **state)
{
	(void)state;
	here("cd /proc/sys/net/ipv4/neigh/v0; echo 200 >base_reachable_time_ms;"
	     " echo 1 >delay_first_probe_time; echo 1 >ucast_solicit");
	wait_state("10.0.1.2", NEXTHOP_RESOLVED, mac_v1, WAIT_MS);
	peer("ip link set v1 address 02:00:00:00:01:ee");
	wait_state("10.0.1.2", NEXTHOP_RESOLVED, mac_new, WAIT_PROBE_MS);
}

/* Without a neighbour or IPv6 nothing but the interface's own notification tells it. */
static void test_own_mac_changed(void **state)
{
	struct nexthop_info info;

	(void)state;
	here("echo 1 >/proc/sys/net/ipv6/conf/v0/disable_ipv6; ip neigh flush dev v0");
	drain_all();
	here("ip link set v0 address 02:00:00:00:01:ee");
	wait_change(now_ms() + WAIT_MS, "MAC address of v0");
	info = wait_state("10.0.1.2", NEXTHOP_RESOLVED, mac_v1, WAIT_MS);
	check_info(&info, "v0", "10.0.1.2", mac_new, mac_v1);
}

static void test_link_down_and_up(void **state)
{
	(void)state;
	wait_state("10.0.1.2", NEXTHOP_RESOLVED, mac_v1, WAIT_MS);
	here("ip link set v0 down");
	wait_state("10.0.1.2", NEXTHOP_NO_ROUTE, mac_none, WAIT_MS);
	here("ip link set v0 up");
	wait_state("10.0.1.2", NEXTHOP_RESOLVED, mac_v1, WAIT_MS);
}

static void test_carrier_down_and_up(void **state)
{
	(void)state;
	wait_state("10.0.1.2", NEXTHOP_RESOLVED, mac_v1, WAIT_MS);
	peer("ip link set v1 down");
	wait_state("10.0.1.2", NEXTHOP_RESOLVING, mac_none, WAIT_MS);
	peer("ip link set v1 up");
	wait_state("10.0.1.2", NEXTHOP_RESOLVED, mac_v1, WAIT_MS);
	assert_true(neighbour_shows("v0", "10.0.1.2", "managed"));
}

static void test_interface_deleted(void **state)
{
	struct nexthop_info info;

	(void)state;
	info = wait_state("10.0.1.2", NEXTHOP_RESOLVED, mac_v1, WAIT_MS);
	here("ip link del v0");
	wait_state("10.0.1.2", NEXTHOP_NO_ROUTE, mac_none, WAIT_MS);
	assert_int_equal(nexthops_forget(nexthops, info.ifindex, &info.via), 0);
}

static void test_route_moves(void **state)
{
	struct nexthop_info info;

	(void)state;
	here("ip route add 10.9.0.0/16 via 10.0.1.2");
	wait_state("10.9.0.1", NEXTHOP_RESOLVED, mac_v1, WAIT_MS);
	drain_all();
	here("ip route replace 10.9.0.0/16 via 10.0.2.2");
	wait_change(now_ms() + WAIT_MS, "IPv4 route");
	info = wait_state("10.9.0.1", NEXTHOP_RESOLVED, mac_w1, WAIT_MS);
	check_info(&info, "w0", "10.0.2.2", mac_w0, mac_w1);
	drain_all();
	here("ip route add fd09::/64 via fd00:2::2");
	wait_change(now_ms() + WAIT_MS, "IPv6 route");
	info = wait_state("fd09::1", NEXTHOP_RESOLVED, mac_w1, WAIT_MS);
	check_info(&info, "w0", "fd00:2::2", mac_w0, mac_w1);
	drain_all();
	here("ip rule add to 10.9.0.0/16 blackhole");
	wait_change(now_ms() + WAIT_MS, "rule");
	assert_int_equal(resolve("10.9.0.1").state, NEXTHOP_NO_ROUTE);
}

struct mtu_step {
	const char *command;
	uint16_t ipv4, ipv6;
};

/* Each is told before it is looked up. */
static void test_mtu_changes(void **state)
{
	static const struct mtu_step steps[] = {
		{"ip link set v0 mtu 1400", 1400, 1400},
		{"ip route replace 10.9.0.0/16 via 10.0.1.2 mtu 1300", 1300, 1400},
		{"ip route replace 10.9.0.0/16 via 10.0.1.2 mtu lock 1350", 1350, 1400},
		{"ip -6 route replace fd09::/64 via fd00:1::2 mtu 1320", 1350, 1320},
		{"ip route replace 10.9.0.0/16 via 10.0.1.2 mtu 9000", 1400, 1320},
		{"ip route replace 10.9.0.0/16 via 10.0.1.2 advmss 600", 1400, 1320},
		{"ip link set v0 mtu 65535", 65535, 1320},
		{"ip link set v0 mtu 1310", 1310, 1310},
	};

	(void)state;
	here("ip route add 10.9.0.0/16 via 10.0.1.2; ip route add fd09::/64 via fd00:1::2");
	assert_int_equal(wait_state("10.9.0.1", NEXTHOP_RESOLVED, mac_v1, WAIT_MS).mtu, 1500);
	assert_int_equal(wait_state("fd09::1", NEXTHOP_RESOLVED, mac_v1, WAIT_MS).mtu, 1500);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		drain_all();
		here(steps[i].command);
		wait_change(now_ms() + WAIT_MS, steps[i].command);
		assert_int_equal(resolve("10.9.0.1").mtu, steps[i].ipv4);
		assert_int_equal(resolve("fd09::1").mtu, steps[i].ipv6);
	}
}

/* The kernel has been told by a router that the way is narrower there. */
static void test_mtu_learned(void **state)
{
	(void)state;
	peer("sysctl -qw net.ipv4.conf.all.forwarding=1 net.ipv6.conf.all.forwarding=1");
	peer("ip link set w1 mtu 1300; ip route add 10.9.0.0/16 via 10.0.2.1");
	peer("ip route add fd09::/64 via fd00:2::1");
	here("ip route add 10.9.0.0/16 via 10.0.1.2; ip route add fd09::/64 via fd00:1::2");
	here("for to in 10.9.0.1 fd09::1; do ping -M do -s 1400 -c 2 -W 1 $to || :; done "
	     ">/dev/null 2>&1");
	assert_int_equal(wait_state("10.9.0.1", NEXTHOP_RESOLVED, mac_v1, WAIT_MS).mtu, 1300);
	assert_int_equal(wait_state("fd09::1", NEXTHOP_RESOLVED, mac_v1, WAIT_MS).mtu, 1300);
	assert_int_equal(wait_state("10.9.0.2", NEXTHOP_RESOLVED, mac_v1, WAIT_MS).mtu, 1500);
}

/* A routing daemon changes one next hop object instead of each route that uses it. */
static void test_nexthop_object_moves(void **state)
{
	(void)state;
	here("echo 0 >/proc/sys/net/ipv4/nexthop_compat_mode\n"
	     "ip nexthop add id 9 via 10.0.1.2 dev v0; ip route add 10.9.0.0/16 nhid 9");
	wait_state("10.9.0.1", NEXTHOP_RESOLVED, mac_v1, WAIT_MS);
	drain_all();
	here("ip nexthop replace id 9 via 10.0.2.2 dev w0");
	wait_change(now_ms() + WAIT_MS, "next hop object");
	wait_state("10.9.0.1", NEXTHOP_RESOLVED, mac_w1, WAIT_MS);
}

/* To ask for a static entry would take its MAC address away. */
static void test_permanent_untouched(void **state)
{
	struct nexthop_info info;

	(void)state;
	here("ip neigh add 10.0.1.2 lladdr 02:00:00:00:01:ee dev v0 nud permanent");
	info = resolve("10.0.1.2");
	assert_int_equal(info.state, NEXTHOP_RESOLVED);
	check_info(&info, "v0", "10.0.1.2", mac_v0, mac_new);
	forget("v0", "10.0.1.2");
	assert_true(neighbour_shows("v0", "10.0.1.2", "lladdr 02:00:00:00:01:ee PERMANENT"));
}

/* An entry that is in use already becomes managed as it is. */
static void test_existing_entry_kept(void **state)
{
	(void)state;
	here("ip neigh add 10.0.1.2 lladdr 02:00:00:00:01:02 dev v0 nud stale\n"
	     "ip neigh add 10.0.1.3 lladdr 02:00:00:00:01:ee dev v0 nud reachable extern_learn");
	assert_int_equal(resolve("10.0.1.2").state, NEXTHOP_RESOLVED);
	assert_memory_equal(resolve("10.0.1.2").destination, mac_v1, 6);
	assert_true(neighbour_shows("v0", "10.0.1.2", "lladdr 02:00:00:00:01:02 managed"));
	assert_int_equal(resolve("10.0.1.3").state, NEXTHOP_RESOLVED);
	forget("v0", "10.0.1.3"); /* a routing daemon's, as is the next */
	assert_true(neighbour_shows("v0", "10.0.1.3", "lladdr 02:00:00:00:01:ee"));
	assert_true(neighbour_shows("v0", "10.0.1.3", "managed extern_learn"));
	here("ip neigh add 10.0.1.4 lladdr 02:00:00:00:01:ee dev v0 nud reachable proto zebra");
	assert_int_equal(resolve("10.0.1.4").state, NEXTHOP_RESOLVED);
	assert_true(neighbour_shows("v0", "10.0.1.4", "managed"));
	assert_true(neighbour_shows("v0", "10.0.1.4", "proto zebra"));
}

/* More than the kernel's table holds by default, and none is collected. */
static void test_many(void **state)
{
	char backend[32];

	(void)state;
	here("ip route add 10.64.0.0/16 dev v0");
	for (int i = 0; i < 1500; i++) {
		snprintf(backend, sizeof(backend), "10.64.%d.%d", i / 256, i % 256);
		assert_int_equal(resolve(backend).state, NEXTHOP_RESOLVING);
	}
	here("test $(ip -d neigh show to 10.64.0.0/16 | grep -c managed) = 1500");
}

static void check_forgotten(const char *via)
{
	forget("v0", via);
	assert_false(neighbour_shows("v0", via, "managed"));
	assert_false(neighbour_shows("v0", via, "extern_learn"));
	assert_true(neighbour_shows("v0", via, "lladdr 02:00:00:00:01:02"));
}

static void test_forget(void **state)
{
	(void)state;
	forget("v0", "10.0.1.2"); /* nothing there */
	wait_state("10.0.1.2", NEXTHOP_RESOLVED, mac_v1, WAIT_MS);
	nexthops_close(nexthops); /* a restart */
	assert_int_equal(nexthops_open(&nexthops), 0);
	assert_true(neighbour_shows("v0", "10.0.1.2", "managed"));
	check_forgotten("10.0.1.2");
	assert_int_equal(resolve("10.0.1.2").state, NEXTHOP_RESOLVED);
	assert_true(neighbour_shows("v0", "10.0.1.2", "managed"));
	check_forgotten("10.0.1.2");
	here("ip neigh change 10.0.1.2 dev v0 managed"); /* by somebody else from now on */
	forget("v0", "10.0.1.2");
	assert_true(neighbour_shows("v0", "10.0.1.2", "managed"));
}

/* Another program has the kernel keep the same neighbour, and goes on needing it. */
static void test_forget_others(void **state)
{
	(void)state;
	here("ip neigh add 10.0.1.2 dev v0 managed");
	wait_state("10.0.1.2", NEXTHOP_RESOLVED, mac_v1, WAIT_MS);
	forget("v0", "10.0.1.2");
	assert_true(neighbour_shows("v0", "10.0.1.2", "managed"));

	/* Nor does it become ours when we have the kernel try it again. */
	here("echo 1 >/proc/sys/net/ipv4/neigh/v0/mcast_solicit; ip neigh add 10.0.1.9 dev v0 "
	     "managed");
	while (!neighbour_shows("v0", "10.0.1.9", "FAILED"))
		wait_change(now_ms() + WAIT_MS, "failure of 10.0.1.9");
	here("echo 30 >/proc/sys/net/ipv4/neigh/v0/mcast_solicit");
	assert_int_equal(resolve("10.0.1.9").state, NEXTHOP_RESOLVING);
	assert_true(neighbour_shows("v0", "10.0.1.9", "INCOMPLETE"));
	forget("v0", "10.0.1.9");
	assert_true(neighbour_shows("v0", "10.0.1.9", "managed"));
}

/* Resolving must not cause the changes that make the caller resolve again. */
static void test_resolving_is_quiet(void **state)
{
	(void)state;
	assert_int_equal(nexthops_drain(nexthops), 0);
	wait_state("10.0.1.2", NEXTHOP_RESOLVED, mac_v1, WAIT_MS);
	resolve("10.0.1.9"); /* nobody has it */
	drain_all();
	for (int i = 0; i < 100; i++) {
		resolve("10.0.1.2");
		resolve("10.0.1.9");
	}
	assert_int_equal(nexthops_drain(nexthops), 0);
	here("ip link add b0 type bridge; ip link set w0 master b0");
	drain_all();
	here("bridge fdb add 02:00:00:00:09:09 dev w0 master static");
	assert_int_equal(nexthops_drain(nexthops), 0);
}

/* What is left in the queue is of no interest; what was lost may have been. */
static void test_overrun_is_a_change(void **state)
{
	(void)state;
	here("ip link add b0 type bridge; ip link set w0 master b0");
	drain_all();
	here("i=0; while [ $i -lt 8000 ]; do"
	     " printf 'fdb add 02:00:00:09:%02x:%02x dev w0 master static\\n'"
	     " $((i / 256)) $((i % 256)); i=$((i + 1)); done | bridge -batch -");
	assert_int_equal(nexthops_drain(nexthops), 1);
	assert_int_equal(nexthops_drain(nexthops), 0);
	wait_state("10.0.1.2", NEXTHOP_RESOLVED, mac_v1, WAIT_MS);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
#define REACH(what, i) {"test_reach: " what, test_reach, setup, teardown, &reaches[i]}

int main(void)
{
	const struct CMUnitTest tests[] = {
		REACH("IPv4 on-link", 0),
		REACH("IPv6 on-link", 1),
		REACH("IPv4 gateway", 2),
		REACH("IPv6 gateway", 3),
		REACH("link-local gateway", 4),
		REACH("IPv6 gateway of an IPv4 route", 5),
		TEST(test_answers),
		TEST(test_family_unknown),
		TEST(test_multipath),
		TEST(test_interface_without_arp),
		TEST(test_mac_announced),
		TEST(test_mac_changed_silently),
		TEST(test_own_mac_changed),
		TEST(test_link_down_and_up),
		TEST(test_carrier_down_and_up),
		TEST(test_interface_deleted),
		TEST(test_route_moves),
		TEST(test_mtu_changes),
		TEST(test_mtu_learned),
		TEST(test_nexthop_object_moves),
		TEST(test_permanent_untouched),
		TEST(test_existing_entry_kept),
		TEST(test_many),
		TEST(test_forget),
		TEST(test_forget_others),
		TEST(test_resolving_is_quiet),
		TEST(test_overrun_is_a_change),
	};

	if (geteuid() != 0) {
		puts("1..0 # SKIP network namespaces need root");
		return 0;
	}
	home_ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	return cmocka_run_group_tests_name("nexthop", tests, NULL, NULL);
}
