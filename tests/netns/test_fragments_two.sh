#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Fragments through two interfaces: packets are redirected from one to the other.
# shellcheck source=tests/netns/fragments.sh
. "$(dirname "$0")/fragments.sh"
fragments two
