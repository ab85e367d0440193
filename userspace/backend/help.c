/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "backend/arguments.h"

#include <stdio.h>

static const char help[] =
	"usage: ringlb-backend attach IFACE --vip ADDRESS... [OPTION]...\n"
	"       ringlb-backend detach IFACE\n"
	"       ringlb-backend check [IFACE] [--json]\n"
	"       ringlb-backend status [IFACE] [--json]\n"
	"\n"
	"Sets this host up as a backend of ringlb that answers clients itself: it gets packets\n"
	"for the VIPs from the load balancer, as they are (dr) or in a tunnel (ipip, gue).\n"
	"\n"
	"  attach  puts the VIPs on lo, keeps them from ARP (arp_ignore, arp_announce), makes\n"
	"          rp_filter loose on IFACE and attaches an XDP program there that takes the\n"
	"          packets out of their tunnel. All or nothing. Without options it mends what\n"
	"          is missing, and learns of new addresses of this host.\n"
	"  detach  puts everything back as it was\n"
	"  check   says what is wrong, one line each, and how to mend it\n"
	"  status  shows what is attached and what it did\n"
	"\n"
	"options of attach:\n"
	"  --vip ADDRESS...    VIPs, of IPv4 and IPv6; prefixes too, which a route makes local\n"
	"  --mode MODE         only ipip, or only gue; dr: no tunnel (default: ipip and gue)\n"
	"  --gue-port N        UDP port of gue (default 6080)\n"
	"  --from PREFIX...    take packets only out of tunnels that begin there: at ringlb's\n"
	"                      encap.source_ipv4 and source_ipv6, 198.18.0.0/16 and 100::/64 by\n"
	"                      default. Without it, whoever can send to this host can send to\n"
	"                      the VIPs in any client's name (so can, with it, whoever can\n"
	"                      forge such a source: filter that at the border)\n"
	"  --mss-clamp N       lower the MSS in SYN-ACKs of the VIPs to N, so that what clients\n"
	"                      send fits with the headers of the tunnel\n"
	"  --egress IFACE      where these SYN-ACKs leave, if not by the same interface\n"
	"\n"
	"other options:\n"
	"  --json              print the result as JSON\n"
	"  --state DIR         where it is kept what to put back (default /run/ringlb-backend)\n"
	"  --verbose           show what libbpf and libxdp say\n"
	"  --version, --help\n"
	"\n"
	"What attach does is gone after a boot; attach again then.\n"
	"\n"
	"Exit status: 0 done, nothing is wrong; 1 failed, or check found something; 2 wrong "
	"usage.\n"
	"\n"
	"examples:\n"
	"  ringlb-backend attach eth0 --vip 192.0.2.10 2001:db8::10 --from 198.18.0.0/16 100::/64\n"
	"  ringlb-backend attach eth0 --vip 192.0.2.10 --mode gue --gue-port 6081 --mss-clamp "
	"1412\n"
	"  ringlb-backend attach eth0 --vip 192.0.2.10 198.51.100.0/24 --mode dr\n"
	"  ringlb-backend check && echo all is well\n"
	"  ringlb-backend status --json | jq '.[].counts'\n"
	"  ringlb-backend detach eth0";

void print_help(void)
{
	puts(help);
}
