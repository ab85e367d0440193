#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Real traffic through one interface: packets leave where they came in (XDP_TX).
# shellcheck source=tests/netns/traffic.sh
. "$(dirname "$0")/traffic.sh"
traffic one TX
