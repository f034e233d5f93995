#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""headers.py SOURCE_DIR BUILD_DIR [--all]: every header compiles by itself, twice in a row, with the flags of a source
file that uses it. What the build has shown already is not done again (--all: it is): a header that is the first thing
in a source file, once that file is compiled. Headers of which each includes the one before are tried in one go."""
import collections
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from source_tree import includes, resolve, source_files  # noqa: E402

LAUNCHERS = ('ccache', 'sccache', 'distcc')
PRECOMPILED = re.compile(r'cmake_pch\.h')  # it would bring what a header forgets to include
_DROPPED = re.compile(r'-(O|W|g|c$|flto|ffat-lto|fsanitize|M)')

Unit = collections.namedtuple('Unit', 'path words output precompiled')


def units_of(graph, build):
    """The source files of the tree that the build compiles."""
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as file:
        commands = json.load(file)
    units = []
    for entry in commands:
        path = os.path.relpath(os.path.realpath(entry['file']), graph.root)
        words = entry.get('arguments') or shlex.split(entry['command'])
        output = words[words.index('-o') + 1] if '-o' in words else ''
        units.append(Unit(path, words, os.path.join(entry['directory'], output),
                          bool(PRECOMPILED.search(' '.join(words)))))
    return [unit for unit in units if unit.path in graph.files]


def flags_of(words):
    """The compiler and what changes the meaning of the text."""
    while os.path.basename(words[0]) in LAUNCHERS:
        words = words[1:]
    kept, at = [words[0]], 1
    while at < len(words):
        word, value = words[at], words[at + 1] if at + 1 < len(words) else ''
        if word == '-o':
            at += 2
        elif word in ('-include', '-isystem', '-I', '-D', '-U', '-Xclang', '-idirafter', '-target'):
            if not PRECOMPILED.search(value):
                kept += [word, value]
            at += 2
        else:
            if word.startswith('-') and not _DROPPED.match(word):
                kept.append(word)
            at += 1
    return kept


class Graph:
    def __init__(self, root):
        self.root = root
        self.files = source_files(root)
        self.headers = [path for path in self.files if path.endswith(('.h', '.hpp'))]
        self._direct = {}
        self._reached = {}

    def direct(self, path):
        if path not in self._direct:
            resolved = [resolve(self.root, path, name) if quoted else None
                        for _, name, quoted in includes(self.root, path)]
            self._direct[path] = [None if target is None or not os.path.isfile(os.path.join(self.root, target))
                                  else target for target in resolved]
        return self._direct[path]

    def reached(self, path):
        """The files of the tree that come with it, itself among them."""
        if path not in self._reached:
            found, waiting = {path}, [path]
            while waiting:
                for target in self.direct(waiting.pop()):
                    if target is not None and target not in found:
                        found.add(target)
                        waiting.append(target)
            self._reached[path] = found
        return self._reached[path]


def shown_by(graph, unit):
    """The header that the compilation of this unit has shown to stand by itself, or None."""
    first = (graph.direct(unit.path) or [None])[0]
    if unit.precompiled or first is None or not first.endswith('.h') or not os.path.isfile(unit.output):
        return None
    made = os.stat(unit.output).st_mtime
    sources = graph.reached(unit.path)
    return first if all(os.stat(os.path.join(graph.root, path)).st_mtime < made for path in sources) else None


def first_error(text):
    lines = text.splitlines()
    errors = [line for line in lines if 'error' in line]
    return (errors or lines or ['the compiler says nothing'])[0]


def chains(graph, headers):
    """The headers in as few lists as can be, in each of which every header includes the one before, if only by way of
    others. What stands before a header there comes with it anyway, so it gets no help by it."""
    above = {header: [other for other in headers if other != header and header in graph.reached(other)
                      and other not in graph.reached(header)] for header in headers}
    follower, before = {}, {}

    def place(header, tried):
        """Finds it a follower, if need be by giving another one to the header that has it (Kuhn)."""
        for other in above[header]:
            if other in tried:
                continue
            tried.add(other)
            if other not in before or place(before[other], tried):
                follower[header], before[other] = other, header
                return True
        return False

    for header in headers:
        place(header, set())
    found = []
    for first in headers:
        if first in before:
            continue
        found.append([first])
        while found[-1][-1] in follower:
            found[-1].append(follower[found[-1][-1]])
    return found


def try_headers(root, headers, flags):
    """[(header, its first error)]."""
    if not compile_error(root, headers, flags[headers[-1]]):
        return []
    return [(header, error) for header in headers if (error := compile_error(root, [header], flags[header]))]


def compile_error(root, headers, flags):
    """None, or the first error."""
    text = ''.join(f'#include "{header}"\n' for header in headers) * 2
    # Those of the public headers are found as programs find them.
    language = 'c' if flags[0] == 'cc' else 'c++'
    done = subprocess.run(flags + ['-Iinclude', '-w', '-fsyntax-only', '-x', language, '-'], input=text, text=True, cwd=root,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return None if done.returncode == 0 else first_error(done.stdout)


class Progress:
    """How far it is: a line that is rewritten on a terminal, else one every ten seconds."""

    def __init__(self, total):
        self.total, self.done, self.started = total, 0, time.monotonic()
        self.said = self.started
        self.terminal = sys.stderr.isatty()

    def step(self, count, what):
        self.done += count
        now = time.monotonic()
        text = f'header {self.done} of {self.total}, {now - self.started:.0f} s'
        if self.terminal:
            width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
            print('\r' + f'{text}: {what}'[:width - 1] + '\033[K', end='', file=sys.stderr, flush=True)
        elif now - self.said >= 10:
            self.said = now
            print(text, flush=True)

    def end(self):
        if self.terminal:
            print('\r\033[K', end='', file=sys.stderr, flush=True)


def work_of(graph, units, everything):
    """{header: flags} that are left to try, and how many the build has shown."""
    shown = set() if everything else {shown_by(graph, unit) for unit in units}
    flags, nearby = {}, {}
    for unit in units:
        if not unit.path.endswith(('.cc', '.cpp')):
            continue
        kept = flags_of(unit.words)
        nearby.setdefault(os.path.dirname(unit.path), kept)
        for path in graph.reached(unit.path):
            flags.setdefault(path, kept)
    in_c = {path for file in graph.files if file.endswith('.c') for path in graph.reached(file)}
    work = {}
    for header in graph.headers:
        if header in shown:
            continue
        chosen = flags.get(header) or nearby.get(os.path.dirname(header))
        if chosen is None and header in in_c:  # of programs in C
            chosen = ['cc', '-std=c11', f'-I{graph.root}']
        if chosen is None:  # of a part that is not built here
            chosen = ['c++', '-std=c++20', f'-I{graph.root}']
        work[header] = chosen
    return work, len(graph.headers) - len(work)


def main(words):
    everything = '--all' in words
    places = [word for word in words if not word.startswith('-')]
    if len(places) != 2 or len(words) != 2 + everything:
        print(f'usage: {__doc__}', file=sys.stderr)
        return 2
    started = time.monotonic()
    root, build = (os.path.realpath(place) for place in places)
    if not os.path.isfile(os.path.join(build, 'compile_commands.json')):
        print(f'{build} has no compile_commands.json: is it a build folder?', file=sys.stderr)
        return 2
    graph = Graph(root)
    work, shown = work_of(graph, units_of(graph, build), everything)
    progress, failed = Progress(len(work)), []
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        running = {pool.submit(try_headers, root, chain, work): chain for chain in chains(graph, list(work))}
        for future in concurrent.futures.as_completed(running):
            progress.step(len(running[future]), running[future][-1])
            failed += future.result()
    progress.end()
    for header, error in sorted(failed):
        print(f'{header}: does not compile by itself\n  {error}')
    print(f'{len(graph.headers)} headers, {len(failed)} failed ({shown} shown by the build, {len(work)} tried '
          f'in {len(running)} goes), {time.monotonic() - started:.0f} s')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
