#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Jumbo frames through one interface: they leave where they came in (XDP_TX).
# shellcheck source=tests/netns/jumbo.sh
. "$(dirname "$0")/jumbo.sh"
jumbo one
