#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Checks docs/protocol.md against code and tests: every rule of its table is cited in the files it names and
# has tests that exist; and every rule that the code cites has a row.
#   protocol_rules.py SOURCE_DIR TEST_PROGRAM...
import pathlib
import re
import subprocess
import sys

RULES = [f"R{i}" for i in range(1, 14)] + [f"S{i}" for i in range(1, 13)] + [f"C{i}" for i in range(1, 6)]
CITATION = re.compile(r"\b12\.([RSC]\d+)\b")


def listed_tests(program):
    """The tests of a GoogleTest program, as Suite.Name."""
    out = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, timeout=60, check=True)
    tests, suite = set(), ""
    for line in out.stdout.splitlines():
        word = line.split("#")[0].strip()
        if not line.startswith(" "):
            suite = word
        elif word:
            tests.add(suite + word)
    return tests


def rows(document):
    """Rule -> (files, tests)."""
    table = {}
    for line in document.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 4 and re.fullmatch(r"[RSC]\d+", cells[0]):
            table[cells[0]] = (re.findall(r"`([^`]+)`", cells[2]), re.findall(r"`([^`]+)`", cells[3]))
    return table


def main():
    source = pathlib.Path(sys.argv[1])
    tests = set().union(*(listed_tests(program) for program in sys.argv[2:]))
    table = rows(source / "docs" / "protocol.md")
    faults = [f"{rule}: no row" for rule in RULES if rule not in table]
    faults += [f"{rule}: a row, but no such rule" for rule in table if rule not in RULES]
    for rule, (files, names) in table.items():
        if not files or not names:
            faults.append(f"{rule}: no file or no test")
        for name in files:
            path = source / name
            if not path.is_file():
                faults.append(f"{rule}: there is no file {name}")
            elif rule not in CITATION.findall(path.read_text()):
                faults.append(f"{rule}: {name} does not cite it")
        faults += [f"{rule}: there is no test {name}" for name in names if name not in tests]
    for path in sorted((source / "libmrc").rglob("*.[hc]*")):
        for rule in CITATION.findall(path.read_text()):
            name = str(path.relative_to(source))
            if rule not in table or name not in table[rule][0]:
                faults.append(f"{rule}: cited in {name}, but its row does not say so")
    for fault in faults:
        print(fault)
    print(f"{len(table)} rules, {sum(len(names) for _, names in table.values())} tests named, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
