#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# ipip and gue with real traffic through one interface.
# shellcheck source=tests/netns/tunnels_traffic.sh
. "$(dirname "$0")/tunnels_traffic.sh"
tunnels_traffic one
