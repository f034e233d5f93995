# SPDX-License-Identifier: BSD-2-Clause
"""A lab for a test: brought up, taken down, whatever happens; and what tests ask of it."""
import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PACKETS = os.path.join(HERE, 'packets.py')
# One that everybody may execute, if there is one.
PYTHON = '/usr/bin/python3' if os.path.exists('/usr/bin/python3') else sys.executable
SKIP = 77
NO_NAMESPACES = 3


def check(condition, what):
    if not condition:
        sys.exit(f'FAILED: {what}')


def within(value, low, high, what):
    check(low <= value <= high, f'{what}: {value}, expected {low} to {high}')


def equal(seen, expected, what):
    check(seen == expected, f'{what}: {seen}, expected {expected}')


def wait_until(condition, what, seconds=60):
    """Waits for something that will be so soon, however busy the machine is."""
    end = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < end, f'{what}: not so after {seconds} s')
        time.sleep(0.02)


def skip(why):
    print(f'skipped: {why}')
    sys.exit(SKIP)


class Lab:
    def __init__(self, program, *shape, prefix=()):
        self.directory = tempfile.mkdtemp(prefix='mrclab-')
        self.environment = dict(os.environ, MRC_LAB_DIR=self.directory + '/s')
        self.prefix = list(prefix)
        if prefix:
            os.chmod(self.directory, 0o777)
        self.command = self.prefix + [program, '--lab', 't']
        atexit.register(self.end)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        started = time.monotonic()
        up = subprocess.run(self.command + ['up', *shape], env=self.environment, text=True, timeout=60,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.up_seconds = time.monotonic() - started
        self.greeting = up.stdout
        if up.returncode == NO_NAMESPACES:
            skip(up.stderr.strip())
        check(up.returncode == 0, f'up {shape}: status {up.returncode}, expected 0: {up.stderr}')
        self.macs = {}
        # Not everywhere: rootless labs have none, nor have kernels that take no such programs.
        self.bpf_why_not = self.status().get('bpf_why_not')

    def needs_bpf(self):
        if self.bpf_why_not:
            skip('no BPF: ' + self.bpf_why_not)
        return self

    def end(self):
        subprocess.run(self.command + ['down'], env=self.environment, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=60)
        subprocess.run(['rm', '-rf', self.directory])

    def call(self, *words, timeout=60):
        return subprocess.run(self.command + list(words), env=self.environment, text=True, timeout=timeout,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def start(self, *words):
        return subprocess.Popen(self.command + list(words), env=self.environment, text=True, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def execute(self, node, *words, timeout=60):
        return self.call('exec', node, '--', *words, timeout=timeout)

    def fault(self, *words):
        done = self.call('fault', *words)
        check(done.returncode == 0, f'fault {words}: status {done.returncode}, expected 0: {done.stdout}')

    def status(self):
        said = self.call('status', '--json')
        check(said.returncode == 0, f'status --json: status {said.returncode}, expected 0: {said.stdout}')
        return json.loads(said.stdout)

    def direction(self, name):
        """What is set and counted for one direction of a link, as p1l1:p1s1."""
        for link in self.status()['links']:
            if name in link:
                return link[name]
        raise KeyError(name)

    def ping(self, node, address, count=1, interval='0.01'):
        return self.execute(node, 'ping', '-6', '-q', '-W', '1', '-i', interval, '-c', str(count), address)

    def gateway_mac(self, host, plane):
        if (host, plane) not in self.macs:
            out = self.execute(f'h{host}', 'ip', '-6', 'neighbour', 'show', 'dev', f'p{plane}',
                               f'fd00:{plane:x}:{host:x}::ff').stdout
            check('lladdr ' in out, f'the neighbour of h{host} on plane {plane}: {out}')
            self.macs[host, plane] = out.split('lladdr ')[1].split()[0]
        return self.macs[host, plane]

    def traverse(self, route, count, frame_bytes, traffic_class, plane=1):
        """Sends frames from h1 by a uSID list and tells what h2 sees on the plane."""
        mac = self.gateway_mac(1, plane)
        receiver = self.start('exec', 'h2', '--', PYTHON, PACKETS, 'receive', f'p{plane}', str(count))
        equal(receiver.stdout.readline(), 'ready\n', 'first word of the receiver')
        sent = self.execute('h1', PYTHON, PACKETS, 'send', f'p{plane}', mac, route, str(count), str(frame_bytes),
                            str(traffic_class))
        check(sent.returncode == 0, f'sender: status {sent.returncode}, expected 0: {sent.stdout}')
        said = receiver.communicate('sent\n', timeout=90)[0]
        check(receiver.returncode == 0, f'receiver: status {receiver.returncode}, expected 0: {said}')
        seen = json.loads(said)
        return seen['kinds'], seen['destinations']


def route(plane, spine, source_leaf=1, leaf=2, host=2):
    """The uSID list from a host of one leaf to a host of another; all counted from 1, as the names are."""
    p = plane - 1
    return f'fcbb:bbbb:{0x2000 + (p << 8) + source_leaf - 1:x}:{0x1000 + (p << 8) + spine - 1:x}:' \
           f'{0x2000 + (p << 8) + leaf - 1:x}:{0x9000 + (p << 8) + host - 1:x}::'
