#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""instruction_profile.py PROGRAM [MESSAGES]: the table of docs/performance.md that says what a WRITE of 64 bytes and one of
4 KiB cost the engine, by side and function, in instructions.

Callgrind counts PROGRAM (engine_profile) with two numbers of messages; the difference, by function, is what messages cost,
without set-up. Functions that the compiler has put into others are counted there. Ends with 77 (skipped) without valgrind.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SIZES = {"64 B": 64, "4 KiB": 4096}
SIDES = ("sender", "receiver")
SMALL = 0.02  # what is less in every column is put together


def short(name):
    """Without arguments, and without what all have in common."""
    name = re.sub(r"'\d+$", "", name)  # callgrind's mark of recursion
    for anonymous in ("(anonymous namespace)::", "[clone .cold]", "[abi:cxx11]"):
        name = name.replace(anonymous, "")
    name = re.sub(r"\s*(const)?\s*\[clone [^]]*\]", "", name)
    depth = 0
    text = ""
    for character in name:
        depth += character in "(<"
        if depth == 0:
            text += character
        depth -= character in ")>"
    text = re.sub(r"\bconst$", "", text.strip()).strip()
    return text.split(" ")[-1].removeprefix("mrc::")


def count(program, side, size, messages):
    """{function: instructions} of that side."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + out, f"--toggle-collect={side}_turn",
                               program, str(size), str(messages)], capture_output=True, text=True)
        found = re.search(r"Collected : (\d+)", done.stderr)
        if done.returncode != 0 or found is None or int(found.group(1)) == 0:
            sys.exit("instruction_profile: valgrind failed:\n" + done.stderr)
        said = subprocess.run(["callgrind_annotate", "--threshold=100", "--show-percs=no", "--auto=no", out], capture_output=True,
                              text=True, check=True).stdout
    functions = {}
    for line in said.splitlines():
        match = re.match(r"\s*([\d,]+)\s+[^\s:]*:(.+?)(?: \[[^]]*\])?$", line)
        if match:
            name = short(match.group(2))
            functions[name] = functions.get(name, 0) + int(match.group(1).replace(",", ""))
    whole = int(found.group(1))
    if not 0.99 * whole <= sum(functions.values()) <= 1.01 * whole:
        sys.exit(f"instruction_profile: of {whole} instructions {sum(functions.values())} were found in functions")
    return functions


def each(program, side, size, messages):
    """{function: instructions for a message}."""
    few = count(program, side, size, messages)
    many = count(program, side, size, 3 * messages)
    return {name: (value - few.get(name, 0)) / (2 * messages) for name, value in many.items()}


def main():
    program = sys.argv[1]
    messages = int(sys.argv[2]) if len(sys.argv) > 2 else 6400
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed")
        sys.exit(77)
    columns = {(size, side): each(program, side, size_bytes, messages)
               for size, size_bytes in SIZES.items() for side in SIDES}
    totals = {column: sum(functions.values()) for column, functions in columns.items()}
    if min(totals.values()) <= 0:
        sys.exit(f"instruction_profile: messages cost nothing: {totals}")
    names = {name for functions in columns.values() for name in functions}
    large = [name for name in names if any(functions.get(name, 0) >= SMALL * totals[column] for column, functions in columns.items())]
    large.sort(key=lambda name: -sum(functions.get(name, 0) for functions in columns.values()))

    def row(name, values):
        print(f"| {name} | " + " | ".join(f"{value:.0f}" if value >= 0.5 else "" for value in values) + " |")

    print("| function | " + " | ".join(f"{size}, {side}" for size, side in columns) + " |")
    print("|---|" + "---|" * len(columns))
    row("all", totals.values())
    for name in large:
        row(f"`{name}`", [functions.get(name, 0) for functions in columns.values()])
    row("others", [totals[column] - sum(functions.get(name, 0) for name in large) for column, functions in columns.items()])


if __name__ == "__main__":
    main()
