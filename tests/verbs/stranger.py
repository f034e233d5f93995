#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Somebody who is connected to nobody and asks a host questions, by frames of its own making.

stranger.py INTERFACE MAC OWN_ADDRESS ADDRESS RUN_DIRECTORY PORT

How often does the host answer? Once, however many of its processes hear it: probes to QPN 2, a request of a
connection manager to a port where nobody listens, a disconnect that is for nobody. And does it open files for messages
to PORT, where somebody does listen? All IPv4.
"""
import ctypes
import os
import random
import select
import socket
import struct
import sys
import time
import zlib

ROCE_PORT = 4791
QUESTIONS = 10
FLOOD = 3000
WAIT_SECONDS = 20
QUIET_SECONDS = 1.5  # a request for which nobody listens yet is kept for half a second
ENDPOINT_REQUEST, ENDPOINT_RESPONSE, UD_SEND = 0xD8, 0xD9, 0x64
REQ, REJ, DREQ, DREP = 0x10, 0x12, 0x15, 0x16
IN_OPEN = 0x20


def icrc(packet):
    masked = bytearray(packet)
    masked[1] = masked[8] = masked[10] = masked[11] = 0xFF
    masked[26:28] = b'\xff\xff'
    masked[32] = 0xFF
    return struct.pack('<I', zlib.crc32(b'\xff' * 8 + bytes(masked)))


def checksum(header):
    total = sum(struct.unpack('!10H', header))
    total = (total & 0xFFFF) + (total >> 16)
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


class Stranger:
    def __init__(self, interface, mac, own_address, address):
        self.raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
        self.raw.bind((interface, 0x0800))
        self.ethernet = bytes.fromhex(mac.replace(':', '')) + self.raw.getsockname()[4] + b'\x08\x00'
        self.own = socket.inet_aton(own_address)
        self.peer = socket.inet_aton(address)

    def send(self, opcode, qpn, psn, payload):
        transport = struct.pack('!BBHII', opcode, 0, 0xFFFF, qpn, psn) + payload
        total = 20 + 8 + len(transport) + 4
        header = struct.pack('!BBHHHBBH', 0x45, 0, total, 0, 0x4000, 64, 17, 0) + self.own + self.peer
        header = header[:10] + struct.pack('!H', checksum(header)) + header[12:]
        packet = header + struct.pack('!HHHH', 0xC000, ROCE_PORT, total - 20, 0) + transport
        self.raw.send(self.ethernet + packet + icrc(packet))

    def probe(self, number):
        self.send(ENDPOINT_REQUEST, 2, number, bytes([0, 1]) + bytes(14))

    def mad(self, attribute, transaction, body):
        mad = struct.pack('!BBBBIQHHI', 1, 7, 2, 3, 0, transaction, attribute, 0, 0) + body
        self.send(UD_SEND, 1, 0, struct.pack('!II', 0x80010000, 1) + mad.ljust(256, b'\0'))

    def request(self, transaction, port, mtu=5):
        body = bytearray(232)
        struct.pack_into('!I', body, 0, 0x00400000 | transaction & 0x3FFFFF)
        struct.pack_into('!Q', body, 8, 0x0106 << 16 | port)
        body[50] = mtu << 4
        body[56:72] = bytes(10) + b'\xff\xff' + self.own
        body[72:88] = bytes(10) + b'\xff\xff' + self.peer
        body[141] = 0x40
        body[140 + 16:140 + 20] = self.own
        body[140 + 32:140 + 36] = self.peer
        self.mad(REQ, transaction, bytes(body))

    def disconnect(self, transaction):
        self.mad(DREQ, transaction, struct.pack('!III', 0x00400001, 0, 0))

    def answers(self, opcode, attribute=None, seconds=QUIET_SECONDS, enough=sys.maxsize):
        """How many come until it is quiet."""
        count = 0
        while count < enough and select.select([self.raw], [], [], seconds)[0]:
            frame = self.raw.recv(65536)
            if len(frame) < 54 or frame[23] != 17 or frame[26:30] != self.peer or frame[42] != opcode:
                continue
            if attribute is None or struct.unpack_from('!H', frame, 42 + 12 + 8 + 16)[0] == attribute:
                count += 1
        return count


class OpenedFiles:
    def __init__(self, directory):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_NONBLOCK)
        assert self.libc.inotify_add_watch(self.fd, directory.encode(), IN_OPEN) >= 0

    def count(self):
        count = 0
        while True:
            try:
                events = os.read(self.fd, 65536)
            except BlockingIOError:
                return count
            at = 0
            while at < len(events):
                name = events[at + 16:at + 16 + struct.unpack_from('I', events, at + 12)[0]]
                count += name.startswith(b'cm.') or name.startswith(b'proc.')
                at += 16 + len(name)


def expect(what, is_there, wanted):
    print(f'{what}: {is_there}', flush=True)
    if is_there != wanted:
        sys.exit(f'expected {wanted}')


def main(interface, mac, own_address, address, run_directory, port):
    stranger = Stranger(interface, mac, own_address, address)
    end = time.monotonic() + WAIT_SECONDS
    # Answers go by the next hop that the host has to look up first.
    while stranger.answers(ENDPOINT_RESPONSE, seconds=0.2, enough=1) == 0:
        if time.monotonic() > end:
            sys.exit('nobody answers a probe')
        stranger.probe(1)
    stranger.answers(ENDPOINT_RESPONSE)
    for number in range(QUESTIONS):
        stranger.probe(100 + number)
    expect(f'answers to {QUESTIONS} probes', stranger.answers(ENDPOINT_RESPONSE), QUESTIONS)
    first = random.getrandbits(32)
    for number in range(QUESTIONS):
        stranger.request(first + number, 9)
    expect(f'answers to {QUESTIONS} requests for nobody', stranger.answers(UD_SEND, REJ), QUESTIONS)
    for number in range(QUESTIONS):
        stranger.disconnect(first + number)
    expect(f'answers to {QUESTIONS} disconnects of nobody', stranger.answers(UD_SEND, DREP), QUESTIONS)
    time.sleep(1)
    opened = OpenedFiles(run_directory)
    for number in range(FLOOD):
        stranger.request(first + 100 + number, int(port), mtu=0)
        if number % 32 == 31:
            time.sleep(0.001)
    rejected = stranger.answers(UD_SEND, REJ)
    files = opened.count()
    print(f'{FLOOD} requests: {rejected} answers, {files} files opened')
    if files > FLOOD / 4:
        sys.exit('files are opened for every message')
    if not 1 <= rejected <= 2 * 256:  # so many at once, and those of a second or so
        sys.exit('the answers have no limit')


if __name__ == '__main__':
    main(*sys.argv[1:])
