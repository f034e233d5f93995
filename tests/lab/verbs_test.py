#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""usage: verbs_test.py MRC_LAB CASE: unmodified verbs programs over a fabric."""
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading

from lab import Lab, check, equal, route, wait_until

PORT = 21000


def listens(lab, host, port):
    """Whether somebody does, by TCP or by rdma_cm; the run directory of the host tells of the latter."""
    listener = os.path.join(lab.environment['MRC_LAB_DIR'], 't', host, 'run', f'cm.0106.{port}')
    try:
        with open(listener, encoding='ascii') as file:
            if file.read().split()[2:3] == ['1']:
                return True
    except OSError:
        pass
    tables = lab.execute(host, 'cat', '/proc/net/tcp', '/proc/net/tcp6').stdout
    return any(line.split()[1].endswith(f':{port:04X}') and line.split()[3] == '0A'
               for line in tables.splitlines() if line.strip()[:1].isdigit())


def said_by(server):
    """What a server said that has ended or is ended now."""
    try:
        return server.communicate(timeout=5)[0]
    except subprocess.TimeoutExpired:
        server.kill()
        return server.communicate()[0]


def pair(lab, words, port_option='-p', server_words=(), client_words=(), environment=(), seconds=90):
    """Runs a server on h2 and a client on h1; gives the client's output."""
    global PORT
    PORT += 1
    words = ['env', *environment, *words, port_option, str(PORT)]
    what = ' '.join(words)
    server = lab.start('exec', 'h2', '--', *words, *server_words)

    def is_ready():
        if server.poll() is not None:
            sys.exit(f'FAILED: {what}: the server ended with status {server.poll()} before its client came:\n'
                     + said_by(server))
        return listens(lab, 'h2', PORT)

    wait_until(is_ready, f'{what}: the server listens')
    client = lab.execute('h1', *words, *client_words, 'h2', timeout=seconds)
    if client.returncode != 0:
        sys.exit(f'FAILED: {what}: status of the client {client.returncode}, expected 0\n{client.stdout}'
                 f'---- the server:\n{said_by(server)}---- the fabric:\n{lab.call("status").stdout}')
    said = server.communicate(timeout=60)[0]
    check(server.returncode == 0, f'{what}: status of the server {server.returncode}, expected 0\n{said}')
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
    equal(len(before), 16, f'number of spines that are counted: {before}')
    pair(lab, ['ib_write_bw', '-d', 'mrc0', '-F', '-s', '65536', '-n', '500'])
    passed = {name: frames - before[name] for name, frames in spine_frames(lab).items()}
    check(min(passed.values()) > 20, f'frames of one QP by each spine: {passed}, expected more than 20 by each')
    for tool in ('ib_read_bw', 'ib_send_bw', 'ib_atomic_bw'):
        pair(lab, [tool, '-d', 'mrc0', '-F', '-n', '200'])
    for tool in ('ib_write_lat', 'ib_read_lat', 'ib_send_lat', 'ib_atomic_lat'):
        pair(lab, [tool, '-d', 'mrc0', '-F', '-n', '200'])
    pair(lab, ['ibv_rc_pingpong', '-d', 'mrc0', '-g', '0', '-n', '200'])
    check_bytes(lab, program)


def case_host_list(program):
    """The list of hosts that all of them share: as ranges, and when there is something wrong with it."""
    lab = Lab(program, '--hosts', '2', '--planes', '2', '--leaves', '2', '--spines', '2')
    shared = os.path.join(lab.environment['MRC_LAB_DIR'], 't', 'hosts.toml')
    with open(shared, encoding='utf-8') as file:
        equal(file.read().count('[[host]]'), 2, 'hosts in the list')

    def replace(text):
        with open(shared + '.new', 'w', encoding='utf-8') as file:
            file.write(text)
        os.rename(shared + '.new', shared)

    replace(''.join(f'[[hosts]]\ncount = 1\ngids = ["10.77.0.{host + 1}"]\nleaf = {host}\nhost = {host}\nhosts_per_leaf = 1\n'
                    for host in range(2)))
    before = spine_frames(lab)
    pair(lab, ['ib_write_bw', '-d', 'mrc0', '-F', '-s', '65536', '-n', '200'])
    passed = {name: frames - before[name] for name, frames in spine_frames(lab).items()}
    check(min(passed.values()) > 20, f'frames of one QP by each spine: {passed}, expected more than 20 by each')
    for text, wanted in (('[[hosts]]\ncount = 1\n', 'hosts.toml:1: "gids" is missing'),
                         ('[[host]]\ngids = ["10.9.0.1"]\nleaf = 0\nhost = 0\n',
                          'no [[host]] or [[hosts]] has an address of this host')):
        replace(text)
        said = lab.execute('h1', 'ibv_rc_pingpong', '-d', 'mrc0', '-g', '0', 'h2').stdout
        check(wanted in said, f'with {text!r} the program says {said!r}, expected {wanted!r}')


def rping_server(lab, port):
    """Returns when it listens."""
    server = lab.start('exec', 'h2', '--', 'rping', '-s', '-a', '10.77.0.2', '-p', str(port), '-C', '5')

    def is_ready():
        if server.poll() is not None:
            sys.exit(f'FAILED: rping -s ended with status {server.poll()} before its client came:\n{said_by(server)}')
        return listens(lab, 'h2', port)

    wait_until(is_ready, f'rping -s -p {port} listens')
    return server


def case_programs(program):
    """The other transports, and connections by rdma_cm, also of several processes of a host at a time."""
    lab = Lab(program, '--hosts', '2', '--planes', '2', '--leaves', '2', '--spines', '2')
    for tool in ('ibv_ud_pingpong', 'ibv_uc_pingpong', 'ibv_srq_pingpong'):
        pair(lab, [tool, '-d', 'mrc0', '-g', '0', '-n', '100'])
    pair(lab, ['ib_write_bw', '-d', 'mrc0', '-F', '-R', '-n', '100'])
    pair(lab, ['ib_send_lat', '-d', 'mrc0', '-F', '-R', '-n', '100'])
    # Every process of h2 hears what comes to the host's QP 1, and only the one that is meant may answer.
    servers = {port: rping_server(lab, port) for port in (7001, 7002, 7003)}
    # While there is somebody to say no: a host without any process is silent, and that takes a minute to notice.
    refused = lab.execute('h1', 'rping', '-c', '-a', '10.77.0.2', '-p', '7004', '-C', '1', timeout=90)
    check(refused.returncode != 0 and 'REJECTED, error 8' in refused.stdout,
          f'rping to a port where nobody listens: status {refused.returncode}, expected REJECTED, error 8: {refused.stdout}')
    for port, server in servers.items():
        client = lab.execute('h1', 'rping', '-c', '-v', '-a', '10.77.0.2', '-p', str(port), '-C', '5', timeout=90)
        said = said_by(server)
        check(client.returncode == 0 and 'rdma-ping-4' in client.stdout,
              f'rping to port {port}: status {client.returncode}, expected 0 and rdma-ping-4\n{client.stdout}'
              f'---- the server:\n{said}')


class Capture:
    """tcpdump in one spine, until it has seen some packets."""
    FRAMES = 10
    PCAP_HEADER, RECORD_HEADER, COOKED_HEADER, IPV6, UDP = 24, 16, 20, 40, 8

    def __init__(self, lab, spine):
        self.spine = spine
        self.file = os.path.join(lab.directory, spine + '.pcap')
        self.process = lab.start('exec', spine, '--', 'tcpdump', '-Z', 'root', '-n', '-U', '-y', 'LINUX_SLL2', '-i', 'any',
                                 '-s', '200', '-c', str(self.FRAMES), '-w', self.file,
                                 'ip6 and (ip6[6] == 4 or ip6[6] == 41) and greater 2000')
        line = ' '
        while line and 'listening on' not in line:
            line = self.process.stdout.readline()
        if not line:
            sys.exit(f'FAILED: tcpdump in {spine} ended with status {self.process.wait(60)} and never listened')

    def packets(self):
        """(uSID list left, UDP destination port, destination QP number) of each."""
        try:
            said = self.process.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:
            self.process.terminate()
            sys.exit(f'FAILED: {self.spine}: fewer than {self.FRAMES} data packets captured after 60 s; tcpdump: '
                     + self.process.communicate()[0])
        equal(self.process.returncode, 0, f'status of tcpdump in {self.spine}, which says {said}')
        with open(self.file, 'rb') as file:
            data = file.read()
        found, at = [], self.PCAP_HEADER
        while at < len(data):
            length = int.from_bytes(data[at + 8:at + 12], sys.byteorder)
            outer = at + self.RECORD_HEADER + self.COOKED_HEADER
            at += self.RECORD_HEADER + length
            inner = outer + self.IPV6
            is_v4 = data[inner] >> 4 == 4
            udp = inner + (20 if is_v4 else self.IPV6)
            bth = udp + self.UDP
            found.append((socket.inet_ntop(socket.AF_INET6, data[outer + 24:outer + 40]),
                          int.from_bytes(data[udp + 2:udp + 4], 'big'), int.from_bytes(data[bth + 5:bth + 8], 'big')))
        return found


def case_capture(program):
    """tcpdump in every spine of every plane sees uSID-routed MRC packets of one and the same QP."""
    if subprocess.run(['tcpdump', '--version'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        sys.exit('FAILED: tcpdump does not run')
    lab = Lab(program, '--hosts', '2', '--planes', '4', '--leaves', '2', '--spines', '4')
    captures = {(plane, spine): Capture(lab, f'p{plane}s{spine}') for plane in range(1, 5) for spine in range(1, 5)}
    said = pair(lab, ['ib_write_bw', '-d', 'mrc0', '-F', '-s', '65536', '-n', '500'])
    queue_pair = int(said.split('remote address:')[1].split('QPN ')[1].split()[0], 16)
    for (plane, spine), capture in captures.items():
        p = plane - 1 << 8
        # Before the spine has looked at it, and after: its own uSID is shifted out.
        behind = f'{0x2001 + p:x}:{0x9001 + p:x}::'
        routes = {f'fcbb:bbbb:{0x1000 + p + spine - 1:x}:{behind}', f'fcbb:bbbb:{behind}'}
        packets = capture.packets()
        equal({(port, number) for _, port, number in packets}, {(4791, queue_pair)},
              f'UDP port and destination QP of the packets in {capture.spine}')
        check({where for where, _, _ in packets} <= routes,
              f'{capture.spine}: routes {[where for where, _, _ in packets]}, expected {routes}')


class LeafCapture:
    """tcpdump on an interface of a leaf, whole frames, until it has seen so many."""

    def __init__(self, lab, leaf, interface, frames):
        self.file = os.path.join(lab.directory, f'{leaf}{interface}.pcap')
        self.process = lab.start('exec', leaf, '--', 'tcpdump', '-Z', 'root', '-n', '-U', '-i', interface, '-s', '0',
                                 '-B', '65536', '-c', str(frames), '-w', self.file, 'ip6')
        line = ' '
        while line and 'listening on' not in line:
            line = self.process.stdout.readline()

    def wait(self):
        try:
            said = self.process.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:
            self.process.terminate()
            sys.exit(f'FAILED: {self.file}: too few frames captured after 60 s; tcpdump: ' + self.process.communicate()[0])
        equal(self.process.returncode, 0, f'status of tcpdump, which says {said}')


def case_dissector(program):
    """Wireshark's dissector reads every packet of a fabric that loses, marks and trims, as our own decoder does."""
    # tests/wireshark is a room of its own.
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'wireshark'))
    from decoded import compare, notes_in  # pylint: disable=import-outside-toplevel
    lab = Lab(program, '--planes', '2', '--spines', '2').needs_bpf()
    # On all paths of the plane, or those that are trimmed would be left out, and too few trims seen.
    lab.fault('paths loss 2%, all ce 5%, p1l1:p1s1 trim 10%, p1l1:p1s2 trim 10%, p1s1:p1l2 trim 5%')
    captures = [LeafCapture(lab, f'p1l{number}', f'h{number}', 600) for number in (1, 2)]
    for tool in ('ib_atomic_bw', 'ib_send_bw', 'ib_read_bw', 'ib_write_bw'):
        pair(lab, [tool, '-d', 'mrc0', '-F', '-n', '60'] + ([] if 'atomic' in tool else ['-s', '16384']))
    # Losses and trims decide how much passes a leaf.
    for _ in range(10):
        if any(capture.process.poll() is None for capture in captures):
            pair(lab, ['ib_write_bw', '-d', 'mrc0', '-F', '-n', '200', '-s', '16384'])
    fields = os.path.join(os.path.dirname(program), 'packet_fields')
    opcodes = set()
    for capture in captures:
        capture.wait()
        frames = compare(fields, capture.file)
        mrc = [frame for frame in frames if frame]
        check(len(mrc) > 400, f'{capture.file}: {len(mrc)} of {len(frames)} frames are MRC, expected more than 400')
        equal({frame['mrc.srv6'] for frame in mrc}, {1}, f'{capture.file}: SRv6')
        equal([frame for frame in mrc if frame.get('mrc.icrc.status', 1) != 1], [], f'{capture.file}: frames without a good ICRC')
        opcodes |= {frame['mrc.bth.opcode'] for frame in mrc}
    # Atomics, their answers, SENDs, WRITEs or READs, and feedback: which of the last tools is seen depends on the count.
    check({0xDC, 0xD1} < opcodes and len(opcodes) >= 6, f'opcodes {[hex(code) for code in sorted(opcodes)]}')
    notes = [notes_in(capture.file, 'trim', 'mark', 'gap', 'retransmission') for capture in captures]
    for note in notes[0]:
        check(any(seen[note] for seen in notes), f'no frame has the note "{note}"')


class Silence:
    """tcpdump in one spine that shall not see one encapsulated packet."""

    def __init__(self, lab, spine):
        self.spine = spine
        self.process = lab.start('exec', spine, '--', 'tcpdump', '-Z', 'root', '-n', '-l', '-i', 'any', '-c', '1',
                                 'ip6 and (ip6[6] == 4 or ip6[6] == 41)')
        line = ' '
        while line and 'listening on' not in line:
            line = self.process.stdout.readline()

    def holds(self):
        heard = self.process.poll() is not None
        self.process.terminate()
        said = self.process.communicate(timeout=60)[0]
        check(not heard, f'{self.spine} forwards a packet, and no path leads through it: {said}')


def case_ev_profile(program):
    """Two strict MRC peers with an explicit profile, written by a controller that has ended: just those paths are used."""
    lab = Lab(program, '--hosts', '2', '--planes', '4', '--leaves', '2', '--spines', '4')
    binaries = os.path.dirname(program)
    used = [(1, 2), (1, 4), (3, 1), (3, 3)]  # plane and spine
    for host, leaf, other, peer in (('h1', 1, 2, 2), ('h2', 2, 1, 1)):
        evs = [f'{plane}={route(plane, spine, source_leaf=leaf, leaf=other, host=peer)}' for plane, spine in used]
        wrote = lab.execute(host, os.path.join(binaries, 'ev_controller'), '5', *evs)
        equal(wrote.returncode, 0, f'status of the controller on {host}, which says {wrote.stdout}')
    captures = {spine: Capture(lab, f'p{spine[0]}s{spine[1]}') for spine in used}
    silent = [Silence(lab, f'p{plane}s{spine}') for plane in range(1, 5) for spine in range(1, 5)
              if (plane, spine) not in used]
    said = pair(lab, [os.path.join(binaries, 'mrc_perf'), '--op', 'write_imm', '-n', '300', '--ev-profile', '5'])
    check(' 65536 ' in said, f'mrc_perf says {said}')
    for capture in captures.values():
        equal({port for _, port, _ in capture.packets()}, {4791}, f'UDP port of the packets in {capture.spine}')
    for spine in silent:
        spine.holds()


def case_trimming(program):
    """A switch trims, the receiver says so, the sender repeats; every byte arrives."""
    lab = Lab(program, '--planes', '2', '--spines', '2').needs_bpf()
    lab.fault('p1l1:p1s1 trim 5%, p2s1:p2l2 trim 5%, p1l2:h2 trim 2%')
    check_bytes(lab, program)
    for direction in ('p1l1:p1s1', 'p2s1:p2l2', 'p1l2:h2'):
        counts = lab.direction(direction)
        check(counts['trimmed'] > 0, f'{direction}: frames trimmed, expected some: {counts}')


def case_lossy(program):
    """Loss, marks, a dead plane and a dead spine under write_check."""
    lab = Lab(program, '--planes', '2', '--spines', '2').needs_bpf()
    lab.fault('paths loss 1%, all ce 5%, at 3s plane1 down, at 4s plane1 up, at 5s p2s1 blackhole, at 6s p2s1 up')
    check_bytes(lab, program, 5)


def case_no_bpf(program):
    """Where the kernel takes no BPF programs there still is a fabric, and mrc_lab says what is missing."""
    os.environ['MRC_LAB_NO_BPF'] = '1'
    lab = Lab(program, '--hosts', '2', '--planes', '4', '--leaves', '2', '--spines', '4')
    check('missing: loss' in lab.greeting, f'up says "{lab.greeting}", expected "missing: loss" in it')
    refused = lab.call('fault', 'p1s1', 'blackhole')
    check(refused.returncode == 1 and 'not possible in this lab' in refused.stdout,
          f'fault blackhole: status {refused.returncode}, expected 1, and says "{refused.stdout}"')
    before = spine_frames(lab)
    pair(lab, ['ib_write_bw', '-d', 'mrc0', '-F', '-s', '65536', '-n', '200'])
    passed = {name: frames - before[name] for name, frames in spine_frames(lab).items()}
    check(min(passed.values()) > 20, f'frames of one QP by each spine: {passed}, expected more than 20 by each')
    lab.end()
    run_experiment(program, 'nic_flap')


def case_experiment(program):
    """The form of what an experiment says; its numbers are for machines with nothing else to do."""
    lab = Lab(program, '--planes', '1', '--spines', '1').needs_bpf()
    lab.end()
    page = os.path.join(os.path.dirname(os.path.dirname(program)), 'pages', 'lab.html')
    os.makedirs(os.path.dirname(page), exist_ok=True)
    run_experiment(program, 'spine_dead', '--html', page)
    with open(page, encoding='utf-8') as file:
        text = file.read()
    for words in ('<h2>The machine</h2>', "<h2 id='spine_dead'>", '<polyline', 'wrong or lost byte', '</html>'):
        check(words in text, f'{page} has no "{words}"')
    refused = subprocess.run([program, 'experiment', 'spine_dead', '--html', '/nowhere/page.html'], text=True, timeout=60,
                             capture_output=True)
    check(refused.returncode == 1 and 'cannot write /nowhere/page.html' in refused.stderr,
          f'a page that cannot be written: status {refused.returncode}, expected 1 at once: {refused.stderr}')


class Terminal:
    """A terminal for somebody's stderr; `shown` is what was written to it, once end() was called."""

    def __init__(self):
        self.ours, self.theirs = os.openpty()
        self.shown = ''
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        try:
            while part := os.read(self.ours, 4096):
                self.shown += part.decode()
        except OSError:  # the last writer has gone
            pass

    def end(self):
        os.close(self.theirs)
        self.reader.join()
        os.close(self.ours)


def run_experiment(program, name, *words):
    directory = tempfile.mkdtemp(prefix='mrclab-')
    terminal = Terminal()
    try:
        try:
            done = subprocess.run([program, 'experiment', name, '--json', '--output', directory, *words],
                                  text=True, timeout=200, stdout=subprocess.PIPE, stderr=terminal.theirs)
        finally:
            terminal.end()
        check(f'\rexperiment {name}, 0:' in terminal.shown,
              f'the terminal shows "{terminal.shown}", expected how far the experiment is')
        found = json.loads(done.stdout)
        equal(found['experiment'], name, 'name of the experiment')
        check(len(found['rows']) >= 5, f'rows of {name}, expected 5 at least: {done.stdout}')
        for row in found['rows']:
            equal(set(row), {'name', 'value', 'target', 'ok'}, f'keys of the row {row}')
            # Whether bytes and completions are right does not depend on how busy the machine is.
            check(row['target'] != 0 or row['ok'], f'{name}: {row}, expected 0; all rows: {done.stdout}')
        with open(f'{directory}/{name}.svg', encoding='utf-8') as picture:
            check('<polyline' in picture.read(), f'{name}.svg has no curve')
    finally:
        subprocess.run(['rm', '-rf', directory])


if __name__ == '__main__':
    globals()['case_' + sys.argv[2]](sys.argv[1])
    print('passed')
