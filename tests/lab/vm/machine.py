# SPDX-License-Identifier: BSD-2-Clause
"""A VM with soft-RoCE (rxe0) on one end of a tap, and this host's network namespace with mrc0 on the other."""
import os
import re
import signal
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
GUEST, HOST = '10.88.0.1', '10.88.0.9'
MTU = 4300
COMMANDS = 900  # the VM carries out what comes to this port
SKIP = 77

EMULATORS = {
    # The simplest CPU that Debian's kernel starts on and its DPDK is built for (corei7, the compiler's name of Nehalem): TCG
    # is several times slower with "max".
    'aarch64': (['qemu-system-aarch64', '-M', 'virt', '-cpu', 'cortex-a57'], 'ttyAMA0'),
    'x86_64': (['qemu-system-x86_64', '-M', 'q35', '-cpu', 'Nehalem'], 'ttyS0'),
}


def enter_namespaces(build):
    """Starts this program again in a network and a process namespace: when it ends, however, nothing is left. What
    the VM boots from is made before, while there is a network to get it from."""
    if os.environ.get('MRC_VM_INSIDE'):
        # The first process of a process namespace gets no signal that it does not ask for.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        go_first()
        return
    if os.geteuid() != 0:
        skip('only root can make network namespaces')
    unshare = ['unshare', '--net', '--pid', '--fork', '--kill-child=KILL', '--mount-proc']
    if subprocess.run(unshare + ['true'], stderr=subprocess.DEVNULL).returncode != 0:
        skip('network namespaces cannot be made here')
    if not os.path.exists('/dev/net/tun'):
        skip('there is no /dev/net/tun')
    made = subprocess.run([os.path.join(HERE, 'image.sh'), build])
    if made.returncode != 0:
        sys.exit(made.returncode)
    os.environ['MRC_VM_INSIDE'] = '1'
    os.execvp(unshare[0], unshare + [sys.executable] + sys.argv)


def go_first():
    """Programs give up in real time, and the emulated ones need a lot of it: they go first where others compute."""
    os.nice(-20)
    try:
        # Where the kernel shares CPUs out among sessions, niceness counts only within this one.
        os.setsid()
        with open('/proc/self/autogroup', 'w') as file:
            file.write('-20')
    except OSError:
        pass


def skip(why):
    print(f'SKIPPED: {why}')
    sys.exit(SKIP)


def fail(why):
    print(f'FAILED: {why}', flush=True)
    sys.exit(1)


def run(*words):
    subprocess.run(words, check=True)


class Machine:
    def __init__(self, build, seconds):
        self.deadline = time.monotonic() + seconds
        self.console = os.path.join(build, 'vm', 'console.log')
        run('ip', 'link', 'set', 'lo', 'up')
        run('ip', 'tuntap', 'add', 'tap0', 'mode', 'tap')
        run('ip', 'link', 'set', 'tap0', 'mtu', str(MTU), 'up')
        run('ip', 'addr', 'add', HOST + '/24', 'dev', 'tap0')
        self.boot(build)

    def boot(self, build):
        command, console = EMULATORS[os.uname().machine]
        # All packets to and from the VM; tcpdump on the tap misses those that our packet sockets send. Each begins with 12
        # bytes of virtio.
        capture = os.environ.get('MRC_VM_CAPTURE')
        if capture:
            command = command + ['-object', f'filter-dump,id=f0,netdev=n0,maxlen=128,file={capture}']
        self.process = subprocess.Popen(
            command + ['-accel', 'tcg,thread=multi', '-m', '512', '-smp', '2', '-nographic', '-no-reboot',
                       '-nic', 'none',
                       '-kernel', os.path.join(build, 'vm', 'vmlinuz'), '-initrd', os.path.join(build, 'vm', 'initrd'),
                       '-append', f'console={console} quiet loglevel=3 panic=-1 rdinit=/init address={GUEST}/24'
                                  f' mtu={MTU}',
                       '-netdev', 'tap,id=n0,ifname=tap0,script=no,downscript=no',
                       '-device', 'virtio-net-pci,netdev=n0,romfile='],
            stdin=subprocess.DEVNULL, stdout=open(self.console, 'wb'), stderr=subprocess.STDOUT)
        while True:
            text = open(self.console, errors='replace').read()
            if 'ready after' in text:
                break
            if self.process.poll() is not None or time.monotonic() > self.deadline:
                fail('the VM does not start:\n' + text[-3000:])
            time.sleep(0.1)
        print(f'VM: {re.search("ready after.*", text).group(0).strip()}', flush=True)

    def starved_s(self):
        """How long the VM's threads have waited for a CPU of this machine, in all."""
        delay_ns = 0
        for task in os.listdir(f'/proc/{self.process.pid}/task'):
            try:
                delay_ns += int(open(f'/proc/{self.process.pid}/task/{task}/schedstat').read().split()[1])
            except OSError:
                pass  # the thread has ended
        return delay_ns / 1e9

    def left(self):
        return max(1.0, self.deadline - time.monotonic())

    def execute(self, script, seconds=60):
        """Output and status of a shell script in the VM."""
        started = time.monotonic()
        while True:
            try:
                connection = socket.create_connection((GUEST, COMMANDS), timeout=min(seconds, self.left()))
                break
            except OSError:
                if time.monotonic() - started > 20:
                    fail('the VM does not answer:\n' + open(self.console, errors='replace').read()[-3000:])
                time.sleep(0.1)
        with connection:
            connection.sendall(f'( {script}\n) 2>&1\necho "status $?"\n'.encode())
            connection.shutdown(socket.SHUT_WR)
            output = b''
            try:
                while part := connection.recv(65536):
                    output += part
            except TimeoutError:
                return output.decode(errors='replace') + '\n(no end within the time)', 124
        text = output.decode(errors='replace')
        found = re.search(r'status (\d+)\s*$', text)
        return (text[:found.start()], int(found.group(1))) if found else (text, 125)

    def stop(self):
        self.process.kill()
        self.process.wait()
