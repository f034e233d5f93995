#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""asserts.py SOURCE_DIR | --self-test: no packet may end the process. Every assertion, abort and throw of the code that
packets run through must say why no packet leads to it: a comment right above (or behind it) that begins "Not by a
packet:". Whoever writes the comment has looked; whoever cannot write it counts the packet and drops it instead."""
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
from source_tree import source_files  # noqa: E402

ROOMS = ('libmrc/', 'dpdk_io/', 'providers/')
ENDS_PROCESS = re.compile(
    r'\b(assert|abort|_?exit|_Exit|quick_exit|terminate|unreachable|__builtin_unreachable|__builtin_trap|rte_panic|'
    r'rte_exit|RTE_ASSERT|RTE_VERIFY)\s*\(|\bthrow\b')
REASON = re.compile(r'//\s*Not by a packet: \S')


def code_of(line):
    """The line without comments and strings."""
    return re.sub(r'"(?:[^"\\]|\\.)*"', '""', line).split('//')[0]


def mistakes_in(text):
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        found = ENDS_PROCESS.search(code_of(line))
        if not found or REASON.search(line):
            continue
        above = number - 2
        while above >= 0 and lines[above].lstrip().startswith('//') and not REASON.search(lines[above]):
            above -= 1
        if above < 0 or not lines[above].lstrip().startswith('//'):
            yield number, found.group().rstrip('( ')


def check(root):
    mistakes = []
    for path in source_files(root):
        if not path.startswith(ROOMS):
            continue
        with open(os.path.join(root, path), encoding='utf-8') as file:
            mistakes += [f'{path}:{line}: {what} without "// Not by a packet: why"'
                         for line, what in mistakes_in(file.read())]
    return mistakes


CASES = [
    ('f(); // assert(x)\nstatic_assert(true);\nlog("abort(");\n', []),
    ('assert(x);\n', [(1, 'assert')]),
    ('// Not by a packet: settings.\nassert(x);\nassert(y);\n', [(3, 'assert')]),
    ('// Not by a packet: settings, which\n// are checked.\n  std::abort();\n', []),
    ('abort();  // Not by a packet: settings.\n', []),
    ('// Not by a packet:\nassert(x);\n', [(2, 'assert')]),
    ('// why\nthrow Bad{};\n', [(2, 'throw')]),
    ('// Not by a packet: settings.\n\nrte_panic("x");\n', [(3, 'rte_panic')]),
]


def self_test():
    for text, expected in CASES:
        got = list(mistakes_in(text))
        if got != expected:
            print(f'expected {expected}, got {got} in\n{text}')
            return 1
    with tempfile.TemporaryDirectory() as root:
        for path in ('libmrc/wire/a.cc', 'tests/b.cc'):
            os.makedirs(os.path.dirname(os.path.join(root, path)))
            with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
                file.write('assert(x);\n')
        if check(root) != ['libmrc/wire/a.cc:1: assert without "// Not by a packet: why"']:
            print(check(root))
            return 1
    return 0


def main():
    if sys.argv[1:] == ['--self-test']:
        return self_test()
    mistakes = check(sys.argv[1])
    print('\n'.join(mistakes) or 'no assertion without its reason')
    return 1 if mistakes else 0


if __name__ == '__main__':
    sys.exit(main())
