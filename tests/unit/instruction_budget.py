#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""instruction_budget.py PROGRAM BUDGETS COMPILER: what a WRITE costs the engine, both sides together, in instructions.

Callgrind counts PROGRAM with two numbers of messages; the difference is what messages cost, without set-up. Fails if that is
more than 5 % above what BUDGETS has for this machine's architecture and COMPILER (such as GNU-12). Who makes it less enters
the lower number. Ends with 77 (skipped) where BUDGETS has no number: it is printed, to be entered.
"""
import json
import platform
import re
import shutil
import subprocess
import sys

# What is counted, bytes of a message, messages, things counted in one: packets have up to 256 bytes.
ROWS = {"message": (64, 6400, 1), "packet": (16384, 640, 64)}
TOLERANCE = 0.05


def instructions(program, size, count):
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, str(size), str(count)],
                          capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or found is None:
        sys.exit("instruction_budget: valgrind failed:\n" + done.stderr)
    return int(found.group(1))


def main():
    program, budgets, compiler = sys.argv[1:]
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed")
        sys.exit(77)
    key = platform.machine() + "-" + compiler
    with open(budgets, encoding="utf-8") as file:
        budget = json.load(file).get(key, {})
    bad = skipped = False
    for row, (size, count, parts) in ROWS.items():
        more = instructions(program, size, 3 * count) - instructions(program, size, count)
        each = more / (2 * count * parts)
        wanted = budget.get(row)
        if wanted is None:
            skipped = True
            print(f"skipped: no number is committed for {key}; {row}: {each:.0f} instructions")
            continue
        ratio = each / wanted
        bad = bad or ratio > 1 + TOLERANCE
        print(f"{row}: {each:.0f} instructions, committed {wanted} ({ratio:.3f})")
    if bad:
        sys.exit(f"instruction_budget: more than {TOLERANCE:.0%} above; if that is meant, change {budgets}")
    sys.exit(77 if skipped else 0)


if __name__ == "__main__":
    main()
