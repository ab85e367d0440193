/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Taking everything away again without a daemon: for when ringlbd is not running
 * and what it pinned still forwards traffic.
 */
#ifndef RINGLB_CONTROL_DOWN_H
#define RINGLB_CONTROL_DOWN_H

#define DOWN_ERROR_LEN 256

/**
 * control_down_offline() - detach and unpin all that ringlbd put in place
 * @pin_dir: directory of its pins; one that does not exist has nothing to remove
 * @report: called with one line for each thing removed
 * @context: passed to @report
 * @error: filled on error with the whole reason, one line without a final full stop
 *
 * Return: number of things removed; -errno, then what was reported is gone and
 * the rest is still there.
 */
int control_down_offline(const char *pin_dir, void (*report)(void *context, const char *line),
			 void *context, char error[DOWN_ERROR_LEN]);

#endif
