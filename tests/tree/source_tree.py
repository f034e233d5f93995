# SPDX-License-Identifier: BSD-2-Clause
"""The source files of a tree and what each of them includes."""
import os
import re

SUFFIXES = ('.h', '.hpp', '.cc', '.cpp', '.c')
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include(?:_next)?[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)
_COMMENT = re.compile(r'/\*.*?\*/', re.DOTALL)


def source_files(root):
    """Paths below root, of C and C++ files; builds and hidden folders are no part of the tree."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(('.', 'build')))
        found += [os.path.relpath(os.path.join(folder, name), root) for name in sorted(names)
                  if name.endswith(SUFFIXES)]
    return found


def includes(root, path):
    """[(line, 'name', quoted)], whatever #if they stand in: every configuration counts."""
    with open(os.path.join(root, path), encoding='utf-8') as file:
        text = _COMMENT.sub(lambda comment: re.sub(r'[^\n]', ' ', comment.group()), file.read())
    return [(text.count('\n', 0, match.start()) + 1, match.group(1) or match.group(2), match.group(1) is not None)
            for match in _INCLUDE.finditer(text)]


def resolve(root, path, name):
    """The path in the tree of a file that `path` includes as "name", or None. A file that the build makes of
    NAME.in counts as that one."""
    for base in (os.path.dirname(path), ''):
        candidate = os.path.normpath(os.path.join(base, name))
        for spelling in (candidate, candidate + '.in'):
            if os.path.isfile(os.path.join(root, spelling)):
                return candidate
    return None
