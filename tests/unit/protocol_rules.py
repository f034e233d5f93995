#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Checks docs/protocol.md against code and tests: every rule of its table is cited in the files it names, has
# functions that the shipped library can reach and tests that exist; every rule that the code cites has a row; and no
# knob of the transport, of what it speaks, of its congestion control and of its paths is one that only tests can turn.
#   protocol_rules.py [--document FILE] SOURCE_DIR LIBRARY NM TEST_PROGRAM...
# LIBRARY is libmrc.so.1 with an engine that was not optimized, from which the linker has taken what nothing leads to.
import argparse
import pathlib
import re
import subprocess
import sys

RULES = [f"R{i}" for i in range(1, 14)] + [f"S{i}" for i in range(1, 13)] + [f"C{i}" for i in range(1, 6)]
CITATION = re.compile(r"\b12\.([RSC]\d+)\b")
# What ships and hands the engine its settings.
SHIPPED = ["dpdk_io", "providers", "libmrc/api"]
# What makes settings of settings: each of these functions counts if what ships calls it.
MAKERS = ["libmrc/congestion/nscc.cc"]
# Structures of knobs: where they are, and the names of types and objects by which shipped code sets them.
KNOBS = {
    "TransportConfig": ("libmrc/config/transport_config.h", "Transport(?:Config)?", "transport"),
    "InteropConfig": ("libmrc/config/interop_config.h", "InteropConfig", "interop"),
    "NsccConfig": ("libmrc/congestion/nscc.h", "NsccConfig", "nscc"),
}
# These knobs the engine sets itself, in one place, from what the settings, the program and a controller say.
PATH_KNOBS = ("PathSetConfig", "libmrc/path/path_set.h", "libmrc/mrc/mrc_connection.cc")
GIVEN = re.compile(r"\b(transport|terms_|services|profile)\b")


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


def functions(library, nm):
    """The functions of a library as Class::name, without namespaces and arguments."""
    out = subprocess.run([nm, "-C", "--defined-only", library], capture_output=True, text=True, timeout=60, check=True)
    names = set()
    for line in out.stdout.splitlines():
        kind, _, name = line[17:].partition(" ")
        if kind in "tTwW":
            name = name.replace("(anonymous namespace)::", "").split("(")[0].split(" ")[-1]
            names.add(name.removeprefix("mrc::"))
    return names


def quoted(cell):
    return re.findall(r"`([^`]+)`", cell)


def rows(document):
    """Rule -> (files, functions, tests)."""
    table = {}
    for line in document.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 5 and re.fullmatch(r"[RSC]\d+", cells[0]):
            table[cells[0]] = tuple(quoted(cell) for cell in cells[2:])
    return table


def faults_of_rows(source, table, tests, reached):
    faults = [f"{rule}: no row" for rule in RULES if rule not in table]
    faults += [f"{rule}: a row, but no such rule" for rule in table if rule not in RULES]
    for rule, (files, code, names) in table.items():
        if not files or not code or not names:
            faults.append(f"{rule}: no file, no function or no test")
        for name in files:
            path = source / name
            if not path.is_file():
                faults.append(f"{rule}: there is no file {name}")
            elif rule not in CITATION.findall(path.read_text()):
                faults.append(f"{rule}: {name} does not cite it")
        faults += [f"{rule}: no shipped program can reach {name}" for name in code if name not in reached]
        faults += [f"{rule}: there is no test {name}" for name in names if name not in tests]
    return faults


def faults_of_citations(source, table):
    faults = []
    for path in sorted((source / "libmrc").rglob("*.[hc]*")):
        for rule in CITATION.findall(path.read_text()):
            name = str(path.relative_to(source))
            if rule not in table or name not in table[rule][0]:
                faults.append(f"{rule}: cited in {name}, but its row does not say so")
    return faults


def knobs(header, struct="TransportConfig"):
    """The members of a structure."""
    body = re.search(rf"struct {struct} \{{\n(.*?)\n\}};", header, re.S).group(1)
    body = re.sub(r"//[^\n]*", "", body)
    return re.findall(r"^  [\w:]+\*? (\w+)(?: = [^;]*)?;", body, re.M)


def made(struct, shipped, makers):
    """The bodies of functions that return such a structure and that shipped code calls."""
    functions = re.findall(rf"^{struct} (\w+)\([^;{{]*\) \{{\n(.*?)^\}}", shipped + "\n" + makers, re.S | re.M)
    return "\n".join(body for name, body in functions if re.search(rf"(?<!^{struct} )\b{name}\(", shipped, re.M))


def faults_of_knobs(header, shipped, struct="TransportConfig", makers=""):
    """Knobs that shipped code neither binds to a setting nor sets."""
    _, kind, name_of_one = KNOBS[struct]
    bodies = made(struct, shipped, makers)
    faults = []
    for name in knobs(header, struct):
        sets = rf"(\.|->){name}\b[^=;]*[^=!<>]=[^=]"
        bound = rf"&{kind}::{name}\b|\b{name_of_one}{sets}|&{name_of_one}\.{name}\b"
        if not re.search(bound, shipped) and not re.search(rf"\b\w+{sets}", bodies):
            faults.append(f"{name}: a knob of {struct} that no shipped program can turn")
    return faults


def faults_of_path_knobs(header, setter):
    """Knobs that are not set from something that is given."""
    struct = PATH_KNOBS[0]
    body = re.search(rf"^  {struct} config;\n(.*?)^\}}", setter, re.S | re.M).group(1)
    return [
        f"{name}: a knob of {struct} that no shipped program can turn"
        for name in knobs(header, struct)
        if not any(GIVEN.search(value) for value in re.findall(rf"\bconfig\.{name} = ([^;]*);", body))
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--document", type=pathlib.Path)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("library")
    parser.add_argument("nm")
    parser.add_argument("programs", nargs="+")
    given = parser.parse_args()
    source = given.source
    tests = set().union(*(listed_tests(program) for program in given.programs))
    table = rows(given.document or source / "docs" / "protocol.md")
    shipped = "\n".join(path.read_text() for room in SHIPPED for path in sorted((source / room).rglob("*.[hc]*")))
    faults = faults_of_rows(source, table, tests, functions(given.library, given.nm))
    faults += faults_of_citations(source, table)
    makers = "\n".join((source / name).read_text() for name in MAKERS)
    for struct, (header, _, _) in KNOBS.items():
        faults += faults_of_knobs((source / header).read_text(), shipped, struct, makers)
    faults += faults_of_path_knobs(*((source / name).read_text() for name in PATH_KNOBS[1:]))
    for fault in faults:
        print(fault)
    print(f"{len(table)} rules, {sum(len(names) for _, _, names in table.values())} tests named, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
