/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What clients and echoes say to each other, over TCP and UDP alike: a request of
 * REQUEST_LEN bytes that is never the same twice, and an answer of the backend's name,
 * filled up with blanks, and the request.
 */
#ifndef RINGLB_TESTS_NETNS_EXCHANGE_H
#define RINGLB_TESTS_NETNS_EXCHANGE_H

#define REQUEST_LEN 16
#define NAME_LEN    16
#define ANSWER_LEN  (NAME_LEN + REQUEST_LEN)

#endif
