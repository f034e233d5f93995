#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""usage: capture_test.py BUILD CASE: packets of running programs, captured from another process."""
import collections
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BUILD, CASE = os.path.abspath(sys.argv[1]), sys.argv[2]
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'wireshark'))
from decoded import check, tshark  # noqa: E402

PORT = 24000 + os.getpid() % 6000


def program(name):
    return os.path.join(BUILD, 'bin', name)


class Pair:
    """ib_write_bw with itself until end(), from the moment that both sides run."""

    def __init__(self, environment, seconds=200, device='mrc0', port=PORT):
        words = [program('mrcrun'), 'ib_write_bw', '-d', device, '-F', '-s', '8192', '-D', str(seconds), '-p', str(port)]
        self.port = port
        keep = {'env': environment, 'stdout': subprocess.PIPE, 'stderr': subprocess.STDOUT, 'text': True}
        self.server = subprocess.Popen(words, **keep)
        self.wait_for_port()
        self.client = subprocess.Popen(words + ['localhost'], **keep)

    def wait_for_port(self):
        end = time.monotonic() + 60
        while True:
            with open('/proc/net/tcp6', encoding='ascii') as six, open('/proc/net/tcp', encoding='ascii') as four:
                if re.search(rf':{self.port:04X} \S+ 0A', six.read() + four.read()):
                    return
            check(self.server.poll() is None and time.monotonic() < end, f'the server: {self.server.poll()}')
            time.sleep(0.05)

    def end(self):
        for side in (self.client, self.server):
            side.kill()
            side.communicate()


def capture(environment, *words, seconds=60):
    """Runs it to its end; gives what it said."""
    done = subprocess.run([program('mrcctl'), 'capture', *words], env=environment, text=True, timeout=seconds,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(done.returncode == 0, f'mrcctl capture {words}: status {done.returncode}, expected 0: {done.stderr}')
    return done


def fields(file, *names):
    return [tuple(line.split('\t')) for line in
            tshark(file, '-T', 'fields', *(word for name in names for word in ('-e', name)))]


def case_file(environment, folder):
    """Every packet is MRC's, in both directions, and its comment says plane, EV and direction as the packet does."""
    file = os.path.join(folder, 'all.pcapng')
    said = capture(environment, file, '--count', '600').stderr
    check('600 packets captured' in said, f'mrcctl says {said}')
    rows = fields(file, 'frame.comment', 'mrc.ev', 'frame.interface_name', 'frame.packet_flags_direction', 'mrc.bth.opcode')
    check(len(rows) == 600, f'{len(rows)} packets in the file, expected 600')
    seen = collections.Counter()
    for comment, ev, interface, direction, opcode in rows:
        found = re.fullmatch(r'plane (\d) (in|out) EV (0x[0-9a-f]{8}) pid \d+', comment)
        check(found and opcode, f'comment "{comment}", opcode {opcode}')
        plane, way, said_ev = found.groups()
        check(int(said_ev, 16) == int(ev, 0), f'EV {said_ev}, expected {ev}')
        check(interface == f'mrc0 plane {plane}', f'interface {interface} of plane {plane}')
        check(int(direction, 0) == {'in': 1, 'out': 2}[way], f'direction {direction} of "{way}"')
        seen['plane ' + plane] += 1
        seen[way] += 1
        seen[opcode] += 1
    for kind in ('plane 0', 'plane 3', 'in', 'out', '0xdc'):
        check(seen[kind] > 0, f'no packet of {kind}: {seen}')
    check(not tshark(file, '-Y', '_ws.malformed || mrc.expert.short'), 'malformed packets, expected none')
    check(os.stat(file).st_mode & 0o077 == 0, 'others may read the file')


def case_filters(environment, folder):
    file = os.path.join(folder, 'some.pcapng')
    capture(environment, file, '--count', '50', '--class', 'sack', '--direction', 'out', '--plane', '2')
    rows = fields(file, 'mrc.bth.opcode', 'frame.comment', 'mrc.bth.dqpn')
    check(len(rows) == 50, f'{len(rows)} packets, expected 50')
    for opcode, comment, _ in rows:
        check(opcode == '0xdc' and comment.startswith('plane 2 out'), f'{opcode} {comment}')
    number = rows[0][2]
    capture(environment, file, '--count', '50', '--qpn', number)
    check({row[0] for row in fields(file, 'mrc.bth.dqpn')} == {number}, f'a packet to another queue pair than {number}')
    for words in (['--class', 'nonsense'], ['--plane', '99'], ['--files', '3'], ['--direction', 'up'], ['--more', '1'],
                  ['--count', '0']):
        done = subprocess.run([program('mrcctl'), 'capture', file, *words], env=environment, text=True, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        check(done.returncode == 2 and done.stderr, f'capture {words}: status {done.returncode}, expected 2 and a reason')


def case_ring(environment, folder):
    """Three files in turn; none grows for ever, and each can be read by itself."""
    file = os.path.join(folder, 'ring')
    capture(environment, file, '--count', '3000', '--files', '3', '--bytes', '100000')
    check(sorted(os.listdir(folder)) == ['ring.1', 'ring.2', 'ring.3'], f'files {os.listdir(folder)}')
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        check(os.path.getsize(path) < 110000, f'{name} has {os.path.getsize(path)} bytes')
        check(len(tshark(path)) > 20, f'{name} has {len(tshark(path))} packets')


def check_lines(said, errors):
    """A hundred lines of tcpdump, all to RoCE's port. What it says behind that port depends on the port that a packet
    comes from: it takes 49152, an EV like any other, for a protocol of its own."""
    lines = said.splitlines()
    strange = [line for line in lines if not re.search(r' > \S+\.4791: ', line)]
    check(len(lines) == 100 and not strange, f'{len(lines)} lines of tcpdump, expected 100; not RoCE: {strange[:5]}; {errors}')


def case_whole(environment, folder):
    """Whole frames, by a pipe to tcpdump, and an end by a signal."""
    file = os.path.join(folder, 'whole.pcapng')
    capture(environment, file, '--count', '100', '--whole')
    sizes = fields(file, 'frame.len', 'frame.cap_len')
    check(len(sizes) == 100 and all(whole == kept for whole, kept in sizes), f'lengths {sizes[:5]}')
    check(max(int(whole) for whole, _ in sizes) > 4096, 'no whole packet of data')
    with subprocess.Popen([program('mrcctl'), 'capture', '-'], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as source:
        done = subprocess.run(['tcpdump', '-n', '-c', '100', '-r', '-'], stdin=source.stdout, text=True, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        check_lines(done.stdout, done.stderr)
        source.stdout.close()
        check(source.wait(60) == 0, f'mrcctl capture - ends with {source.returncode} when its reader has gone')
    # mrcctl lets all others go first: on a busy machine it may take a while until it has seen something.
    for patience in (0.5, 2, 8, 16):
        with subprocess.Popen([program('mrcctl'), 'capture', file], env=environment, stderr=subprocess.PIPE, text=True) as ended:
            ended.stderr.readline()
            time.sleep(patience)
            ended.send_signal(signal.SIGTERM)
            check(' packets captured, ' in ended.stderr.read() and ended.wait(60) == 0, 'no end by a signal')
        if len(tshark(file, '-c', '10')) == 10:
            return
    check(False, 'the file that was ended by a signal has fewer than 10 packets')


def case_sniffer(environment, folder):
    """What libpcap does by verbs, in a third process: it hears both programs, in both directions, with a good ICRC."""
    file = os.path.join(folder, 'sniffed.pcap')
    done = subprocess.run([program('mrcrun'), program('sniffer'), file, '1000'], env=environment, text=True, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(done.returncode == 0, f'sniffer: status {done.returncode}, expected 0: {done.stderr}')
    rows = fields(file, 'mrc.bth.opcode', 'mrc.icrc.status', 'mrc.bth.dqpn')
    check(len(rows) >= 1000, f'{len(rows)} packets, expected 1000')
    check({status for _, status, _ in rows} == {'1'}, f'ICRCs: {collections.Counter(row[1] for row in rows)}')
    opcodes = {opcode for opcode, _, _ in rows}
    check('0xdc' in opcodes and opcodes & {'0xc6', '0xc7', '0xc8'}, f'opcodes {opcodes}')
    check(len({number for _, _, number in rows}) >= 2, 'packets to one queue pair only, expected both')


def needs_interface(environment):
    done = subprocess.run([program('mrcrun'), '--capture', 'true'], env=environment, text=True, timeout=60, stderr=subprocess.PIPE)
    if done.returncode == 125:
        print('skipped: ' + done.stderr)
        sys.exit(77)


def check_both_ways(file):
    rows = fields(file, 'mrc.bth.opcode', 'mrc.bth.dqpn')
    check(len(rows) >= 100, f'{len(rows)} packets, expected 100')
    check(all(opcode for opcode, _ in rows), f'not all are MRC: {rows[:10]}')
    return {number for _, number in rows} - {'0x000002'}


def case_tcpdump(environment, folder):
    """Debian's tcpdump and tshark, as they are: mrc0 is an interface, and both programs are heard on it."""
    needs_interface(environment)
    said = subprocess.run([program('mrcrun'), '--capture', 'tcpdump', '-n', '-c', '100', '-i', 'mrc0'], env=environment,
                          text=True, timeout=60, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(said.returncode == 0, f'tcpdump: status {said.returncode}, expected 0: {said.stderr}')
    check_lines(said.stdout, said.stderr)
    seen = set()
    for name, words in {'tcpdump': ['tcpdump', '-Z', 'root'], 'tshark': ['tshark', '-q']}.items():
        file = os.path.join(folder, name)
        done = subprocess.run([program('mrcrun'), '--capture', *words, '-c', '600', '-i', 'mrc0', '-w', file],
                              env=environment, text=True, timeout=60, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        check(done.returncode == 0, f'{name}: status {done.returncode}, expected 0: {done.stderr}')
        seen |= check_both_ways(file)
    check(len(seen) == 2, f'packets to the queue pairs {seen}, expected two')
    wait_for_nobody(environment['MRC_RUNDIR'])


def case_devices(environment, folder):
    """With two devices there are two interfaces, and on each what is sent there."""
    settings = os.path.join(folder, 'mrc.toml')
    with open(settings, 'w', encoding='ascii') as file:
        file.write('[[device]]\nplanes = 4\n[[device]]\nplanes = 2\n')
    environment = dict(environment, MRC_CONFIG=settings)
    needs_interface(environment)
    pair = Pair(environment, device='mrc1', port=PORT + 1)
    try:
        numbers = {}
        for device in ('mrc0', 'mrc1'):
            file = os.path.join(folder, device)
            done = subprocess.run([program('mrcrun'), '--capture', 'tcpdump', '-Z', 'root', '-c', '600', '-i', device, '-w', file],
                                  env=environment, text=True, timeout=60, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            check(done.returncode == 0, f'tcpdump -i {device}: status {done.returncode}, expected 0: {done.stderr}')
            numbers[device] = check_both_ways(file)
        said = capture(environment, os.path.join(folder, 'all'), '--device', 'mrc1', '--count', '100')
        numbers['mrcctl'] = check_both_ways(os.path.join(folder, 'all'))
        check(numbers['mrc0'] and numbers['mrc1'] and not numbers['mrc0'] & numbers['mrc1'] and
              numbers['mrcctl'] <= numbers['mrc1'], f'queue pairs by interface: {numbers}; {said.stderr}')
    finally:
        pair.end()
    wait_for_nobody(environment['MRC_RUNDIR'])


def wait_for_nobody(run_directory):
    """The child of mrcrun notices that its program has ended."""
    end = time.monotonic() + 30
    while any(name.startswith('capture.') for name in os.listdir(run_directory)):
        check(time.monotonic() < end, 'somebody still listens')
        time.sleep(0.05)


def main():
    folder = tempfile.mkdtemp(prefix='mrc-capture-')
    run_directory = tempfile.mkdtemp(prefix='mrc-run-')
    environment = dict(os.environ, MRC_RUNDIR=run_directory)
    pair = Pair(environment)
    try:
        globals()['case_' + CASE](environment, folder)
        left = [name for name in os.listdir(run_directory) if name.startswith('capture.')]
        check(not left, f'nobody listens any more, and {left} is still there')
    finally:
        pair.end()
        shutil.rmtree(folder)
        shutil.rmtree(run_directory)


main()
