#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""usage: verbs_test.py MRC_LAB CASE: unmodified verbs programs over a fabric."""
import json
import os
import subprocess
import sys
import time

from lab import Lab, check, skip, within

PORT = 21000


def listens(lab, host, port):
    tables = lab.execute(host, 'cat', '/proc/net/tcp', '/proc/net/tcp6').stdout
    return any(line.split()[1].endswith(f':{port:04X}') and line.split()[3] == '0A'
               for line in tables.splitlines() if line.strip()[:1].isdigit())


def pair(lab, words, port_option='-p', server_words=(), client_words=(), environment=(), seconds=60):
    """Runs a server on h2 and a client on h1; gives the client's output."""
    global PORT
    PORT += 1
    words = ['env', *environment, *words, port_option, str(PORT)]
    server = lab.start('exec', 'h2', '--', *words, *server_words)
    end = time.monotonic() + 20
    while not listens(lab, 'h2', PORT):
        check(server.poll() is None and time.monotonic() < end, f'{words}: the server does not start')
        time.sleep(0.05)
    client = lab.execute('h1', *words, *client_words, 'h2', timeout=seconds)
    check(client.returncode == 0, f'{words}: client {client.returncode}\n{client.stdout}')
    said = server.communicate(timeout=20)[0]
    check(server.returncode == 0, f'{words}: server {server.returncode}\n{said}')
    return client.stdout


def write_check(program, seconds):
    return [os.path.join(os.path.dirname(program), 'write_check'), '--quiet', '--seed', '11', '--sizes', '1,4097,65536,1048576',
            '--seconds', str(seconds)]


def check_bytes(lab, program, seconds=2):
    pair(lab, write_check(program, seconds), '--port', ['--server'], ['--client'])


def spine_frames(lab):
    """What each spine has forwarded to the leaf of h2."""
    return {name: counts['frames'] for link in lab.status()['links'] for name, counts in link.items()
            if isinstance(counts, dict) and name.endswith('l2') and 's' in name.split(':')[0]}


def case_perftest(program):
    """Debian's perftest and pingpong, and one QP on every spine of every plane."""
    lab = Lab(program, '--hosts', '2', '--planes', '4', '--leaves', '2', '--spines', '4')
    before = spine_frames(lab)
    pair(lab, ['ib_write_bw', '-d', 'mrc0', '-F', '-s', '65536', '-n', '500'])
    if lab.status()['bpf']:
        for name, frames in spine_frames(lab).items():
            check(frames > before[name] + 20, f'{name}: {frames - before[name]} frames of a QP that should be everywhere')
    for tool in ('ib_read_bw', 'ib_send_bw', 'ib_atomic_bw'):
        pair(lab, [tool, '-d', 'mrc0', '-F', '-n', '200'])
    for tool in ('ib_write_lat', 'ib_read_lat', 'ib_send_lat', 'ib_atomic_lat'):
        pair(lab, [tool, '-d', 'mrc0', '-F', '-n', '200'])
    pair(lab, ['ibv_rc_pingpong', '-d', 'mrc0', '-g', '0', '-n', '200'])
    check_bytes(lab, program)


def case_trimming(program):
    """A switch trims, the receiver says so, the sender repeats; every byte arrives."""
    if not (lab := Lab(program, '--planes', '2', '--spines', '2')).status()['bpf']:
        skip('no BPF: ' + lab.status()['bpf_why_not'])
    lab.fault('p1l1:p1s1 trim 5%, p2s1:p2l2 trim 5%, p1l2:h2 trim 2%')
    check_bytes(lab, program)
    for direction in ('p1l1:p1s1', 'p2s1:p2l2', 'p1l2:h2'):
        check(lab.direction(direction)['trimmed'] > 0, f'{direction}: nothing was trimmed')


def case_lossy(program):
    """Loss, marks, a dead plane and a dead spine under write_check."""
    if not (lab := Lab(program, '--planes', '2', '--spines', '2')).status()['bpf']:
        skip('no BPF: ' + lab.status()['bpf_why_not'])
    lab.fault('paths loss 1%, all ce 5%, at 3s plane1 down, at 4s plane1 up, at 5s p2s1 blackhole, at 6s p2s1 up')
    check_bytes(lab, program, 5)


def case_experiment(program):
    """The form of what an experiment says; its numbers are for machines with nothing else to do."""
    directory = subprocess.run(['mktemp', '-d'], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    try:
        done = subprocess.run([program, 'experiment', 'spine_dead', '--json', '--output', directory], text=True, timeout=100,
                              stdout=subprocess.PIPE)
        found = json.loads(done.stdout)
        check(found['experiment'] == 'spine_dead' and len(found['rows']) >= 5, done.stdout)
        for row in found['rows']:
            check(set(row) == {'name', 'value', 'target', 'ok'}, row)
            # Whether bytes and completions are right does not depend on how busy the machine is.
            check(row['target'] != 0 or row['ok'], row)
        with open(directory + '/spine_dead.svg', encoding='utf-8') as picture:
            check('<polyline' in picture.read(), 'plot')
    finally:
        subprocess.run(['rm', '-rf', directory])


if __name__ == '__main__':
    globals()['case_' + sys.argv[2]](sys.argv[1])
    print('passed')
