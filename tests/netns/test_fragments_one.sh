#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Fragments through one interface: packets leave where they came in (XDP_TX).
# shellcheck source=tests/netns/fragments.sh
. "$(dirname "$0")/fragments.sh"
fragments one
