#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""progress_test.py MRC_SIM: on a terminal long commands show how far they are, in one line that fits; in a pipe nothing
of it appears."""
import fcntl
import os
import re
import struct
import subprocess
import sys
import tempfile
import termios

PATIENCE_S = 500


def on_terminal(words, columns):
    """(status, what went to stdout, what was written to the terminal that stderr is)"""
    ours, theirs = os.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = b''
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the last writer has gone
                break
            if not part:
                break
            shown += part
        said = process.stdout.read()
        status = process.wait(PATIENCE_S)
    os.close(ours)
    return status, said.decode(), shown.decode()


def check(condition, what):
    if not condition:
        print(f'FAILED: {what}')
        sys.exit(1)


def lines_of(shown, columns):
    """The line as it was, one time after the other; the last is empty."""
    check('\n' not in shown, f'it stays in its line: {shown!r}')
    check(re.fullmatch(r'(\r[^\r\033]*\033\[K)*', shown), f'nothing but the line is written: {shown!r}')
    lines = [line.removesuffix('\033[K') for line in shown.split('\r')[1:]]
    check(len(lines) >= 2, f'the line appears: {shown!r}')
    check(all(len(line) < columns for line in lines), f'it fits into {columns} columns: {lines}')
    check(lines[-1] == '', f'it does not stay: {lines}')
    return [line for line in lines if line]


def grown(sizes, words_of, columns):
    """As on_terminal(), and the size: with the first that takes long enough for a line, on whatever machine this is."""
    for size in sizes:
        status, said, shown = on_terminal(words_of(size), columns)
        if len(shown.split('\r')) > 2:
            break
    return status, said, shown, size


def soak(program, jobs):
    status, said, shown, count = grown(
        [20, 80, 320, 1280], lambda count: [program, 'soak', '--seeds', f'101..{100 + count}', '--jobs', str(jobs)], 80)
    lines = lines_of(shown, 80)
    check(status == 0 and said.startswith(f'soak: {count} seeds, 0 failed'), f'all seeds pass: {status} {said}')
    parts = [re.fullmatch(rf'seed (\d+) of {count}, \d+:\d\d', line) for line in lines]
    check(all(parts), f'part and time: {lines}')
    numbers = [int(part.group(1)) for part in parts]
    check(numbers == sorted(numbers) and 1 <= numbers[0] <= numbers[-1] <= count, f'it counts up: {numbers}')


def narrow(program):
    _, _, shown, count = grown([40, 160, 640, 2560], lambda count: [program, 'soak', '--seeds', f'1..{count}', '--once'], 12)
    lines = lines_of(shown, 12)
    whole = [f'seed {part} of {count}'[:11] for part in range(1, count + 1)]
    check(set(lines) <= set(whole), f'it is cut: {lines}')


def report(program, scenarios, folder):
    status, said, shown, count = grown(
        range(2, len(scenarios) + 1), lambda count: [program, 'report', '--quick', '--out', folder] + scenarios[:count], 80)
    check(status == 0 and len(said.splitlines()) == count + 1, f'the report is made: {said}')
    expected = {f'scenario {i + 1} of {count}: {name}' for i, name in enumerate(scenarios[:count])}
    seen = {line.rpartition(',')[0] for line in lines_of(shown, 80)}
    check(seen and seen <= expected, f'part and name: {seen}')


def run(program):
    _, _, shown, _ = grown([['--quick'], [], ['--seed', '2']], lambda how: [program, 'run', 'two_flows'] + how, 80)
    lines = lines_of(shown, 80)
    check(all(re.fullmatch(r'scenario two_flows, \d+:\d\d', line) for line in lines), f'name and time: {lines}')


def run_seeds(program):
    _, said, shown, count = grown(
        [3, 12, 48, 192],
        lambda count: [program, 'run', 'two_flows', '--quick', '--rc', 'off', '--seeds', f'1..{count}'], 80)
    lines = lines_of(shown, 80)
    check(said.startswith(f'two_flows ({count} seeds, 1 to {count})'), f'all seeds are in it: {said}')
    form = re.compile(rf'seed [1-9]\d* of {count}: two_flows, \d+:\d\d')
    check(all(form.fullmatch(line) for line in lines), f'part and name: {lines}')


def pipe(words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
    check(done.returncode == 0, f'{words}: status {done.returncode}')
    check(done.stderr == '', f'nothing in a pipe: {done.stderr!r}')
    check('\r' not in done.stdout and '\033' not in done.stdout, f'nor in the output: {done.stdout!r}')


def main(program):
    soak(program, 1)
    soak(program, 2)
    narrow(program)
    run(program)
    run_seeds(program)
    with tempfile.TemporaryDirectory(prefix='progress.', dir=os.path.dirname(program)) as folder:
        report(program, ['bad_ev', 'black_hole', 'plane_cut', 'link_cuts', 'spine_reboot', 'two_flows'], folder)
        pipe([program, 'report', '--quick', '--out', folder, 'bad_ev'])
    pipe([program, 'soak', '--seeds', '101..105', '--jobs', '2'])
    pipe([program, 'run', 'incast', '--quick'])
    pipe([program, 'run', 'two_flows', '--quick', '--rc', 'off', '--seeds', '1..2'])
    print('passed')


if __name__ == '__main__':
    main(sys.argv[1])
