#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `ringlb top`, on terminals of several sizes and without one, over a stand-in for the daemon.
exec /usr/bin/python3 "$(dirname "$0")/top.py"
