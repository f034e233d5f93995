# SPDX-License-Identifier: BSD-2-Clause
"""Shows that includes.py finds what it is for: small trees, each with one thing wrong."""
import os
import tempfile

ARROWS = {'top': 'middle, bottom/*', 'middle': 'bottom/a', 'bottom/a': '', 'bottom/b': 'bottom/a', 'top/main.cc': 'top'}
FILES = {
    'top/main.cc': '#include "top/top.h"\n',
    'top/top.h': '#include <chrono>\n#include "middle/middle.h"\n#include "bottom/b/b.h"\n',
    'middle/middle.h': '/*\n#include "top/top.h"\n*/\n// #include "top/top.h"\n#include "bottom/a/a.h"\n',
    'bottom/a/a.h': '#include <cstdint>\n#include <sys/auxv.h>\n#include "neighbour.h"\n',
    'bottom/a/neighbour.h': '\n',
    'bottom/b/b.h': '  #  include "bottom/a/a.h"\n',
    'build/made/x.h': '#include "nowhere.h"\n',
}
# (what, files that are other, rows that are other, what must be said; nothing: the tree is good)
CASES = [
    ('a good tree', {}, {}, []),
    ('an arrow that points up', {'bottom/a/a.h': '#if 0\n#include "middle/middle.h"\n#endif\n'}, {},
     ['bottom/a/a.h:2: bottom/a may not include middle (middle/middle.h)',
      'a circle of includes: bottom/a -> middle -> bottom/a']),
    ('an arrow that is not in the table', {'middle/middle.h': '#include "../bottom/b/b.h"\n'}, {},
     ['middle/middle.h:1: middle may not include bottom/b (bottom/b/b.h)']),
    ('an arrow in pointed brackets', {'middle/middle.h': '#include <bottom/b/b.h>\n'}, {},
     ['middle/middle.h:1: middle may not include bottom/b (bottom/b/b.h)']),
    ('the entry is no part of its folder', {'top/top.h': '#include "top/main.cc"\n'}, {},
     ['top/top.h:1: top may not include top/main.cc (top/main.cc)',
      'a circle of includes: top -> top/main.cc -> top']),
    ('a circle that the table allows', {'bottom/a/a.h': '#include "bottom/b/b.h"\n'}, {'bottom/a': 'bottom/*'},
     ['a circle of includes: bottom/a -> bottom/b -> bottom/a',
      'docs/architecture.md: a circle in the table: bottom/a -> bottom/b -> bottom/a']),
    ('a system header that is forbidden', {'bottom/b/b.h': '#include <chrono>\n'}, {},
     ['bottom/b/b.h:1: <chrono> may not enter bottom/b']),
    ('a system header that is forbidden by its kind', {'bottom/a/a.h': '#include <sys/socket.h>\n'}, {},
     ['bottom/a/a.h:1: <sys/socket.h> may not enter bottom/a']),
    ('a folder without a row', {'cellar/c.h': '\n'}, {},
     ['cellar/c.h: is in no room: its folder has no row in docs/architecture.md']),
    ('a row without a folder', {}, {'attic': 'top'}, ['docs/architecture.md: there is no source file in attic']),
    ('an arrow to a room without a row', {}, {'middle': 'bottom/a, cellar'},
     ['docs/architecture.md: middle may include cellar, which is no room']),
    ('a file that is not there', {'middle/middle.h': '#include "middle/gone.h"\n'}, {},
     ['middle/middle.h:1: "middle/gone.h" is not in the tree']),
]


def make(root, files, arrows):
    page = '| room | may include |\n|---|---|\n'
    page += ''.join(f'| {room} | {allowed or "-"} |\n' for room, allowed in arrows.items())
    page += '\n| rooms | system headers that never enter | but |\n|---|---|---|\n'
    page += '| bottom/* | `*.h`, `chrono` | `sys/auxv.h` |\n'
    for path, text in {**files, 'docs/architecture.md': page}.items():
        os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
        with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
            file.write(text)


def run(check):
    failed = 0
    for what, files, arrows, expected in CASES:
        with tempfile.TemporaryDirectory(prefix='mrc.') as root:
            make(root, {**FILES, **files}, {**ARROWS, **arrows})
            said, _ = check(root)
        if said != expected:
            failed += 1
            print(f'{what}: FAILED\n  expected {expected}\n  said     {said}')
    print(f'{len(CASES)} trees, {failed} failed')
    return 1 if failed else 0
