#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# One interface: answers and errors leave where they came in (XDP_TX).
# shellcheck source=tests/netns/icmp.sh
. "$(dirname "$0")/icmp.sh"
icmp one
