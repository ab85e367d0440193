#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Two interfaces: errors are redirected from one to the other.
# shellcheck source=tests/netns/icmp.sh
. "$(dirname "$0")/icmp.sh"
icmp two
