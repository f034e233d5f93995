#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Checks the control-plane tables of docs/threat-model.md: every message has a test, and all tests it names exist.
#   threat_model_rows.py SOURCE_DIR TEST_PROGRAM...
import pathlib
import re
import sys

from protocol_rules import listed_tests

HEADER = ["message", "must match", "if not", "test"]


def rows(document):
    """The rows of the tables of messages."""
    inside = False
    for line in document.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif cells == HEADER:
            inside = True
        elif inside and not set(cells[0]) <= {"-"}:
            yield cells


def main():
    source = pathlib.Path(sys.argv[1])
    tests = set().union(*(listed_tests(program) for program in sys.argv[2:]))
    faults, messages, named = [], 0, 0
    for cells in rows(source / "docs" / "threat-model.md"):
        messages += 1
        names = re.findall(r"`(\w+\.\w+)`", cells[-1])
        named += len(names)
        if len(cells) != len(HEADER):
            faults.append(f"{cells[0]}: {len(cells)} cells")
        if not names:
            faults.append(f"{cells[0]}: no test")
        faults += [f"{cells[0]}: there is no test {name}" for name in names if name not in tests]
    for fault in faults:
        print(fault)
    print(f"{messages} messages, {named} tests named, {len(faults)} faults")
    return 1 if faults or messages == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
