/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames in a file that Wireshark and tshark open: pcapng, which unlike pcap has a comment and
 * a direction for each. Source: draft-ietf-opsawg-pcapng, sections 4.1 to 4.3.
 */
#ifndef RINGLB_CLI_PCAPNG_H
#define RINGLB_CLI_PCAPNG_H

#include <stdint.h>
#include <stdio.h>

#include "control/capture.h"

#define PCAPNG_INTERFACES_MAX 64

/**
 * struct pcapng - a file that is being written
 * @interfaces: index of each one that was seen; its place here is its number in the file
 */
struct pcapng {
	FILE *file;
	uint32_t interfaces[PCAPNG_INTERFACES_MAX];
	uint32_t n_interfaces;
};

/** pcapng_begin() - write the head. Return: 0 or -errno, as all here. @file is the caller's */
int pcapng_begin(struct pcapng *out, FILE *file, const char *program);

/**
 * pcapng_packet() - write @packet as it came in and as it left, with its interface before it
 * when that is a new one
 * @comment: of the frame that left
 */
int pcapng_packet(struct pcapng *out, const struct control_packet *packet, const char *comment);

#endif
