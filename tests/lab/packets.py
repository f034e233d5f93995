#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Raw MRC-like packets over a fabric of mrc_lab, for tests that need no device.

send INTERFACE GATEWAY_MAC DESTINATION COUNT BYTES TRAFFIC_CLASS   IPv6-in-IPv6, outer destination a uSID list
receive INTERFACE COUNT    says "ready"; ends when so many came, or when it was told (a line of input) that all are sent
                           and then nothing came for a second; prints JSON: the count of each kind and destination
"""
import collections
import json
import select
import socket
import struct
import sys
import time

ETHERNET, IPV6, UDP = 14, 40, 8
ROCE_PORT = 4791
ECT0, CE = 2, 3
QUIET_SECONDS = 1
TOTAL_SECONDS = 60


def ipv6_header(traffic_class, payload_bytes, next_header, source, destination):
    return struct.pack('!IHBB', 6 << 28 | traffic_class << 20, payload_bytes, next_header, 64) + \
        socket.inet_pton(socket.AF_INET6, source) + socket.inet_pton(socket.AF_INET6, destination)


def make_frame(own_mac, gateway_mac, destination, frame_bytes, traffic_class):
    payload = bytes(frame_bytes - ETHERNET - 2 * IPV6 - UDP)
    udp = struct.pack('!HHHH', 0xC000, ROCE_PORT, UDP + len(payload), 0) + payload
    inner = ipv6_header(traffic_class, len(udp), 17, 'fd00:1:1::1', 'fd00:1:2::1') + udp
    outer = ipv6_header(traffic_class, len(inner), 41, 'fcbb:bbbb:9000::', destination) + inner
    return bytes.fromhex(gateway_mac.replace(':', '')) + own_mac + b'\x86\xdd' + outer


def send(interface, gateway_mac, destination, count, frame_bytes, traffic_class):
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    raw.bind((interface, 0))
    own_mac = raw.getsockname()[4]
    frame = make_frame(own_mac, gateway_mac, destination, int(frame_bytes), int(traffic_class, 0))
    for number in range(int(count)):
        raw.send(frame)
        if number % 16 == 15:
            time.sleep(0.001)  # the kernel's queue between two namespaces takes 1000 frames


def open_receiver(interface):
    # All protocols, as the device does: such sockets are served before the host's BPF program keeps frames from the kernel.
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    try:
        raw.setsockopt(socket.SOL_SOCKET, 33, 256 << 20)  # SO_RCVBUFFORCE: all of a test, however late this program runs
    except PermissionError:
        pass  # without root the usual buffer must do
    raw.bind((interface, 3))
    raw.setblocking(False)
    return raw


def take(raw, kinds, destinations):
    frame = raw.recv(65536)
    if len(frame) < ETHERNET + IPV6 or frame[12:14] != b'\x86\xdd' or frame[ETHERNET + 6] != 41:
        return
    traffic_class = (frame[ETHERNET] & 0xF) << 4 | frame[ETHERNET + 1] >> 4
    payload_bytes = struct.unpack_from('!H', frame, ETHERNET + 4)[0]
    fits = 'fits' if payload_bytes == len(frame) - ETHERNET - IPV6 else 'WRONG-LENGTH'
    kinds[f'{len(frame)} dscp {traffic_class >> 2} ecn {traffic_class & 3} {fits}'] += 1
    destinations[socket.inet_ntop(socket.AF_INET6, frame[ETHERNET + 24:ETHERNET + 40])] += 1


def receive(interface, count):
    raw = open_receiver(interface)
    print('ready', flush=True)
    kinds = collections.Counter()
    destinations = collections.Counter()
    sources = [raw, sys.stdin]
    end = time.monotonic() + TOTAL_SECONDS
    while time.monotonic() < end and sum(kinds.values()) < int(count):
        all_sent = sys.stdin not in sources
        readable = select.select(sources, [], [], QUIET_SECONDS)[0]
        if raw in readable:
            take(raw, kinds, destinations)
        elif sys.stdin in readable:
            sources.remove(sys.stdin)
        elif all_sent:
            break
    print(json.dumps({'kinds': kinds, 'destinations': destinations}))


if __name__ == '__main__':
    {'send': send, 'receive': receive}[sys.argv[1]](*sys.argv[2:])
