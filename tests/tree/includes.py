#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""includes.py SOURCE_DIR | --self-test: walks the include graph and compares it with the tables of
docs/architecture.md, which say what each room may include and which system headers never enter it."""
import fnmatch
import os
import sys

sys.dont_write_bytecode = True
from source_tree import includes, resolve, source_files  # noqa: E402

PAGE = 'docs/architecture.md'
# The first cells of the heads of the two tables.
ARROWS = ['room', 'may include']
SYSTEM = ['rooms', 'system headers that never enter', 'but']


class Rules:
    def __init__(self):
        self.arrows = {}  # room -> rooms it may include
        self.system = []  # (patterns of rooms, patterns of headers, patterns of exceptions)
        self.mistakes = []


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip('|').split('|')]


def words_of(cell):
    return [word.strip().strip('`') for word in cell.split(',') if word.strip() not in ('', '-')]


def rows_of_tables(text):
    """(head, row) of every row of every table."""
    head = None
    for line in text.splitlines():
        if not line.lstrip().startswith('|'):
            head = None
        elif head is None:
            head = cells_of(line)
        elif not set(line) <= set('|-: '):
            yield head, cells_of(line)


def read_rules(text):
    rules = Rules()
    for head, row in rows_of_tables(text):
        if head == ARROWS:
            room = row[0].strip('`')
            if room in rules.arrows:
                rules.mistakes.append(f'{PAGE}: {room} has two rows')
            rules.arrows[room] = words_of(row[1])
        elif head == SYSTEM:
            rules.system.append(tuple(words_of(cell) for cell in row[:3]))
    if not rules.arrows:
        rules.mistakes.append(f'{PAGE}: there is no table with the columns {" | ".join(ARROWS)}')
    if not rules.system:
        rules.mistakes.append(f'{PAGE}: there is no table with the columns {" | ".join(SYSTEM)}')
    rooms = list(rules.arrows)
    for room, allowed in rules.arrows.items():
        known = []
        for pattern in allowed:
            matching = fnmatch.filter(rooms, pattern)
            if not matching:
                rules.mistakes.append(f'{PAGE}: {room} may include {pattern}, which is no room')
            known += [other for other in matching if other != room]
        rules.arrows[room] = known
    for patterns, _, _ in rules.system:
        rules.mistakes += [f'{PAGE}: the system headers of {pattern}, which is no room' for pattern in patterns
                           if not fnmatch.filter(rooms, pattern)]
    return rules


def room_of(path, rooms):
    """A file that has a row is a room of its own; every other one belongs to its folder."""
    if path in rooms:
        return path
    folder = os.path.dirname(path)
    return folder if folder in rooms else None


def circles(arrows):
    """The sets of rooms that reach each other (Tarjan), each as a path that comes back."""
    index, low, stack, found = {}, {}, [], []

    def visit(room):
        index[room] = low[room] = len(index)
        stack.append(room)
        for other in sorted(arrows.get(room, ())):
            if other not in index:
                visit(other)
                low[room] = min(low[room], low[other])
            elif other in stack:
                low[room] = min(low[room], index[other])
        if low[room] == index[room]:
            members = stack[stack.index(room):]
            del stack[stack.index(room):]
            if len(members) > 1:
                found.append(way_round(members, arrows))

    for room in sorted(arrows):
        if room not in index:
            visit(room)
    return found


def way_round(members, arrows):
    start = members[0]
    ways = [[start]]
    while True:  # breadth first; there is one, for they reach each other
        way = ways.pop(0)
        for other in sorted(arrows.get(way[-1], ())):
            if other == start:
                return ' -> '.join(way + [start])
            if other in members and other not in way:
                ways.append(way + [other])


def forbidden_header(rules, room, name):
    return any(any(fnmatch.fnmatch(room, pattern) for pattern in rooms) and
               any(fnmatch.fnmatch(name, pattern) for pattern in headers) and
               not any(fnmatch.fnmatch(name, pattern) for pattern in exceptions)
               for rooms, headers, exceptions in rules.system)


def check(root):
    """What is wrong, as lines for people, and how many arrows there were."""
    with open(os.path.join(root, PAGE), encoding='utf-8') as file:
        rules = read_rules(file.read())
    wrong = list(rules.mistakes)
    used = {}  # room -> {room}
    inhabited = set()
    for path in source_files(root):
        room = room_of(path, rules.arrows)
        if room is None:
            wrong.append(f'{path}: is in no room: its folder has no row in {PAGE}')
            continue
        inhabited.add(room)
        for line, name, quoted in includes(root, path):
            target = resolve(root, path, name) if quoted or resolve(root, '', name) else None
            if target is None:
                if quoted:
                    wrong.append(f'{path}:{line}: "{name}" is not in the tree')
                elif forbidden_header(rules, room, name):
                    wrong.append(f'{path}:{line}: <{name}> may not enter {room}')
                continue
            other = room_of(target, rules.arrows)
            if other is None:
                wrong.append(f'{path}:{line}: {target} is in no room')
            elif other != room:
                used.setdefault(room, set()).add(other)
                if other not in rules.arrows[room]:
                    wrong.append(f'{path}:{line}: {room} may not include {other} ({target})')
    wrong += [f'{PAGE}: there is no source file in {room}' for room in rules.arrows if room not in inhabited]
    wrong += [f'a circle of includes: {way}' for way in circles(used)]
    wrong += [f'{PAGE}: a circle in the table: {way}' for way in circles(rules.arrows)]
    return wrong, sum(len(rooms) for rooms in used.values())


def main(words):
    if words == ['--self-test']:
        from includes_self_test import run
        return run(check)
    if len(words) != 1 or words[0].startswith('-'):
        print(f'usage: {__doc__}', file=sys.stderr)
        return 2
    wrong, arrows = check(words[0])
    for line in wrong:
        print(line)
    print(f'{arrows} arrows between rooms, {len(wrong)} wrong')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
