#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""mrcd and users who want too much: quotas, mounts of the caller's own, nobody else who can be made to wait.

mrcd_test.py MRCD"""
import array
import multiprocessing
import os
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time

LIMIT = 20
NOBODY, SOMEBODY = 65534, 12345
SKIPPED = 77
failures = []


def check(condition, text):
    if not condition:
        failures.append(text)
        print('FAILED:', text, flush=True)


def ask(path):
    """The error of mrcd's answer, and the descriptors: the device and the mount."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.settimeout(10)
        connection.connect(path)
        fds = array.array('i')
        message, control, _, _ = connection.recvmsg(64, socket.CMSG_SPACE(2 * fds.itemsize))
        for level, kind, data in control:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds.frombytes(data[:len(data) - len(data) % fds.itemsize])
        return struct.unpack_from('=Ii', message)[1], list(fds)


def as_user(user, function, *words):
    """What the function says in a process of that user."""
    def run(pipe):
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        pipe.send(function(*words))
        pipe.recv()
    here, there = multiprocessing.Pipe()
    process = multiprocessing.Process(target=run, args=(there,), daemon=True)
    process.start()
    if not here.poll(60):
        process.kill()
        return None, here, process
    return here.recv(), here, process


def end(pipe, process):
    pipe.send('end')
    process.join()


def take_all(path, count):
    held = []
    refused = 0
    for _ in range(count):
        error, fds = ask(path)
        if fds:
            held.append(fds)
        else:
            refused += 1
    globals()['kept'] = held
    return len(held), refused, error, os.getpid(), held[0][1] if held else -1


def main():
    if os.geteuid() != 0 or not os.path.exists('/dev/fuse'):
        print('SKIPPED: takes root and /dev/fuse')
        return SKIPPED
    scratch = tempfile.mkdtemp(prefix='mrcd-')
    os.chmod(scratch, 0o755)
    path = scratch + '/d/broker'
    daemon = subprocess.Popen([sys.argv[1], '--limit', str(LIMIT), path], stdout=subprocess.PIPE, text=True)
    try:
        if 'listening' not in daemon.stdout.readline():
            print('SKIPPED: mrcd cannot mount here')
            return SKIPPED
        check(stat.S_IMODE(os.stat(path).st_mode) == 0o666, 'the socket is not for everybody')
        check(stat.S_IMODE(os.stat(scratch + '/d').st_mode) & 0o022 == 0, 'others may write to its directory')

        (held, refused, error, pid, mount), pipe, process = as_user(NOBODY, take_all, path, 3 * LIMIT)
        check(held == LIMIT and refused == 2 * LIMIT, f'a user has {held} mounts, {refused} were refused')
        check(error == 122, f'not EDQUOT but {error}')

        # Nobody serves that mount, and even root does not wait for it.
        begin = time.monotonic()
        done = subprocess.run(['timeout', '10', 'cat', f'/proc/{pid}/fd/{mount}'], capture_output=True)
        check(done.returncode == 1, f'root opens the mount of a user: {done}')
        done = subprocess.run(['timeout', '10', 'stat', '-L', f'/proc/{pid}/fd/{mount}'], capture_output=True)
        check(done.returncode != 124, f'root hangs in stat: {done}')
        check(time.monotonic() - begin < 9, 'root waits for a mount of a user')

        # Another user is served all the same.
        (other, refused, _, _, _), other_pipe, other_process = as_user(SOMEBODY, take_all, path, 3)
        check((other, refused) == (3, 0), 'another user is not served')
        end(other_pipe, other_process)

        # With the process the mounts go, and their places are free.
        process.kill()
        process.join()
        # The kernel takes its time with that on a busy machine.
        until = time.monotonic() + 10
        while True:
            (held, refused, _, _, _), pipe, process = as_user(NOBODY, take_all, path, LIMIT)
            if (held, refused) == (LIMIT, 0) or time.monotonic() > until:
                break
            process.kill()
            process.join()
        check((held, refused) == (LIMIT, 0), f'mounts of the dead still count: {held} given')
        end(pipe, process)

        # Names that are not its own are left alone.
        daemon.terminate()
        check(daemon.wait(10) == 0, 'mrcd does not end well')
        check(not os.path.exists(path), 'the socket is left behind')
        with open(path, 'w', encoding='utf-8') as file:
            file.write('precious')
        done = subprocess.run([sys.argv[1], path], capture_output=True, text=True, timeout=20)
        check(done.returncode == 1, 'mrcd takes the name of a file')
        check(open(path, encoding='utf-8').read() == 'precious', 'mrcd removes a file')
        os.chmod(scratch + '/d', 0o777)
        done = subprocess.run([sys.argv[1], scratch + '/d/x'], capture_output=True, text=True, timeout=20)
        check(done.returncode == 1 and 'others can write' in done.stderr, 'mrcd listens where others can write')
    finally:
        if daemon.poll() is None:
            daemon.kill()
        subprocess.run(['rm', '-rf', scratch], check=False)
    return 1 if failures else 0


sys.exit(main())
