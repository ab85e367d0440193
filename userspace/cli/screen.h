/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The whole of a terminal, for a while: its other screen, keys one by one, and all as it was
 * in the end. Sequences are those of ECMA-48 and xterm, which every terminal in use has.
 */
#ifndef RINGLB_CLI_SCREEN_H
#define RINGLB_CLI_SCREEN_H

enum screen_event { SCREEN_TIME, SCREEN_KEY, SCREEN_RESIZED, SCREEN_END };

/** screen_open() - take standard input and output. Return: 0; -ENOTTY if one is no terminal. */
int screen_open(void);

/** screen_close() - put it back; may be called twice */
void screen_close(void);

/** screen_size() - columns and lines, 80 by 24 if the terminal does not say */
void screen_size(unsigned int *width, unsigned int *height);

/** screen_wait() - for a key (*@key), another size, the end by a signal, or @ms to pass */
enum screen_event screen_wait(int ms, char *key);

#endif
