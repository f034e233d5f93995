#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""usage: metrics_test.py BUILD CASE: what the device counts, where tools look for it."""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

BUILD, CASE = os.path.abspath(sys.argv[1]), sys.argv[2]
HERE = os.path.dirname(os.path.abspath(__file__))
DASHBOARD = os.path.join(HERE, '..', '..', 'examples', 'grafana', 'mrc.json')
ITERATIONS, BYTES = 500, 65536
PORT = 30000 + os.getpid() % 6000


def check(condition, what):
    if not condition:
        sys.exit(f'FAILED: {what}')


def program(name):
    return os.path.join(BUILD, 'bin', name)


def run(environment, *words, seconds=90):
    return subprocess.run(words, env=environment, text=True, timeout=seconds, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def is_listening(port):
    text = ''
    for table in ('tcp', 'tcp6'):
        with open('/proc/net/' + table, encoding='ascii') as file:
            text += file.read()
    return re.search(rf':{port:04X} \S+ 0A', text) is not None


def wait_until(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < end, f'{what}: not so after {seconds} s')
        time.sleep(0.05)


def write_some(environment, device='mrc0'):
    """Sends ITERATIONS messages of BYTES from one process to another; both end."""
    words = [program('mrcrun'), 'ib_write_bw', '-d', device, '-F', '-s', str(BYTES), '-n', str(ITERATIONS), '-p', str(PORT)]
    with subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        wait_until(lambda: is_listening(PORT), 'ib_write_bw listens')
        done = run(environment, *words, 'localhost')
        check(done.returncode == 0, f'ib_write_bw: status {done.returncode}, expected 0: {done.stdout}{done.stderr}')
        check(server.wait(60) == 0, 'the server of ib_write_bw')


def parse_openmetrics(text):
    """Values by sample; ends the test where the text is not what OpenMetrics 1.0 wants."""
    check(text.endswith('# EOF\n'), 'the text does not end with # EOF')
    types, helped, samples, family = {}, set(), {}, None
    for line in text.splitlines()[:-1]:
        head = re.fullmatch(r'# (TYPE|HELP) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)', line)
        if head:
            word, name, rest = head.groups()
            check(word == 'HELP' or name not in types, f'{name} has two types')
            check(word == 'HELP' or rest in ('counter', 'gauge'), f'type {rest}')
            check(word == 'TYPE' or (name == family and name not in helped), f'HELP of {name} in the wrong place')
            if word == 'TYPE':
                types[name], family = rest, name
            else:
                helped.add(name)
            continue
        found = re.fullmatch(r'([a-zA-Z_:][a-zA-Z0-9_:]*)\{device="((?:[^"\\\n]|\\.)*)"\} (\d+)', line)
        check(found and family, f'no sample: {line!r}')
        name, device, value = found.groups()
        check(name == family + ('_total' if types[family] == 'counter' else ''), f'{name} among those of {family}')
        check((name, device) not in samples, f'{name} of {device} twice')
        samples[name, device] = int(value)
    check(set(types) == helped and len(types) > 40, f'{len(types)} metrics, {len(helped)} with help')
    return samples


def case_export(environment, folder):
    """Both ends are counted after they have ended, and never less than before."""
    del folder
    totals = []
    for round_number in (1, 2):
        write_some(environment)
        done = run(environment, program('mrcctl'), 'export')
        check(done.returncode == 0, f'mrcctl export: status {done.returncode}, expected 0: {done.stderr}')
        samples = parse_openmetrics(done.stdout)
        for name in ('mrc_payload_bytes_sent_total', 'mrc_payload_bytes_placed_total'):
            value = samples[name, 'mrc0']
            least = round_number * ITERATIONS * BYTES
            check(least <= value < least * 1.1, f'{name} is {value}, expected {least} and little more')
        check(samples['mrc_processes', 'mrc0'] == 0, 'processes after all have ended')
        check(not totals or all(samples[key] >= totals[key] for key in totals if key[0].endswith('_total')), 'a total has shrunk')
        totals = samples


def case_tree(environment, folder):
    """The port's counters in the class tree, with the names of IBTA, soft-RoCE and EFA."""
    del folder
    show = 'cd $SYSFS_PATH/class/infiniband/mrc0/ports/1 && grep -H . counters/* hw_counters/*'
    check(run(environment, program('mrcrun'), 'sh', '-c', show).stdout.count(':0\n') > 30, 'all counters are there from the start')
    write_some(environment)
    done = run(environment, program('mrcrun'), 'sh', '-c', show)
    values = {name: int(value) for name, value in (line.split(':') for line in done.stdout.splitlines())}
    words = ITERATIONS * BYTES // 4
    for name in ('counters/port_xmit_data', 'counters/port_rcv_data'):
        check(words <= values[name] < words * 1.1, f'{name} is {values[name]}, expected {words} and little more')
    for name in ('counters/port_xmit_packets', 'counters/port_rcv_packets', 'hw_counters/sent_pkts', 'hw_counters/tx_bytes',
                 'hw_counters/mrc_sacks_sent'):
        check(values[name] > 0, f'{name} is 0')
    for name in ('retrans_pkts', 'impaired_remote_conn_events', 'unresponsive_remote_events', 'retry_exceeded_err', 'duplicate_request'):
        check('hw_counters/' + name in values, f'there is no {name}')


def case_node_exporter(environment, folder):
    """Debian's prometheus-node-exporter, as it is, under mrcrun --view, while a program runs."""
    if run(environment, program('mrcrun'), '--view', 'true').returncode != 0:
        print('skipped: no view of /sys/class here')
        sys.exit(77)
    settings = os.path.join(folder, 'mrc.toml')
    with open(settings, 'w', encoding='ascii') as file:
        file.write('[[device]]\nplanes = 2\n[[device]]\nplanes = 2\n')
    environment = dict(environment, MRC_CONFIG=settings)
    for device in ('mrc0', 'mrc1'):
        write_some(environment, device)
    port = PORT + 1
    words = [program('mrcrun'), '--view', 'prometheus-node-exporter', '--collector.disable-defaults', '--collector.infiniband',
             f'--web.listen-address=127.0.0.1:{port}']
    with subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as exporter:
        try:
            wait_until(lambda: is_listening(port) or exporter.poll() is not None, 'the exporter listens')
            sent = 'node_infiniband_port_data_transmitted_bytes_total'
            before = {}
            for device in ('mrc0', 'mrc1'):
                values = scrape(port, device)
                before[device] = values[sent]
                check(values[sent] >= ITERATIONS * BYTES, f'{device}, bytes transmitted: {values[sent]}, expected {ITERATIONS * BYTES}')
                check(values['node_infiniband_port_data_received_bytes_total'] > 0, f'{device}: no bytes received')
            write_some(environment, 'mrc1')
            after = scrape(port, 'mrc1')[sent]
            check(after >= before['mrc1'] + ITERATIONS * BYTES, f'mrc1, bytes transmitted: {before["mrc1"]}, and then {after}')
            check(scrape(port, 'mrc0')[sent] == before['mrc0'], 'mrc0 counts what mrc1 does')
        finally:
            exporter.terminate()


def fetch(port, path='/metrics'):
    with urllib.request.urlopen(f'http://127.0.0.1:{port}{path}', timeout=30) as answer:
        return answer.headers['Content-Type'], answer.read().decode()


def scrape(port, device):
    """Of port 1 of a device."""
    text = fetch(port)[1]
    found = dict(re.findall(rf'^(node_infiniband_\w+)\{{device="{device}",port="1"\}} (\S+)$', text, re.MULTILINE))
    check(found, f'nothing of {device}: {text[:500]}')
    return {name: float(value) for name, value in found.items()}


def speak_slowly(connection):
    try:
        for _ in range(100):
            connection.sendall(b'G')
            time.sleep(1)
    except OSError:
        pass  # it is not listened to any more


def case_http(environment, folder):
    """mrcd serves the same, to this host."""
    write_some(environment)
    port = PORT + 1
    settings = os.path.join(folder, 'mrc.toml')
    with open(settings, 'w', encoding='ascii') as file:
        file.write(f'[mrcd]\nmetrics_port = {port}\n')
    served = dict(environment, MRC_CONFIG=settings)
    with subprocess.Popen([program('mrcd'), os.path.join(folder, 'broker')], env=served, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as daemon:
        try:
            wait_until(lambda: is_listening(port) or daemon.poll() is not None, 'mrcd listens')
            if daemon.poll() is not None and 'FUSE' in daemon.stdout.read():
                print('skipped: mrcd does not run without FUSE')
                sys.exit(77)
            kind, text = fetch(port)
            check(kind.startswith('application/openmetrics-text'), f'Content-Type {kind}')
            check(parse_openmetrics(text)['mrc_payload_bytes_sent_total', 'mrc0'] >= ITERATIONS * BYTES, 'bytes sent')
            check(text == run(environment, program('mrcctl'), 'export').stdout, 'mrcd and mrcctl export differ')
            try:
                fetch(port, '/other')
                check(False, '/other is there')
            except urllib.error.HTTPError as error:
                check(error.code == 404, f'status of /other: {error.code}, expected 404')
            # Nonsense, and a client that says nothing: the next one is served all the same.
            with socket.create_connection(('127.0.0.1', port), timeout=30) as silent, \
                    socket.create_connection(('127.0.0.1', port), timeout=30) as rude:
                rude.sendall(b'\0\1\2\r\n\r\n')
                check(rude.recv(100).startswith(b'HTTP/1.1 405 '), 'nonsense gets no 405')
                del silent
            # Nor does one that speaks a byte at a time keep it to itself.
            with socket.create_connection(('127.0.0.1', port), timeout=30) as slow:
                waiting = threading.Thread(target=speak_slowly, args=(slow,))
                waiting.start()
                fetch(port)  # within 30 s; the slow one would take 100
                waiting.join()  # it has been hung up on
        finally:
            daemon.terminate()


def case_dashboard(environment, folder):
    """Every metric of the dashboard is one that is exported."""
    del folder
    with open(DASHBOARD, encoding='utf-8') as file:
        dashboard = json.load(file)
    write_some(environment)
    known = {name for name, _ in parse_openmetrics(run(environment, program('mrcctl'), 'export').stdout)}
    asked = [target['expr'] for panel in dashboard['panels'] for target in panel['targets']]
    check(len(asked) > 20, f'{len(asked)} queries')
    for query in asked:
        names = set(re.findall(r'\bmrc_\w+', query))
        check(names and names <= known, f'{names - known} of "{query}" is not exported')


def main():
    folder = tempfile.mkdtemp(prefix='mrc-metrics-')
    run_directory = tempfile.mkdtemp(prefix='mrc-run-')
    try:
        globals()['case_' + CASE](dict(os.environ, MRC_RUNDIR=run_directory), folder)
    finally:
        shutil.rmtree(folder)
        shutil.rmtree(run_directory)


main()
