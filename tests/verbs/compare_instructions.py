#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""compare_instructions.py WRITE_COUNT BUILD...: what a small WRITE costs a program, verbs and links included, on the devices of
several builds, in instructions: both sides together, as one process is both.

Callgrind counts WRITE_COUNT (tests/verbs/write_count.cc) on each build's device with two numbers of messages; the difference
is what messages cost, without set-up. Ends with 77 (skipped) without valgrind.
  tests/verbs/compare_instructions.py build/bin/write_count ../before/build build
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

BYTES = 64
MESSAGES = 12800
LISTS = (1, 4, 32)


def instructions(build, program, length, count):
    with tempfile.TemporaryDirectory() as run:
        environment = dict(os.environ, MRC_RUNDIR=run)
        os.chmod(run, 0o700)
        done = subprocess.run([os.path.join(build, "bin", "mrcrun"), "valgrind", "--tool=callgrind",
                               "--callgrind-out-file=/dev/null", program, str(BYTES), str(length), str(count)],
                              capture_output=True, text=True, env=environment)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or found is None:
        sys.exit("compare_instructions: valgrind failed:\n" + done.stderr)
    return int(found.group(1))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed")
        sys.exit(77)
    program, builds = sys.argv[1], sys.argv[2:]
    print(f"instructions for a WRITE of {BYTES} bytes, and the ratio to the first build")
    print("posted".rjust(8), *(build.rjust(24) for build in builds))
    for length in LISTS:
        costs = [(instructions(build, program, length, 3 * MESSAGES) - instructions(build, program, length, MESSAGES))
                 / (2 * MESSAGES) for build in builds]
        print(str(length).rjust(8), *(f"{cost:.0f} ({cost / costs[0]:.2f})".rjust(24) for cost in costs))


if __name__ == "__main__":
    main()
