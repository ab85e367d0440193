#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A short run of what `make compare-tracking` runs, so that it goes on to work."""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True

from packets import Tap  # noqa: E402

PROGRAM = os.path.join(os.environ.get("B", "build"), "tests/bench/compare_tracking")
SMALL = ("--clients", "2000", "--minutes", "180", "--every", "20", "--table", "4096",
         "--flood", "40000", "--json")

tap = Tap()


def run(*options):
    done = subprocess.run((PROGRAM, *options), capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


status, output, errors = run(*SMALL)
tap.equal((status, errors), (0, ""), "it runs")
got = json.loads(output)
nothing, everything, moving = (got[key] for key in ("nothing", "everything", "moving_arcs"))
tap.ok(nothing["broken"] > 20, f"no tracking: {nothing['broken']} connections break")
tap.equal(nothing["tracked_peak_flood"], 0, "and nothing is tracked")
tap.equal(everything["broken"], 0, "everything tracked: none breaks before the flood")
tap.ok(everything["tracked_mean"] >= got["clients"], "all connections are tracked")
tap.equal(everything["tracked_peak_flood"], got["table"], "the flood fills the table")
tap.ok(everything["broken_flood"] > 0, f"and {everything['broken_flood']} break by it")
tap.equal((moving["broken"], moving["broken_flood"]), (0, 0), "moving arcs: none breaks")
tap.ok(0 < moving["tracked_mean"] < got["clients"] / 4,
       f"{moving['tracked_mean']} are tracked on average, of {got['clients']}")
status, output, errors = run("--clients", "many")
tap.equal((status, output), (2, ""), "what is no number is refused")
tap.equal(errors, "compare_tracking: 'many' is not a number of 20 to 1000000\n", "in one line")
tap.finish()
