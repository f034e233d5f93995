#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""usage: top_test.py BUILD: the views of mrc_top while ib_write_bw runs and a plane is broken."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
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


def check_views(environment):
    device, = rows(environment, 'device')
    check(device['device'] == 'mrc0' and device['processes'] == 2 and device['out_gbps'] > 0, f'the device: {device}')
    sender = [row for row in rows(environment, 'qp') if row['packets'] > 0]
    check(len(sender) == 1 and sender[0]['state'] == 'RTS' and sender[0]['window_kib'] > 0, f'queue pairs that send: {sender}')
    planes = rows(environment, 'plane')
    check([row['plane'] for row in planes] == list(range(PLANES)), f'planes: {planes}')
    check(all(row['packets'] > 0 and row['active'] > 0 for row in planes), f'planes without packets: {planes}')
    evs = rows(environment, 'ev', '--sort', 'packets', '--filter', 'packets>0', '--filter', 'plane=2')
    check(evs and {row['plane'] for row in evs} == {2}, f'EVs of plane 2: {evs[:3]}')
    rates = [row['packets'] for row in evs]
    check(rates == sorted(rates, reverse=True), f'EVs are not sorted: {rates[:5]}')


def check_tables(environment):
    """80 columns, and a head."""
    for words in ([], ['--by', 'device'], ['--by', 'qp'], ['--by', 'plane'], ['--by', 'ev', '--sort', 'sent_all']):
        lines = top(environment, '--once', *words).splitlines()
        check(len(lines) >= 2, f'mrc_top {words}: {lines}')
        longest = max(lines, key=len)
        check(len(longest) <= 80, f'mrc_top {words}: a line of {len(longest)}: {longest}')
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
    subprocess.run([program('mrcctl'), 'plane', '1', 'black-hole'], env=environment, check=True, timeout=60)
    end = time.monotonic() + 30
    while True:
        plane, = rows(environment, 'plane', '--filter', 'plane=1')
        if plane['bad'] > 0 and plane['active'] < plane['evs']:
            break
        check(time.monotonic() < end, f'plane 1 is a black hole, and this is said of it: {plane}')
    subprocess.run([program('mrcctl'), 'heal'], env=environment, check=True, timeout=60)


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
        for refused in (['--by', 'nonsense'], ['--sort', 'pid'], ['--by', 'qp', '--sort', 'nonsense'],
                        ['--by', 'qp', '--filter', 'pid'], ['--by', 'qp', '--filter', 'pid<x']):
            top(environment, *refused, status=2)
    finally:
        for side in sides:
            side.kill()
            side.wait()
        shutil.rmtree(run_directory)


main()
