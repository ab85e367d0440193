#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Jumbo frames from one interface to another (redirect).
# shellcheck source=tests/netns/jumbo.sh
. "$(dirname "$0")/jumbo.sh"
jumbo two
