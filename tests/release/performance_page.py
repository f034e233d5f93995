#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""performance_page.py BUILD [bench|profile]... [-- OPTION...]: writes into docs/performance.md what it has of mrc_bench (with
these options of it) and of callgrind, or just one of them. On a quiet machine; the words around the tables are for people to write.
"""
import os
import platform
import re
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
PAGE = os.path.join(SOURCE, "docs", "performance.md")


def output_of(words, may_fail=False):
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, cwd=SOURCE)
    if done.returncode != 0 and not (may_fail and done.stdout):
        sys.exit(f"performance_page: {words[0]} ended with {done.returncode}\n{done.stdout}")
    return done.stdout.strip()


# The last one that changed what is measured.
def commit():
    return output_of(["git", "log", "-1", "--format=%h", "--", "libmrc", "dpdk_io", "providers"])


# A row that could not be measured is shown as such.
def bench(build, options):
    said = output_of([os.path.join(build, "bin", "mrc_bench"), "--markdown"] + options, may_fail=True)
    return f"`build/bin/mrc_bench --markdown {' '.join(options)}`".replace(" `", "`") + f", {commit()}: {said}"


def profile(build, _options):
    table = output_of([sys.executable, os.path.join(SOURCE, "tests", "unit", "instruction_profile.py"),
                       os.path.join(build, "bin", "engine_profile")])
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
        compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", file.read(), re.MULTILINE).group(1)
    version = output_of([compiler, "--version"]).splitlines()[0]
    return f"{platform.machine()}, {version}, {commit()}:\n\n{table}"


PARTS = {"bench": bench, "profile": profile}


def main():
    words = sys.argv[1:]
    options = []
    if "--" in words:
        options = words[words.index("--") + 1:]
        words = words[:words.index("--")]
    parts = words[1:] or list(PARTS)
    if not words or not set(parts) <= set(PARTS):
        sys.exit(__doc__)
    build = os.path.realpath(words[0])
    for part in parts:
        said = PARTS[part](build, options)
        with open(PAGE, encoding="utf-8") as file:
            text = file.read()
        written, count = re.subn(rf"(?<=<!-- begin {part} -->\n).*?(?=<!-- end {part} -->)", lambda _: said + "\n", text,
                                 flags=re.DOTALL)
        if count != 1:
            sys.exit(f"performance_page: {PAGE} has no place for {part}, or {count}")
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(written)


if __name__ == "__main__":
    main()
