#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Verbs programs on mrc0 in `rc` mode against the same programs on the Linux kernel's soft-RoCE, in a VM.
    soft_roce_test.py BUILD_DIR [CASE...]        without a case: all of them, with one VM"""
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import machine
from machine import GUEST, HOST, fail

# The whole test, on a machine that has other things to do as well.
SECONDS = 570
BAD = re.compile('completion with error|failed|error|unable|mismatch|invalid|corrupted', re.IGNORECASE)
# One packet in so many is lost, in each direction.
LOSS = 40

# Seconds for one pair of programs.
PATIENCE = 60
# ibv_rc_pingpong gives up after half a second without an answer, in real time. Who gives up while the VM has to wait for
# a CPU for so many seconds says nothing and is tried again.
STARVED, ATTEMPTS = 0.5, 3

# All of these run in both roles. rc_check compares every byte, ibv_rc_pingpong -c a byte of every page, perftest none.
# perftest and rc_check wait for answers as long as they are told, 4 us * 2^18 or 2^16: a VM may be slow, but what was
# lost is to be noticed soon.
LOSSLESS = {
    'all operations': 'rc_check --rounds 6 --mtu 1024 --timeout 18',
    'all, MTU 4096': 'rc_check --rounds 4 --mtu 4096 --timeout 18',
    'pingpong': 'ibv_rc_pingpong -c -s 4096 -n 50 -m 1024',
    # Its patience is half a second. Soft-RoCE must show within one message that it is alive.
    'pingpong, 98 packets': 'ibv_rc_pingpong -c -s 100000 -n 10 -m 1024',
    'SEND': 'ib_send_bw -F -s 65536 -n 20 -m 1024 -u 18',
    'SEND, latency': 'ib_send_lat -F -s 64 -n 50 -m 1024 -u 18',
    'WRITE': 'ib_write_bw -F -s 65536 -n 20 -m 4096 -u 18',
    'WRITE, latency': 'ib_write_lat -F -s 64 -n 50 -m 1024 -u 18',
    'READ': 'ib_read_bw -F -s 65536 -n 20 -m 1024 -u 18',
    'READ, latency': 'ib_read_lat -F -s 64 -n 50 -m 1024 -u 18',
    'fetch and add': 'ib_atomic_bw -F -A FETCH_AND_ADD -n 50 -m 1024 -u 18',
    'compare and swap': 'ib_atomic_lat -F -A CMP_AND_SWAP -n 20 -m 1024 -u 18',
}
# Few messages at a time (-t): who goes back to a lost packet repeats all that follow it, 512 packets if there are so
# many, and soft-RoCE under emulation takes a tenth of a second to look at them, for every single loss. Not pingpong: who
# is done first leaves without waiting whether its last acknowledgement has arrived.
LOSSY = {
    'all operations': 'rc_check --rounds 8 --mtu 1024 --timeout 16',
    'SEND': 'ib_send_bw -F -s 16384 -n 40 -t 4 -r 64 -m 1024 -u 16',
    'WRITE': 'ib_write_bw -F -s 16384 -n 40 -t 4 -m 1024 -u 16',
    'READ': 'ib_read_bw -F -s 16384 -n 40 -t 4 -m 1024 -u 16',
    'fetch and add': 'ib_atomic_bw -F -A FETCH_AND_ADD -n 100 -t 4 -m 1024 -u 16',
}


def command_line(command, device, gid, port, peer):
    if command.startswith('rc_check'):
        return f'{command} --device {device} --gid {gid} --port {port} ' + (f'--client {peer}' if peer else '--server')
    return f'{command} -d {device} {"-g" if command.startswith("ibv") else "-x"} {gid} -p {port} {peer}'


def await_listener(port):
    """A command for the VM's shell."""
    return (f'for i in $(seq 1200); do grep -qi ":{port:04X} .* 0A " /proc/net/tcp /proc/net/tcp6 && break;'
            ' sleep 0.05; done')


class Interop:
    def __init__(self, build):
        self.build = build
        self.vm = machine.Machine(build, SECONDS)
        # Short: the names of sockets live below it, and those are limited to 107 bytes.
        self.directory = os.path.join(build, 'vm', 'run')
        shutil.rmtree(self.directory, ignore_errors=True)
        run_directory = os.path.join(self.directory, 'r')
        os.makedirs(run_directory, 0o700)
        settings = os.path.join(self.directory, 'mrc.toml')
        with open(settings, 'w') as file:
            file.write('[device]\ntransport = "rc"\n[[port]]\nbackend = "af_packet"\ninterface = "tap0"\n')
        self.environment = dict(os.environ, MRC_RUNDIR=run_directory, MRC_CONFIG=settings,
                                PATH=f'{build}/bin:{os.environ["PATH"]}')
        self.environment.pop('MRC_PLANES', None)
        self.port = 20000

    def end(self):
        self.vm.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def next_port(self):
        self.port += 1
        return self.port

    def ours(self, command, port, peer=''):
        words = ['mrcrun'] + command_line(command, 'mrc0', 0, port, peer).split()
        return subprocess.Popen(words, env=self.environment, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)

    @staticmethod
    def theirs(command, port, peer=''):
        return command_line(command, 'rxe0', 1, port, peer)

    @staticmethod
    def listens_here(port):
        return subprocess.run(['ss', '-Hltn', f'sport = :{port}'], stdout=subprocess.PIPE).stdout.strip()

    def we_serve(self, command, port, seconds):
        server = self.ours(command, port)
        give_up = time.monotonic() + 60
        while not self.listens_here(port) and server.poll() is None and time.monotonic() < give_up:
            time.sleep(0.05)
        text, status = self.vm.execute(f'timeout -s KILL {seconds} ' + self.theirs(command, port, HOST),
                                       seconds + 10)
        return [('rxe0, client', text, status), ('mrc0, server', *self.collect(server, 20))]

    def they_serve(self, command, port, seconds):
        result = []
        # Its output comes when it has ended.
        server = threading.Thread(target=lambda: result.append(self.vm.execute(
            f'timeout -s KILL {seconds} ' + self.theirs(command, port), seconds + 10)), daemon=True)
        server.start()
        self.vm.execute(await_listener(port), 90)
        client = self.collect(self.ours(command, port, GUEST), seconds)
        server.join()
        return [('mrc0, client', *client), ('rxe0, server', *result[0])]

    @staticmethod
    def collect(process, seconds):
        try:
            text, _ = process.communicate(timeout=seconds)
            return text, process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            return process.communicate()[0] + '\n(no end within the time)', 124

    def play(self, role, command, port):
        started, starved = time.monotonic(), self.vm.starved_s()
        ends = (self.we_serve if role == 'client is rxe0' else self.they_serve)(command, port, PATIENCE)
        return ends, time.monotonic() - started, self.vm.starved_s() - starved

    def judge(self, name, role, command, ends, starved, attempt):
        """False: it must be tried again."""
        if not any(status != 0 or BAD.search(text) for _, text, status in ends):
            return True
        for end, text, status in ends:
            print(f'--- {end}, status {status}\n{text}')
        gave_up = any('retry counter exceeded' in text or status in (124, 137) for _, text, status in ends)
        if not gave_up or starved < STARVED or attempt + 1 == ATTEMPTS:
            fail(f'{name}, {role}: {command}')
        print(f'{name}, {role}: again, for the VM had no CPU for {starved:.2f} s', flush=True)
        return False

    def pair(self, name, command):
        """In both roles; at the same time, because either side waits for the other most of the time. Not those that
        have no patience."""
        roles = ['client is rxe0', 'client is mrc0']
        with ThreadPoolExecutor(1 if command.startswith('ibv') else len(roles)) as pool:
            for attempt in range(ATTEMPTS):
                played = [(role, pool.submit(self.play, role, command, self.next_port())) for role in roles]
                roles = []
                for role, future in played:
                    ends, seconds, starved = future.result()
                    if self.judge(name, role, command, ends, starved, attempt):
                        print(f'{name:<24} {role}   {seconds:5.1f} s', flush=True)
                    else:
                        roles.append(role)

    def lose(self):
        """From now on packets of RoCE are lost at random, on their way into the VM and out of it."""
        # By its path: busybox has a tc that its shell would prefer.
        text, status = self.vm.execute('/usr/sbin/tc qdisc add dev eth0 clsact && for way in ingress egress; do'
                                       ' /usr/sbin/tc filter add dev eth0 $way protocol ip'
                                       ' flower ip_proto udp dst_port 4791'
                                       f' action ok random netrand drop {LOSS} || exit 1; done')
        if status != 0:
            fail('tc cannot make losses in the VM:\n' + text)

    def stop_losing(self):
        text, _ = self.vm.execute('for way in ingress egress; do /usr/sbin/tc -s filter show dev eth0 $way; done;'
                                  ' /usr/sbin/tc qdisc del dev eth0 clsact')
        dropped = [int(n) for n in re.findall(r'dropped (\d+)', text)]
        if len(dropped) < 2 or min(dropped) == 0:
            state, _ = self.vm.execute('ps; dmesg | tail', 20)
            fail(f'nothing was lost:\n{text}\n{state}')
        print(f'lost: {dropped[0]} packets to soft-RoCE, {dropped[1]} from it', flush=True)

    def inside(self, command, device, gid):
        """Server and client in the VM, which sees both devices."""
        started = time.monotonic()
        self.port += 1
        server, client = (f'timeout -s KILL 120 mrcrun {command_line(command, device, gid, self.port, peer)}'
                          for peer in ('', GUEST))
        text, status = self.vm.execute(
            f'{server} >/tmp/server 2>&1 & server=$!\n'
            f'{await_listener(self.port)}\n'
            f'{client}; client=$?; wait $server; server=$?; cat /tmp/server\n'
            'exit $((client + server))', 180)
        if status != 0 or BAD.search(text):
            fail(f'in the VM, {command} on {device}: status {status}\n{text}')
        print(f'in the VM: {command.split()[0]:<16} {device}   {time.monotonic() - started:5.1f} s', flush=True)


def lossless(interop):
    for name, command in LOSSLESS.items():
        interop.pair(name, command)


def lossy(interop):
    interop.lose()
    for name, command in LOSSY.items():
        interop.pair(name + ', lossy', command)
    interop.stop_losing()


def inside(interop):
    """The provider in the VM, beside rxe0 and with the kernel's RDMA stack around it."""
    def expect(command, wanted, unwanted=()):
        text, status = interop.vm.execute(command)
        if status != 0 or any(word not in text for word in wanted) or any(word in text for word in unwanted):
            fail(f'in the VM, {command} should say {wanted} and not {unwanted}, but (status {status}):\n{text}')
        print(f'in the VM: {command}', flush=True)

    # The kernel has the word: without mrcrun libibverbs sees only what the kernel knows, and the doctor says so.
    expect('ibv_devices', ['rxe0'], ['mrc0'])
    expect('mrcctl doctor', ['kernel RDMA is loaded (ib_core)', '=> Start programs with mrcrun'], ['PROBLEM'])
    expect('mrcrun ibv_devices', ['rxe0', 'mrc0'])
    interop.inside('rc_check --rounds 4 --timeout 18', 'mrc0', 0)
    interop.inside('ib_write_bw -F -s 65536 -n 20 -u 18', 'mrc0', 0)
    interop.inside('ibv_rc_pingpong -c -s 4096 -n 50', 'rxe0', 1)


CASES = {'lossless': lossless, 'lossy': lossy, 'inside': inside}


def main():
    build = os.path.abspath(sys.argv[1])
    machine.enter_namespaces(build)
    started = time.monotonic()
    interop = Interop(build)
    try:
        for name in sys.argv[2:] or CASES:
            CASES[name](interop)
    finally:
        interop.end()
    print(f'{time.monotonic() - started:.0f} s')


if __name__ == '__main__':
    main()
