#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""usage: fabric_test.py MRC_LAB CASE: the fabric of mrc_lab, tried with nothing but the kernel."""
import os
import signal
import subprocess
import sys
import time

from lab import Lab, check, route, skip, within

ECT0 = 2
TRIMMABLE, CONTROL = 4 << 2 | ECT0, 46 << 2 | ECT0


def is_alive(pid):
    try:
        with open(f'/proc/{pid}/stat', encoding='ascii') as file:
            return file.read().rsplit(')', 1)[1].split()[0] not in 'ZX'
    except OSError:
        return False


def processes_of(lab):
    """The two processes that a lab consists of: parent, holder."""
    found = []
    for entry in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{entry}/cmdline', 'rb') as file:
                words = file.read().split(b'\0')
            with open(f'/proc/{entry}/environ', 'rb') as file:
                ours = lab.environment['MRC_LAB_DIR'].encode() in file.read()
        except OSError:
            continue
        if ours and b'up' in words:
            found.append(int(entry))
    return sorted(found)


def wait_until(condition, what, seconds=5):
    end = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < end, what)
        time.sleep(0.02)


def case_up(program):
    lab = Lab(program, '--hosts', '2', '--planes', '4', '--leaves', '2', '--spines', '4')
    within(lab.up_seconds, 0, 5, 'seconds to come up')
    for plane in range(1, 5):
        done = lab.ping('h1', f'fd00:{plane}:2::1', 3)
        check(done.returncode == 0, done.stdout)
    check(lab.execute('h1', 'sh', '-c', 'exit 42').returncode == 42, 'exit status of a program')
    check(lab.execute('h1', 'sh', '-c', 'kill -TERM $$').returncode == 128 + 15, 'signal of a program')
    check(lab.execute('h1', 'sh', '-c', 'test -f $MRC_CONFIG && test -d $MRC_RUNDIR').returncode == 0, 'environment')
    check('10.77.0.2' in lab.execute('h1', 'getent', 'hosts', 'h2').stdout, 'hosts by name')
    check('no host or switch' in lab.execute('h9', 'true').stdout, 'unknown host')
    again = lab.call('up')
    check(again.returncode == 1 and 'up already' in again.stdout, again.stdout)
    check('4 planes' in lab.call('status').stdout, 'status')
    check(lab.call('down').returncode == 0, 'down')
    check('not up' in lab.call('status').stdout, 'status after down')


def case_usid(program):
    """Every spine of every plane forwards by uSID, and no other carries the packet."""
    lab = Lab(program, '--planes', '4', '--spines', '4')
    for plane in range(1, 5):
        for spine in range(1, 5):
            kinds, destinations = lab.traverse(route(plane, spine), 5, 300, ECT0, plane)
            check(sum(kinds.values()) == 5, f'plane {plane} spine {spine}: {kinds}')
            check(list(destinations) == [f'fcbb:bbbb:{0x9001 + (plane - 1 << 8):x}::'], destinations)
    for link in lab.status()['links']:
        for name, counts in link.items():
            if name.startswith('p') and ':p' in name and 'l1:' in name:
                within(counts['frames'], 5, 12, f'{name} (5 of ours and some of the kernel)')


def case_impair(program):
    """Loss, ECN and trimming as asked, and only to what may be trimmed."""
    if not (lab := Lab(program, '--planes', '1', '--spines', '2')).status()['bpf']:
        skip('no BPF: ' + lab.status()['bpf_why_not'])
    count = 4000
    lab.fault('p1l1-p1s1', 'loss', '20%')
    kinds, _ = lab.traverse(route(1, 1), count, 1000, TRIMMABLE)
    within(sum(kinds.values()) / count, 0.76, 0.84, f'20 % loss: {kinds}')
    within(lab.direction('p1l1:p1s1')['dropped'] / count, 0.16, 0.24, 'dropped')
    check(sum(lab.traverse(route(1, 2), 500, 1000, TRIMMABLE)[0].values()) == 500, 'the other spine')

    lab.fault('p1l1-p1s1 clear, p1s1:p1l2 ce 30%')
    kinds, _ = lab.traverse(route(1, 1), count, 1000, TRIMMABLE)
    within(kinds['1000 dscp 4 ecn 3 fits'] / count, 0.26, 0.34, f'30 % CE: {kinds}')
    check(sum(kinds.values()) == count, kinds)

    lab.fault('all clear, p1s1:p1l2 trim 25%')
    kinds, _ = lab.traverse(route(1, 1), count, 4238, TRIMMABLE)
    within(kinds['128 dscp 12 ecn 2 fits'] / count, 0.21, 0.29, f'25 % trimmed: {kinds}')
    check(sum(kinds.values()) == count and len(kinds) == 2, kinds)
    kinds, _ = lab.traverse(route(1, 1), 500, 4238, CONTROL)
    check(kinds == {'4238 dscp 46 ecn 2 fits': 500}, f'control is not trimmed: {kinds}')

    lab.fault('all clear, p1l2:h2 trim 100%')
    kinds, _ = lab.traverse(route(1, 1), 500, 4238, TRIMMABLE)
    check(kinds == {'128 dscp 16 ecn 2 fits': 500}, f'trimmed at the last hop: {kinds}')

    lab.fault('paths clear, h1:p1l1 blackhole')
    check(lab.traverse(route(1, 1), 100, 300, ECT0, seconds=0.5)[0] == {}, 'black hole')
    lab.fault('h1', 'up')
    check(lab.ping('h1', 'fd00:1:2::1').returncode == 0, 'mended')


def case_rate_delay(program):
    if not (lab := Lab(program, '--planes', '1', '--spines', '1')).status()['bpf']:
        skip('no BPF: ' + lab.status()['bpf_why_not'])
    lab.fault('p1l1-p1s1', 'delay', '20ms')
    times = lab.ping('h1', 'fd00:1:2::1', 5).stdout
    within(float(times.split('=')[1].split('/')[0]), 40, 60, 'ms round trip with 20 ms each way')
    lab.fault('p1l1-p1s1 delay 0, h1:p1l1 delay 30ms')
    times = lab.ping('h1', 'fd00:1:2::1', 5).stdout
    within(float(times.split('=')[1].split('/')[0]), 30, 50, 'ms round trip with 30 ms in one direction')
    lab.fault('h1:p1l1 delay 0, p1s1:p1l2 rate 10mbit')
    # 1000 x 4000 bytes are 3.2 s at 10 Mbit/s; the queue takes 2 MiB, the rest is lost.
    kinds, _ = lab.traverse(route(1, 1), 1000, 4000, CONTROL, seconds=3)
    counts = lab.direction('p1s1:p1l2')
    within(sum(kinds.values()), 400, 950, 'frames through a narrow link')
    check(counts['marked'] > 0 and counts['dropped'] > 0, f'marks and losses of a full queue: {counts}')
    lab.fault('all', 'clear')
    check(sum(lab.traverse(route(1, 1), 800, 1000, CONTROL)[0].values()) == 800, 'mended')


def carrier(lab, host, interface):
    return lab.execute(host, 'cat', f'/sys/class/net/{interface}/carrier').stdout.strip()


def case_links(program):
    """Links, switches and planes go down and come back, with their routes."""
    lab = Lab(program, '--planes', '2', '--spines', '2')

    def works(plane, spine):
        return sum(lab.traverse(route(plane, spine), 3, 300, ECT0, plane, seconds=0.5)[0].values()) == 3

    lab.fault('h1-p1l1', 'down')
    check(carrier(lab, 'h1', 'p1') == '0' and carrier(lab, 'h1', 'p2') == '1', 'carrier of a link that is down')
    check(not works(1, 1) and works(2, 1), 'link down')
    lab.fault('h1-p1l1', 'up')
    check(carrier(lab, 'h1', 'p1') == '1' and works(1, 1), 'link up')
    lab.fault('switch', 'p1s1', 'down')
    check(not works(1, 1) and works(1, 2), 'spine down')
    check(lab.ping('h1', 'fd00:1:2::1', 3).returncode == 0, 'equal-cost routes avoid the spine')
    lab.fault('p1s1', 'up')
    check(works(1, 1), 'spine up')
    lab.fault('plane', '2', 'down')
    check(carrier(lab, 'h2', 'p2') == '0' and not works(2, 1) and works(1, 1), 'plane down')
    lab.fault('plane2', 'up')
    check(works(2, 1) and works(2, 2) and lab.ping('h2', 'fd00:2:1::1').returncode == 0, 'plane up')
    begin = time.monotonic()
    lab.fault('--wait', 'p1l1', 'down,', 'at', '300ms', 'p1l1', 'up')
    within(time.monotonic() - begin, 0.3, 3, 'seconds of a timed sequence')
    check(works(1, 1) and lab.status()['pending'] == 0, 'after the sequence')
    for words, what in ((['p1s9', 'down'], 'no link'), (['p1s1', 'explode'], 'not understood'), (['p1s1', 'loss'], 'value'),
                        (['h1:p1l1', 'down'], 'both directions'), (['p1s1', 'loss', '200%'], 'no value')):
        done = lab.call('fault', *words)
        check(done.returncode == 1 and what in done.stdout, f'{words}: {done.stdout}')


def case_clean(program):
    """However a lab ends, nothing is left."""
    for victim in (0, 1):
        lab = Lab(program, '--planes', '1', '--spines', '1')
        pids = processes_of(lab)
        check(len(pids) == 2, f'processes of the lab: {pids}')
        inside = lab.start('exec', 'h1', '--', 'sh', '-c', 'echo ready; sleep 300 & exec sleep 300')
        check(inside.stdout.readline() == 'ready\n', 'program in the lab')
        os.kill(pids[victim], signal.SIGKILL)
        check(inside.wait(5) == 128 + 9, f'the program in the lab ends with it: {inside.returncode}')
        wait_until(lambda: not any(map(is_alive, pids)), 'processes are left')
        wait_until(lambda: 'not up' in lab.call('status').stdout or 'ended' in lab.call('status').stdout, 'status')
        check(lab.call('down').returncode == 0 and not os.path.exists(lab.directory + '/s'), 'files are left')
    # A program ends with the mrc_lab that started it, even by force.
    lab = Lab(program, '--planes', '1', '--spines', '1')
    inside = lab.start('exec', 'h1', '--', 'sh', '-c', 'echo ready; exec sleep 301')
    check(inside.stdout.readline() == 'ready\n', 'program in the lab')
    inside.kill()
    wait_until(lambda: lab.execute('h1', 'pgrep', '-f', 'sleep 301').returncode == 1, 'the program lives on')
    inside = lab.start('exec', 'h1', '--', 'sh', '-c', 'echo ready; exec sleep 302')
    check(inside.stdout.readline() == 'ready\n', 'program in the lab')
    inside.terminate()
    check(inside.wait(5) == 128 + 15, 'signals are passed on')
    lab.end()
    # In the foreground: ^C. Its files are in a directory that lab.end() removes once more.
    lab.environment['MRC_LAB_DIR'] = lab.directory + '/s2'
    front = lab.start('up', '--planes', '1', '--spines', '1', '--foreground')
    check('up in' in front.stdout.readline(), 'up --foreground')
    pids = processes_of(lab)
    front.send_signal(signal.SIGINT)
    for pid in pids:
        if pid != front.pid and is_alive(pid):
            try:
                os.kill(pid, signal.SIGINT)  # as from a terminal
            except ProcessLookupError:
                pass
    check(front.wait(5) == 0, 'end of the foreground lab')
    check(not any(map(is_alive, pids)) and not os.path.exists(lab.directory + '/s2'), 'something is left')


def case_rootless(program):
    """As somebody else: the fabric works, what needs BPF says why it does not."""
    if os.geteuid() != 0:
        skip('this is not root, who could become somebody else')
    nobody = ('setpriv', '--reuid=65534', '--regid=65534', '--clear-groups')
    lab = Lab(program, '--planes', '2', '--spines', '2', prefix=nobody)
    check('rootless' in lab.greeting and 'missing:' in lab.greeting, lab.greeting)
    check(lab.ping('h1', 'fd00:2:2::1', 2).returncode == 0, 'ping')
    kinds, _ = lab.traverse(route(1, 2), 5, 300, ECT0)
    check(sum(kinds.values()) == 5, f'forwarding by uSID: {kinds}')
    lab.fault('plane2', 'down')
    check(carrier(lab, 'h1', 'p2') == '0', 'plane down')
    lab.fault('p1s1', 'rate', '100mbit')
    refused = lab.call('fault', 'p1s1', 'loss', '1%')
    check(refused.returncode == 1 and 'not possible in this lab' in refused.stdout, refused.stdout)


if __name__ == '__main__':
    globals()['case_' + sys.argv[2]](sys.argv[1])
    print('passed')
