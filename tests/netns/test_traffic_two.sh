#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Real traffic through two interfaces: each packet is redirected from one to the other.
# shellcheck source=tests/netns/traffic.sh
. "$(dirname "$0")/traffic.sh"
traffic two REDIRECT
