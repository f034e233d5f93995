#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""usage: map_test.py MRC_LAB CASE: mrcctl finds what is bad in a fabric, and keeps programs away from it."""
import json
import os
import sys
import time

from lab import Lab, check, equal, wait_until

PORT = 21900
STATUS_BAD = 3
# On the way between h1 and h2: one that is gone, one that loses a little, one that swallows everything in silence.
CUT, LOSSY, HOLE = 'p1l1-p1s2', 'p2l2-p2s4', 'p3l2-p3s1'


def mrcctl(lab, host, *words, timeout=60):
    return lab.execute(host, os.path.join(os.path.dirname(lab.program), 'mrcctl'), *words, timeout=timeout)


def make_lab(program, *shape):
    lab = Lab(program, *shape).needs_bpf()
    lab.program = program
    return lab


def map_from(lab, host, *words):
    """What mrcctl map says there, by name, and how long that took."""
    started = time.monotonic()
    said = mrcctl(lab, host, 'map', '--json', *words)
    took = time.monotonic() - started
    check(said.returncode in (0, STATUS_BAD), f'map on {host}: status {said.returncode}: {said.stdout}')
    told = json.loads(said.stdout)
    found = {bad['name']: bad['loss'] for bad in told['bad']}
    equal(said.returncode, STATUS_BAD if found else 0, f'status of map, which has found {found}')
    return found, took, told


def placed(lab, host):
    """Bytes that programs of a host have received."""
    said = mrcctl(lab, host, 'export').stdout
    return sum(float(line.split()[-1]) for line in said.splitlines() if line.startswith('mrc_payload_bytes_placed_total{'))


def rate(lab, host, seconds):
    first, started = placed(lab, host), time.monotonic()
    time.sleep(seconds)
    return (placed(lab, host) - first) / (time.monotonic() - started)


class Flow:
    """ib_write_bw from h1 to h2, until it is ended."""

    def __init__(self, lab):
        words = ['ib_write_bw', '-d', 'mrc0', '-F', '-s', '65536', '-p', str(PORT), '--run_infinitely']
        self.server = lab.start('exec', 'h2', '--', *words)
        wait_until(lambda: f':{PORT:04X} ' in lab.execute('h2', 'cat', '/proc/net/tcp', '/proc/net/tcp6').stdout,
                   'ib_write_bw listens')
        self.client = lab.start('exec', 'h1', '--', *words, 'h2')
        before = placed(lab, 'h2')
        wait_until(lambda: placed(lab, 'h2') > before + 2e6, 'ib_write_bw writes')

    def end(self):
        alive = {process: process.poll() is None for process in (self.client, self.server)}  # the server ends with its client
        for process in alive:
            process.terminate()
            said = process.communicate(timeout=60)[0]
            check(alive[process], f'ib_write_bw ended by itself: {said}')


def case_probe(program):
    """Single paths to a host, and what is lost on them."""
    lab = make_lab(program, '--hosts', '2', '--planes', '2', '--leaves', '2', '--spines', '3')
    answering = lab.start('exec', 'h2', '--', os.path.join(os.path.dirname(program), 'mrcctl'), 'probe', '--answer')
    equal(answering.stdout.readline(), 'answering\n', 'first word of mrcctl probe --answer')
    wait_until(lambda: mrcctl(lab, 'h1', 'probe', 'h2', '--count', '1').returncode == 0, 'all paths to h2 answer')
    lab.fault('p2l1-p2s3 blackhole')
    said = mrcctl(lab, 'h1', 'probe', '10.77.0.2', '--count', '3', '--interval', '1', '--timeout', '1000', '--json')
    equal(said.returncode, 1, f'status of a probe by all paths, one of which is dead: {said.stdout}')
    paths = {path['route']: path for path in json.loads(said.stdout)['paths']}
    equal(set(paths), {f'2{p}00:1{p}0{s}:2{p}01:9{p}01' for p in (0, 1) for s in (0, 1, 2)}, 'routes')
    dead = paths.pop('2100:1102:2101:9101')
    equal((dead['sent'], dead['answered'], dead['rtt_ns']), (3, 0, None), 'what became of probes over the dead link')
    for path in paths.values():
        check(path['answered'] > 0 and 0 < path['rtt_ns']['min'] <= path['rtt_ns']['max'], f'a good path: {path}')
    one = mrcctl(lab, 'h1', 'probe', 'h2', '--plane', '1', '--spine', '1', '--count', '2')
    check('plane 1 route 2100:1101:2101:9101: 2 of 2 answered, round trip ' in one.stdout, f'one path: {one.stdout}')
    # To the spine and back, which nobody answers.
    back = mrcctl(lab, 'h1', 'probe', 'h1', '--route', '2000:1002:2000:9000', '--count', '2')
    check('2 of 2 answered' in back.stdout, f'a route back to this host: {back.stdout}')
    back = mrcctl(lab, 'h1', 'probe', 'h1', '--route', '2100:1102:2100:9100', '--count', '2')
    check('0 of 2 answered' in back.stdout, f'a route over a dead link and back: {back.stdout}')
    equal(mrcctl(lab, 'h1', 'probe', 'h2', '--plane', '7').returncode, 1, 'status where there is no such path')
    answering.terminate()
    answering.communicate(timeout=60)


def case_map(program):
    """A small fabric: what one host sees, what all see, what a denylist does, and a daemon that follows."""
    lab = make_lab(program, '--hosts', '3', '--planes', '2', '--leaves', '3', '--spines', '2')
    found, _, told = map_from(lab, 'h1')
    equal((found, told['unknown'], told['good']), ({}, [], 2 * (1 + 2 * 3)), 'bad, unknown and good links of a healthy fabric')
    lab.fault('p1l1-p1s2 down, p1l2-p1s2 blackhole, p2l3-p2s1 loss 20%, h3-p2l3 blackhole')
    found, _, told = map_from(lab, 'h1')
    equal(set(found), {'p1l1-p1s2', 'p2l3-p2s1'}, 'what h1 finds')
    check(0.1 < found['p2l3-p2s1'] < 0.3, f'loss that is found: {found}, expected 0.2')
    equal(set(told['unknown']), {'p1l2-p1s2', 'p1l3-p1s2'}, 'links that h1 cannot see')
    # All hosts together.
    files = []
    for host in ('h1', 'h2', 'h3'):
        files.append(os.path.join(lab.directory, host + '.json'))
        with open(files[-1], 'w', encoding='ascii') as file:
            json.dump(map_from(lab, host)[2], file)
    denylist = os.path.join(lab.directory, 'denylist')
    said = mrcctl(lab, 'h1', 'map', '--json', '--denylist', denylist, '--join', *files)
    equal({bad['name'] for bad in json.loads(said.stdout)['bad']},
          {'p1l1-p1s2', 'p1l2-p1s2', 'p2l3-p2s1', 'h3-p2l3'}, 'what all hosts find')
    equal(mrcctl(lab, 'h2', 'ev', 'load', denylist).returncode, 0, 'status of ev load')
    denied = json.loads(mrcctl(lab, 'h2', 'ev', '--json').stdout)['denied_links']
    equal(set(denied), {'p1l1-p1s2', 'p1l2-p1s2', 'p2l3-p2s1', 'h3-p2l3'}, 'what is denied on h2')
    # A daemon takes back what has been repaired.
    daemon = lab.start('exec', 'h1', '--', os.path.join(os.path.dirname(program), 'mrcctl'), 'map', '--daemon', '--apply',
                       '--interval', '0.2', '--seconds', '2')

    def denied_on_h1():
        return set(json.loads(mrcctl(lab, 'h1', 'ev', '--json').stdout)['denied_links'])

    wait_until(lambda: denied_on_h1() == {'p1l1-p1s2', 'p2l3-p2s1'}, 'the daemon denies what is bad')
    lab.fault('all up, all loss 0%')
    wait_until(lambda: denied_on_h1() == set(), 'the daemon denies nothing any more')
    daemon.terminate()
    said = daemon.communicate(timeout=60)[0]
    check('bad: link p1l1-p1s2 loses everything\n' in said and said.endswith('all links are good\n14 links are good\n'),
          f'the daemon says: {said}')


def paths(lab, spine):
    """Of h1's queue pair that writes, those of plane 1 over a spine: their states, how often they were used, and how often
    all others were."""
    told = json.loads(mrcctl(lab, 'h1', 'paths', '--json').stdout)['paths']
    writing = {path['qpn'] for path in told if path['sent'] > 100}
    of_pair = [path for path in told if path['qpn'] in writing]
    # A path per spine, in their order.
    evs = sorted({path['ev'] for path in of_pair if path['plane'] == 0})
    over = [path for path in of_pair if path['plane'] == 0 and path['ev'] == evs[spine - 1]]
    return ({path['state'] for path in over}, sum(path['sent'] for path in over),
            sum(path['sent'] for path in of_pair) - sum(path['sent'] for path in over))


def carries(lab, spine):
    """Whether data of h1 go over a spine of plane 1, while a thousand packets go elsewhere."""
    _, before, others = paths(lab, spine)
    wait_until(lambda: paths(lab, spine)[2] > others + 1000, 'others carry data')
    return paths(lab, spine)[1] > before


def case_deny(program):
    """A link is denied under a running ib_write_bw: at its sender, and at its receiver, who says ALWAYS_SKIP."""
    lab = Lab(program, '--hosts', '2', '--planes', '2', '--leaves', '2', '--spines', '4')
    lab.program = program
    config = os.path.join(lab.directory, 's', 't', 'h2', 'mrc.toml')
    with open(config, encoding='ascii') as file:
        text = file.read()
    check('[transport]\n' in text, f'{config}: {text}')
    with open(config, 'w', encoding='ascii') as file:
        file.write(text.replace('[transport]\n', '[transport]\ntell_denied = true\n'))
    flow = Flow(lab)
    wait_until(lambda: carries(lab, 3), 'data go over p1s3')
    for host, link, state in (('h1', 'p1l1-p1s3', 'denied'), ('h2', 'p1s3-p1l2', 'bad')):
        equal(mrcctl(lab, host, 'ev', 'deny', link).returncode, 0, f'status of ev deny on {host}')
        wait_until(lambda wanted=state: paths(lab, 3)[0] == {wanted}, f'{link} is denied on {host}: the path over it is {state}')
        wait_until(lambda: not carries(lab, 3), f'{link} is denied on {host}: no data go over it')
        wait_until(lambda: carries(lab, 2), f'{link} is denied on {host}: data go over p1s2 as before')
        equal(mrcctl(lab, host, 'ev', 'allow', link).returncode, 0, f'status of ev allow on {host}')
        wait_until(lambda: carries(lab, 3), f'{link} is allowed on {host} again: data go over it')
    flow.end()


def must_hold(program, seconds_max, least, *words):
    """4 planes of 4 leaves and 4 spines, a cut, a lossy and a black-holed link under a running ib_write_bw."""
    lab = make_lab(program, '--hosts', '4', '--planes', '4', '--leaves', '4', '--spines', '4')
    # So slow that no CPU is the limit.
    lab.fault('paths rate 16mbit')
    flow = Flow(lab)
    before = rate(lab, 'h2', 4)
    lab.fault(f'{CUT} down, {LOSSY} loss 5%, {HOLE} blackhole')
    time.sleep(1)
    during = rate(lab, 'h2', 2)
    denylist = os.path.join(lab.directory, 'denylist')
    found, took, _ = map_from(lab, 'h1', '--denylist', denylist, *words)
    equal(set(found), {CUT, LOSSY, HOLE}, f'links that h1 names, after {took:.1f} s')
    check(took < seconds_max, f'map took {took:.1f} s, expected less than {seconds_max}')
    check(found[CUT] > 0.99 and found[HOLE] > 0.99 and 0.02 < found[LOSSY] < 0.1, f'what they lose: {found}')
    for host in ('h1', 'h2'):
        equal(mrcctl(lab, host, 'ev', 'load', denylist).returncode, 0, f'status of ev load on {host}')
    # Nothing of the flow goes over them any more.
    time.sleep(0.5)
    ways = [f'{one}:{other}' for link in (LOSSY, HOLE) for one, other in (link.split('-'), link.split('-')[::-1])]
    counts = {way: lab.direction(way)['frames'] for way in ways}
    after = rate(lab, 'h2', 4)
    passed = {way: lab.direction(way)['frames'] - count for way, count in counts.items()}
    check(max(passed.values()) < 20, f'frames over denied links in 4 s: {passed}, expected next to none')
    flow.end()
    print(f'map took {took:.1f} s; ib_write_bw: {before / 1e6:.2f} MB/s before, {during / 1e6:.2f} MB/s with bad links, '
          f'{after / 1e6:.2f} MB/s with the denylist: {after / before:.3f}')
    check(after > least * before, f'{after / before:.3f} of the throughput is back, expected {least}')


def case_map_under_load(program):
    # On a machine that others use, too, time and throughput are theirs.
    must_hold(program, 45, 0.7, '--seconds', '20')


def case_must_hold(program):
    must_hold(program, 10, 0.95)


if __name__ == '__main__':
    globals()['case_' + sys.argv[2]](sys.argv[1])
    print('passed')
