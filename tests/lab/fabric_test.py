#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""usage: fabric_test.py MRC_LAB CASE: the fabric of mrc_lab, tried with nothing but the kernel."""
import os
import random
import signal
import sys
import time

from lab import Lab, check, equal, route, skip, wait_until, within

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


def says(done, words, what):
    check(words in done.stdout, f'{what} says "{done.stdout.strip()}", expected "{words}" in it')


def case_up(program):
    lab = Lab(program, '--hosts', '2', '--planes', '4', '--leaves', '2', '--spines', '4')
    # A quarter of a second, of 5 s allowed; a machine that does ten other things gets more.
    within(lab.up_seconds, 0, 5 * max(1, os.getloadavg()[0] / os.cpu_count()), 'seconds to come up')
    for plane in range(1, 5):
        done = lab.ping('h1', f'fd00:{plane}:2::1', 3)
        equal(done.returncode, 0, f'status of ping in plane {plane}, which says {done.stdout}')
    equal(lab.execute('h1', 'sh', '-c', 'exit 42').returncode, 42, 'exit status of a program')
    equal(lab.execute('h1', 'sh', '-c', 'kill -TERM $$').returncode, 128 + 15, 'status of a program ended by SIGTERM')
    equal(lab.execute('h1', 'sh', '-c', 'test -f $MRC_CONFIG && test -d $MRC_RUNDIR').returncode, 0, 'environment')
    says(lab.execute('h1', 'getent', 'hosts', 'h2'), '10.77.0.2', 'address of h2')
    says(lab.execute('h9', 'true'), 'no host or switch', 'exec in an unknown host')
    again = lab.call('up')
    says(again, 'up already', 'up, twice')
    equal(again.returncode, 1, 'status of up, twice')
    says(lab.call('status'), '4 planes', 'status')
    equal(lab.call('down').returncode, 0, 'status of down')
    says(lab.call('status'), 'not up', 'status after down')


def case_usid(program):
    """Every spine of every plane forwards by uSID, and no other carries the packet."""
    lab = Lab(program, '--planes', '4', '--spines', '4')
    count = 40  # more than what the kernel itself may say meanwhile on a link
    for plane in range(1, 5):
        for spine in range(1, 5):
            before = spine_frames(lab)
            kinds, destinations = lab.traverse(route(plane, spine), count, 300, ECT0, plane)
            where = f'plane {plane} spine {spine}'
            equal(sum(kinds.values()), count, f'{where}: frames that came, which were {kinds}')
            equal(list(destinations), [f'fcbb:bbbb:{0x9001 + (plane - 1 << 8):x}::'], f'{where}: destinations')
            passed = {name: frames - before[name] for name, frames in spine_frames(lab).items()}
            equal([name for name, frames in passed.items() if frames >= count], [f'p{plane}s{spine}:p{plane}l2'],
                  f'{where}: spines that passed {count} frames on, of {passed}')


def spine_frames(lab):
    """What each spine has forwarded to the leaf of h2."""
    return {name: counts['frames'] for link in lab.status()['links'] for name, counts in link.items()
            if isinstance(counts, dict) and name.endswith('l2') and 's' in name.split(':')[0]}


def case_impair(program):
    """Loss, ECN and trimming as asked, and only to what may be trimmed."""
    lab = Lab(program, '--planes', '1', '--spines', '2').needs_bpf()
    count = 4000
    lab.fault('p1l1-p1s1', 'loss', '20%')
    kinds, _ = lab.traverse(route(1, 1), count, 1000, TRIMMABLE)
    within(sum(kinds.values()) / count, 0.76, 0.84, f'share that came in spite of 20 % loss: {kinds}')
    within(lab.direction('p1l1:p1s1')['dropped'] / count, 0.16, 0.24, 'share dropped')
    equal(sum(lab.traverse(route(1, 2), 500, 1000, TRIMMABLE)[0].values()), 500, 'frames by the other spine')

    lab.fault('p1l1-p1s1 clear, p1s1:p1l2 ce 30%')
    kinds, _ = lab.traverse(route(1, 1), count, 1000, TRIMMABLE)
    within(kinds['1000 dscp 4 ecn 3 fits'] / count, 0.26, 0.34, f'share marked with 30 % CE: {kinds}')
    equal(sum(kinds.values()), count, f'frames that came, which were {kinds}')

    lab.fault('all clear, p1s1:p1l2 trim 25%')
    kinds, _ = lab.traverse(route(1, 1), count, 4238, TRIMMABLE)
    within(kinds['128 dscp 12 ecn 2 fits'] / count, 0.21, 0.29, f'share trimmed of 25 %: {kinds}')
    equal((sum(kinds.values()), len(kinds)), (count, 2), f'frames and kinds of them: {kinds}')
    kinds, _ = lab.traverse(route(1, 1), 500, 4238, CONTROL)
    equal(kinds, {'4238 dscp 46 ecn 2 fits': 500}, 'control frames, which are not trimmed')

    lab.fault('all clear, p1l2:h2 trim 100%')
    kinds, _ = lab.traverse(route(1, 1), 500, 4238, TRIMMABLE)
    equal(kinds, {'128 dscp 16 ecn 2 fits': 500}, 'frames trimmed at the last hop')

    lab.fault('paths clear, h1:p1l1 blackhole')
    equal(lab.traverse(route(1, 1), 100, 300, ECT0)[0], {}, 'frames through a black hole')
    lab.fault('h1', 'up')
    equal(lab.ping('h1', 'fd00:1:2::1').returncode, 0, 'status of ping after mending')


def shortest_ping_ms(lab):
    # The shortest of many: the others may have waited for a CPU.
    done = lab.ping('h1', 'fd00:1:2::1', 20)
    check('=' in done.stdout, f'ping says {done.stdout}')
    return float(done.stdout.rsplit('=', 1)[1].split('/')[0])


def case_rate_delay(program):
    lab = Lab(program, '--planes', '1', '--spines', '1').needs_bpf()
    lab.fault('p1l1-p1s1', 'delay', '20ms')
    within(shortest_ping_ms(lab), 40, 100, 'ms round trip with 20 ms each way')
    lab.fault('p1l1-p1s1 delay 0, h1:p1l1 delay 30ms')
    within(shortest_ping_ms(lab), 30, 90, 'ms round trip with 30 ms in one direction')
    lab.fault('h1:p1l1 delay 0, p1s1:p1l2 rate 10mbit')
    # 2000 x 4000 bytes are 6.4 s at 10 Mbit/s; the queue takes 2 MiB, the rest is lost.
    kinds, _ = lab.traverse(route(1, 1), 2000, 4000, CONTROL)
    counts = lab.direction('p1s1:p1l2')
    within(sum(kinds.values()), 400, 1990, 'frames of 2000 that came through a narrow link')
    check(counts['marked'] > 0 and counts['dropped'] > 0, f'a full queue marked and lost, expected both: {counts}')
    lab.fault('all', 'clear')
    equal(sum(lab.traverse(route(1, 1), 800, 1000, CONTROL)[0].values()), 800, 'frames after mending')


def carrier(lab, host, interface):
    return lab.execute(host, 'cat', f'/sys/class/net/{interface}/carrier').stdout.strip()


def case_links(program):
    """Links, switches and planes go down and come back, with their routes."""
    lab = Lab(program, '--planes', '2', '--spines', '2')

    def works(plane, spine):
        return sum(lab.traverse(route(plane, spine), 3, 300, ECT0, plane)[0].values()) == 3

    def becomes(plane, spine, expected, what):
        # The kernel tells its routes of a link's new state a little later.
        wait_until(lambda: works(plane, spine) == expected,
                   f'{what}: plane {plane} spine {spine} {"carries" if expected else "drops"} frames')

    lab.fault('h1-p1l1', 'down')
    equal((carrier(lab, 'h1', 'p1'), carrier(lab, 'h1', 'p2')), ('0', '1'), 'carriers of h1, whose first link is down')
    becomes(1, 1, False, 'link down')
    becomes(2, 1, True, 'link down')
    lab.fault('h1-p1l1', 'up')
    equal(carrier(lab, 'h1', 'p1'), '1', 'carrier of a link that is up again')
    becomes(1, 1, True, 'link up')
    lab.fault('switch', 'p1s1', 'down')
    becomes(1, 1, False, 'spine down')
    becomes(1, 2, True, 'spine down')
    wait_until(lambda: lab.ping('h1', 'fd00:1:2::1', 3).returncode == 0, 'equal-cost routes avoid the dead spine')
    lab.fault('p1s1', 'up')
    becomes(1, 1, True, 'spine up')
    lab.fault('plane', '2', 'down')
    equal(carrier(lab, 'h2', 'p2'), '0', 'carrier of a plane that is down')
    becomes(2, 1, False, 'plane down')
    becomes(1, 1, True, 'plane down')
    lab.fault('plane2', 'up')
    becomes(2, 1, True, 'plane up')
    becomes(2, 2, True, 'plane up')
    wait_until(lambda: lab.ping('h2', 'fd00:2:1::1').returncode == 0, 'ping over a plane that is up again')
    begin = time.monotonic()
    lab.fault('--wait', 'p1l1', 'down,', 'at', '300ms', 'p1l1', 'up')
    within(time.monotonic() - begin, 0.3, 30, 'seconds of a sequence of 0.3 s')
    equal(lab.status()['pending'], 0, 'steps left after the sequence')
    becomes(1, 1, True, 'after the sequence')
    for words, what in ((['p1s9', 'down'], 'no link'), (['p1s1', 'explode'], 'not understood'), (['p1s1', 'loss'], 'value'),
                        (['h1:p1l1', 'down'], 'both directions'), (['p1s1', 'loss', '200%'], 'no value')):
        done = lab.call('fault', *words)
        says(done, what, f'fault {words}')
        equal(done.returncode, 1, f'status of fault {words}')


def ready(program):
    equal(program.stdout.readline(), 'ready\n', 'first word of a program in the lab')
    return program


def nothing_left(lab, pids):
    wait_until(lambda: not any(map(is_alive, pids)), f'the end of the processes {pids}')
    wait_until(lambda: not os.path.exists(lab.environment['MRC_LAB_DIR']), 'the files are removed')


def case_clean(program):
    """However a lab ends, nothing is left."""
    for victims in ((0,), (1,), (0, 1)):
        lab = Lab(program, '--planes', '1', '--spines', '1')
        pids = processes_of(lab)
        equal(len(pids), 2, f'number of processes of the lab: {pids}')
        inside = ready(lab.start('exec', 'h1', '--', 'sh', '-c', 'echo ready; sleep 300 & exec sleep 300'))
        for victim in victims:
            os.kill(pids[victim], signal.SIGKILL)
        equal(inside.wait(60), 128 + 9, 'status of a program whose lab was killed')
        wait_until(lambda: not any(map(is_alive, pids)), f'the end of the processes {pids}')
        if len(victims) == 1:
            nothing_left(lab, pids)  # the other one has seen to it
        wait_until(lambda: any(word in lab.call('status').stdout for word in ('not up', 'ended')), 'status: not up')
        equal(lab.call('down').returncode, 0, 'status of down after the lab was killed')
        nothing_left(lab, pids)
    # A program ends with the mrc_lab that started it, even by force.
    lab = Lab(program, '--planes', '1', '--spines', '1')
    inside = ready(lab.start('exec', 'h1', '--', 'sh', '-c', 'echo ready; exec sleep 301'))
    inside.kill()
    wait_until(lambda: lab.execute('h1', 'pgrep', '-f', '^sleep 301').returncode == 1, 'end of a program with its mrc_lab')
    inside = ready(lab.start('exec', 'h1', '--', 'sh', '-c', 'echo ready; exec sleep 302'))
    inside.terminate()
    equal(inside.wait(60), 128 + 15, 'status of a program that its mrc_lab passed SIGTERM on to')
    lab.end()
    # In the foreground: ^C, from a terminal to all of them and from elsewhere to the first. The files are in a
    # directory that lab.end() removes once more.
    lab.environment['MRC_LAB_DIR'] = lab.directory + '/s2'
    for from_terminal in (True, False):
        front = lab.start('up', '--planes', '1', '--spines', '1', '--foreground')
        greeting = front.stdout.readline()
        check('up in' in greeting, f'up --foreground says "{greeting}", expected "up in" in it')
        pids = processes_of(lab)
        front.send_signal(signal.SIGINT)
        for pid in pids if from_terminal else ():
            try:
                if pid != front.pid:
                    os.kill(pid, signal.SIGINT)
            except ProcessLookupError:
                pass
        equal(front.wait(60), 0, 'status of a lab in the foreground after ^C')
        nothing_left(lab, pids)


def case_killed(program):
    """mrc_lab up killed at any moment leaves nothing that the next up or down does not clear away."""
    lab = Lab(program, '--planes', '1', '--spines', '1')
    equal(lab.call('down').returncode, 0, 'status of down')
    seed = int(os.environ.get('MRC_TEST_SEED', time.time_ns() % 100000))
    print(f'seed {seed} (MRC_TEST_SEED)')
    moments = random.Random(seed)
    for number in range(12):
        words = ('up', '--planes', '1', '--spines', '1') + (('--foreground',) if number % 2 else ())
        starting = lab.start(*words)
        time.sleep(moments.uniform(0, 0.2))
        pids = processes_of(lab)
        victims = moments.sample(pids, moments.randint(min(1, len(pids)), len(pids)))
        for pid in victims:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        what = f'round {number} (killed {victims} of {pids})'
        if starting.pid in victims or number % 2 == 0:
            starting.communicate(timeout=60)
        down = lab.call('down')
        equal(down.returncode, 0, f'{what}: status of down, which says {down.stdout}')
        starting.communicate(timeout=60)
        wait_until(lambda: not processes_of(lab), f'{what}: end of all processes')
        wait_until(lambda: not os.path.exists(lab.environment['MRC_LAB_DIR']), f'{what}: the files are removed')
    up = lab.call('up', '--planes', '1', '--spines', '1')
    equal(up.returncode, 0, f'status of up, which says {up.stdout}')


def case_rootless(program):
    """As somebody else: the fabric works, what needs BPF says why it does not."""
    if os.geteuid() != 0:
        skip('this is not root, who could become somebody else')
    nobody = ('setpriv', '--reuid=65534', '--regid=65534', '--clear-groups')
    lab = Lab(program, '--planes', '2', '--spines', '2', prefix=nobody)
    for word in ('rootless', 'missing:', 'loss', 'black holes'):
        check(word in lab.greeting, f'up says "{lab.greeting}", expected "{word}" in it')
    equal(lab.ping('h1', 'fd00:2:2::1', 2).returncode, 0, 'status of ping')
    kinds, _ = lab.traverse(route(1, 2), 5, 300, ECT0)
    equal(sum(kinds.values()), 5, f'frames forwarded by uSID: {kinds}')
    lab.fault('plane2', 'down')
    equal(carrier(lab, 'h1', 'p2'), '0', 'carrier of a plane that is down')
    lab.fault('p1s1', 'rate', '100mbit')
    refused = lab.call('fault', 'p1s1', 'loss', '1%')
    says(refused, 'not possible in this lab', 'fault loss')
    equal(refused.returncode, 1, 'status of fault loss')
    check(lab.direction('p1s2:p1l2')['frames'] >= 5, f'frames counted by the kernel: {lab.direction("p1s2:p1l2")}')


if __name__ == '__main__':
    globals()['case_' + sys.argv[2]](sys.argv[1])
    print('passed')
