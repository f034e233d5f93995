#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""usage: top_test.py BUILD: the views of mrc_top while ib_write_bw runs and a plane is broken; its keys on a terminal."""
import fcntl
import json
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

BUILD = os.path.abspath(sys.argv[1])
PORT = 36000 + os.getpid() % 6000
PLANES = 4


def check(condition, what):
    if not condition:
        sys.exit(f'FAILED: {what}')


def program(name):
    return os.path.join(BUILD, 'bin', name)


def is_listening():
    text = ''
    for table in ('tcp', 'tcp6'):
        with open('/proc/net/' + table, encoding='ascii') as file:
            text += file.read()
    return re.search(rf':{PORT:04X} \S+ 0A', text) is not None


def top(environment, *words, status=0):
    done = subprocess.run([program('mrc_top'), '--interval', '500', *words], env=environment, text=True, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(done.returncode == status, f'mrc_top {words}: status {done.returncode}, expected {status}: {done.stderr}')
    return done.stdout


def rows(environment, view, *words):
    said = top(environment, '--by', view, '--json', '--seconds', '0.6', *words)
    return json.loads(said.splitlines()[-1])['rows']


CAUSES = {'gap', 'timeout', 'trim', 'nack', 'port_down'}


def check_views(environment):
    processes = rows(environment, 'process', '--filter', 'out_gbps>0')
    check(len(processes) == 1 and processes[0]['command'] == 'ib_write_bw' and processes[0]['qps'] > 0,
          f'processes that send: {processes}')
    device, = rows(environment, 'device')
    check(device['device'] == 'mrc0' and device['processes'] == 2 and device['out_gbps'] > 0, f'the device: {device}')
    sender = [row for row in rows(environment, 'qp') if row['packets'] > 0]
    check(len(sender) == 1 and sender[0]['state'] == 'RTS' and sender[0]['window_kib'] > 0, f'queue pairs that send: {sender}')
    planes = rows(environment, 'plane')
    check([row['plane'] for row in planes] == list(range(PLANES)), f'planes: {planes}')
    check(all(row['packets'] > 0 and row['active'] > 0 for row in planes), f'planes without packets: {planes}')
    evs = rows(environment, 'ev', '--sort', 'packets', '--filter', 'packets>0', '--filter', 'plane=2')
    check(evs and {row['plane'] for row in evs} == {2}, f'EVs of plane 2: {evs[:3]}')
    for row in (device, sender[0], planes[0], evs[0], processes[0]):
        check(CAUSES <= set(row), f'why packets are sent again is not said: {row}')
    rates = [row['packets'] for row in evs]
    check(rates == sorted(rates, reverse=True), f'EVs are not sorted: {rates[:5]}')


def check_tables(environment):
    """80 columns, and a head."""
    tables = [[], *(['--by', view] for view in ('process', 'device', 'qp', 'plane')), ['--by', 'ev', '--sort', 'sent_all']]
    for words in tables + [table + ['--causes'] for table in tables]:
        lines = top(environment, '--once', *words).splitlines()
        check(len(lines) >= 2, f'mrc_top {words}: {lines}')
        longest = max(lines, key=len)
        check(len(longest) <= 80, f'mrc_top {words}: a line of {len(longest)}: {longest}')
        check(('TIMEO/s' in lines[0]) == ('--causes' in words), f'mrc_top {words}: the head is {lines[0]}')
    lines = top(environment, '--by', 'plane', '--lines', '--seconds', '0.6').splitlines()
    check(len(lines) >= PLANES and all(re.match(r' +\d+\.\d s ', line) for line in lines), f'lines: {lines[:3]}')


def ask_mrcctl(environment, *words):
    done = subprocess.run([program('mrcctl'), *words], env=environment, check=True, timeout=60, text=True,
                          stdout=subprocess.PIPE)
    return done.stdout


def check_mrcctl(environment):
    """The same by mrcctl."""
    processes = json.loads(ask_mrcctl(environment, 'state', '--json'))['processes']
    check(len(processes) == 2 and all(each['device'] == 'mrc0' and each['queue_pairs'] for each in processes),
          f'mrcctl state --json: {processes}')
    paths = json.loads(ask_mrcctl(environment, 'paths', '--json'))['paths']
    check({path['plane'] for path in paths} == set(range(PLANES)), f'mrcctl paths --json: {paths[:3]}')
    check(any(path['sent'] > 0 and path['in_use'] for path in paths), f'no path was used: {paths[:3]}')
    table = ask_mrcctl(environment, 'paths').splitlines()
    check(len(table) == len(paths) + 1, f'mrcctl paths: {len(table)} lines, expected {len(paths) + 1}')


def check_broken_plane(environment):
    watching = subprocess.Popen([program('mrc_top'), '--by', 'plane', '--filter', 'plane=1', '--json', '--interval', '200'],
                                env=environment, text=True, stdout=subprocess.PIPE)
    try:
        json.loads(watching.stdout.readline())  # it has seen the plane as it was
        subprocess.run([program('mrcctl'), 'plane', '1', 'black-hole'], env=environment, check=True, timeout=60)
        end = time.monotonic() + 60
        most = dict.fromkeys(CAUSES, 0)
        while True:
            said = json.loads(watching.stdout.readline())
            for plane in said['rows']:
                most = {cause: max(plane[cause], most[cause]) for cause in CAUSES}
            # Which of the two causes it is depends on what else is under way.
            if plane['bad'] > 0 and plane['active'] < plane['evs'] and most['gap'] + most['timeout'] > 0:
                break
            check(time.monotonic() < end, f'plane 1 is a black hole, and this is said of it: {plane}; at most {most}')
        check(most['trim'] == most['port_down'] == 0, f'a black hole: {most}')
        check(said['planes_with_fault'] == ['plane 1 cut (black hole)'], f'what is said of plane 1: {said}')
    finally:
        watching.kill()
        watching.communicate()
    subprocess.run([program('mrcctl'), 'heal'], env=environment, check=True, timeout=60)


class Terminal:
    """mrc_top on a terminal of 24 lines and 80 columns, with somebody who presses keys."""

    def __init__(self, environment, *words):
        self.ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
        self.before = termios.tcgetattr(theirs)
        self.theirs = theirs
        self.process = subprocess.Popen([program('mrc_top'), '--interval', '300', *words], env=environment,
                                        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
        self.written = ''

    def press(self, keys):
        os.write(self.ours, keys.encode())

    def read(self, seconds):
        if select.select([self.ours], [], [], seconds)[0]:
            self.written += os.read(self.ours, 65536).decode()

    def picture(self):
        """The lines that were drawn last."""
        drawn = re.findall(r'\033\[H(.*?)\033\[J', self.written, re.DOTALL)
        self.written = self.written[-20000:]
        return re.sub(r'\033\[[0-9;?]*[A-Za-z]', '', drawn[-1]).replace('\r', '').split('\n') if drawn else ['']

    def expect(self, condition, what):
        end = time.monotonic() + 60
        while not condition(self.picture()):
            check(time.monotonic() < end, f'{what}: not so on the terminal: ' + '\n'.join(self.picture()))
            check(self.process.poll() is None, f'{what}: mrc_top has ended')
            self.read(0.5)
        lines = self.picture()
        check(len(lines) <= 24 and max(map(len, lines)) <= 80, f'{what}: too much for the terminal: {lines}')
        return lines

    def ends(self, what):
        end = time.monotonic() + 60
        while self.process.poll() is None:
            check(time.monotonic() < end, f'{what}: mrc_top goes on')
            self.read(0.1)
        self.read(0.1)
        check(self.process.returncode == 0, f'{what}: status {self.process.returncode}')
        check(self.written.endswith('\033[?25h'), f'{what}: the cursor is not back: {self.written[-80:]!r}')
        check(termios.tcgetattr(self.theirs)[3] == self.before[3], f'{what}: the terminal is not as it was')

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.ours)
        os.close(self.theirs)


def column(lines, title):
    """The texts of a column of words or numbers, by what stands below its title."""
    end = lines[1].index(title) + len(title)
    return [line[:end].split()[-1] for line in lines[2:] if re.match(r' *\d+ ', line)]


def check_keys(environment):
    terminal = Terminal(environment)
    try:
        terminal.expect(lambda lines: 'by process' in lines[0] and any('ib_write_bw' in line for line in lines), 'processes')
        for key, view, title in (('2', 'device', 'PROCS'), ('3', 'qp', 'WIN KiB'), ('4', 'plane', 'DENIED'), ('5', 'ev', 'SENT')):
            terminal.press(key)
            terminal.expect(lambda lines: f'by {view};' in lines[0] and title in lines[1] and len(lines) > 3, f'key {key}')
        terminal.press('\t')
        terminal.expect(lambda lines: 'by process' in lines[0], 'Tab')
        terminal.press('c')
        terminal.expect(lambda lines: 'TIMEO/s' in lines[1], 'causes')
        terminal.press('c5/')
        terminal.expect(lambda lines: lines[-1] == 'only rows with: _', 'the question for a filter')
        terminal.press('planX\x7fe=2\n')
        lines = terminal.expect(lambda lines: 'plane=2' in lines[0] and len(lines) > 5, 'a filter')
        check(set(column(lines, 'PLANE')) == {'2'}, f'rows of plane 2: {lines}')
        terminal.press('/nonsense=1\n')
        terminal.expect(lambda lines: lines[-1] == 'no filter of this view: nonsense=1', 'a filter that is none')
        terminal.press('x')
        terminal.expect(lambda lines: 'plane=2' not in lines[0] and 'rows 1 to ' in lines[-1], 'all rows again')
        terminal.press('>' * 3 + '\033[C')  # PID, QP, EV, PLANE
        lines = terminal.expect(lambda lines: 'sorted by plane' in lines[0], 'sorted by a column')
        check(set(column(lines, 'PLANE')) == {str(PLANES - 1)}, f'sorted by plane, the largest first: {lines}')
        terminal.press('r')
        lines = terminal.expect(lambda lines: 'sorted up by plane' in lines[0], 'the other way round')
        check(set(column(lines, 'PLANE')) == {'0'}, f'sorted by plane, the smallest first: {lines}')
        terminal.press('\033[6~\033[B')
        terminal.expect(lambda lines: lines[-1].startswith('rows 23 to '), 'a page and a line further')
        terminal.press(' ')
        terminal.expect(lambda lines: 'stopped' in lines[0], 'stopped')
        terminal.press('h')
        terminal.expect(lambda lines: any('queue pair, plane, EV' in line for line in lines), 'help')
        terminal.press('q')
        terminal.ends('q')
    finally:
        terminal.close()
    terminal = Terminal(environment, '--by', 'ev')
    try:
        terminal.expect(lambda lines: 'by ev' in lines[0], 'EVs')
        terminal.process.send_signal(signal.SIGTERM)
        terminal.ends('SIGTERM')
    finally:
        terminal.close()


def main():
    run_directory = tempfile.mkdtemp(prefix='mrc-run-')
    environment = dict(os.environ, MRC_RUNDIR=run_directory, MRC_PLANES=str(PLANES))
    words = [program('mrcrun'), 'ib_write_bw', '-d', 'mrc0', '-F', '-s', '65536', '-D', '200', '-p', str(PORT)]
    keep = {'env': environment, 'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}
    sides = [subprocess.Popen(words, **keep)]
    try:
        while not is_listening():
            check(sides[0].poll() is None, 'the server of ib_write_bw ended')
            time.sleep(0.05)
        sides.append(subprocess.Popen(words + ['localhost'], **keep))
        end = time.monotonic() + 30
        while not any(row['packets'] > 0 for row in rows(environment, 'qp')):
            check(time.monotonic() < end, 'nothing is sent')
        check_views(environment)
        check_tables(environment)
        check_mrcctl(environment)
        check_broken_plane(environment)
        check_keys(environment)
        for refused in (['--by', 'nonsense'], ['--sort', 'ev'], ['--by', 'qp', '--sort', 'nonsense'],
                        ['--by', 'qp', '--filter', 'pid'], ['--by', 'qp', '--filter', 'pid<x']):
            top(environment, *refused, status=2)
    finally:
        for side in sides:
            side.kill()
            side.wait()
        shutil.rmtree(run_directory)


main()
