/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Make a host a backend, and undo it. What has to be, all or nothing: if a step fails, what
 * was done before it is undone.
 */
#ifndef RINGLB_BACKEND_SETUP_H
#define RINGLB_BACKEND_SETUP_H

#include "backend/backend.h"
#include "backend/program.h"

#define SETUP_NOTES_MAX 8
#define SETUP_NOTE_LEN	256

/* What an operator should know although all went well. */
struct setup_notes {
	uint32_t len;
	char lines[SETUP_NOTES_MAX][SETUP_NOTE_LEN];
};

/**
 * setup_attach() - have @ifname set up for @options
 * @state_dir: where changes are recorded, see record.h
 *
 * What is so already stays; what is missing is mended.
 *
 * Return: 0; -EEXIST if it is set up for other options; -errno
 */
int setup_attach(const char *state_dir, const char *ifname, const struct attach_options *options,
		 struct setup_notes *notes, struct failure *failure);

/**
 * setup_detach() - put back what setup_attach() changed
 *
 * What was changed by others since is left, with a note. The interface may be gone.
 *
 * Return: 0; -ENOENT if nothing is recorded of @ifname; -errno, and then the record stays
 * and another call goes on.
 */
int setup_detach(const char *state_dir, const char *ifname, struct setup_notes *notes,
		 struct failure *failure);

#endif
