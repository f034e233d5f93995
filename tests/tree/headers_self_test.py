#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""headers_self_test.py COMPILER: shows that headers.py finds a header that leans on others, also one that hides behind
a precompiled header, and that it tries again what has changed since the build."""
import contextlib
import io
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
import headers  # noqa: E402

FILES = {
    'good.h': '#pragma once\n#include <cstdint>\ninline uint16_t good() { return MRC_ONE; }\n',
    'good.cc': '#include "good.h"\n',
    'leans.h': '#pragma once\ninline uint16_t leans() { return good(); }\n',
    'leans.cc': '#include "good.h"\n#include "leans.h"\n',
    'hides.h': '#pragma once\ninline uint16_t hides() { return good(); }\n',
    'hides.cc': '#include "hides.h"\n',
    'twice.h': 'struct Twice {};\n',
    'twice.cc': '#include "twice.h"\n',
    'build/cmake_pch.hxx': '#include "good.h"\n',
}


def write(root, path, text):
    os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
    with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
        file.write(text)


def commands(root, compiler):
    """As CMake writes them. What is built is only pretended to be."""
    for name in ('good', 'leans', 'hides', 'twice'):
        forced = f'-Winvalid-pch -include {root}/build/cmake_pch.hxx ' if name == 'hides' else ''
        yield {'directory': f'{root}/build', 'file': f'{root}/{name}.cc',
               'command': f'ccache {compiler} -DMRC_ONE=1 -I{root} -O2 -Wall {forced}-o {name}.o -c {root}/{name}.cc'}


def run(*words):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = headers.main(list(words))
    return status, said.getvalue()


def main(compiler):
    wrong = []

    def expect(what, condition):
        if not condition:
            wrong.append(what)

    with tempfile.TemporaryDirectory(prefix='mrc.') as made:
        root = os.path.realpath(made)
        for path, text in FILES.items():
            write(root, path, text)
        write(root, 'build/compile_commands.json', json.dumps(list(commands(root, compiler))))
        status, said = run(root, f'{root}/build')
        expect('the leaning headers fail', status == 1 and '4 headers, 3 failed (0 shown' in said)
        for name in ('leans.h', 'hides.h', 'twice.h'):
            expect(f'{name} is named', f'{name}: does not compile by itself' in said)
        expect('the first error is shown', 'leans.h:2:' in said and 'uint16_t' in said)

        write(root, 'leans.h', '#pragma once\n#include "good.h"\n' + FILES['leans.h'])
        write(root, 'hides.h', '#pragma once\n#include "good.h"\n' + FILES['hides.h'])
        write(root, 'twice.h', '#pragma once\n' + FILES['twice.h'])
        for name in ('good', 'leans', 'hides', 'twice'):
            write(root, f'build/{name}.o', '')
            os.utime(f'{root}/build/{name}.o', (2e9, 2e9))
        # good.h and twice.h come first in what was compiled; leans.h does not, hides.h had help.
        status, said = run(root, f'{root}/build')
        expect('what the build has shown is left out', status == 0 and '(2 shown by the build, 2 tried ' in said)
        status, said = run(root, f'{root}/build', '--all')
        expect('--all tries everything', status == 0 and '(0 shown by the build, 4 tried ' in said)
        write(root, 'good.h', 'uint16_t broken();\n')
        os.utime(f'{root}/good.h', (2.1e9, 2.1e9))
        status, said = run(root, f'{root}/build')
        expect('what has changed since the build is tried', status == 1 and 'good.h: does not compile' in said)
    for what in wrong:
        print(f'FAILED: {what}')
    print(f'{len(wrong)} failed')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
