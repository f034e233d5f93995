#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""usage: dissector_test.py PACKET_FIELDS CASE: Debian's tshark with our dissector."""
import os
import re
import struct
import sys
import tempfile

from decoded import HERE, check, compare, frames_with, notes_in, tshark, write_capture

VECTORS = os.path.join(HERE, '..', 'unit', 'golden', 'vectors.h')
ETHERNET, IPV4, IPV6, UDP = 14, 20, 40, 8
WRITE_ONLY, SACK, NACK = 0xCA, 0xDC, 0xDD
TRIMMED_DSCP, CE = 12, 3


def golden_frames():
    """Name and bytes of each frame of the golden tests."""
    with open(VECTORS, encoding='ascii') as file:
        text = file.read()
    names = re.findall(r'\.name = "(\w+)"', text)
    hexes = [''.join(re.findall('[0-9a-f]{2,}', block)) for block in re.findall(r'\.hex =\s*((?:"[0-9a-f]+"\s*)+)', text)]
    check(len(names) == len(hexes) > 100, f'{len(names)} names and {len(hexes)} frames in {VECTORS}')
    return {name: bytes.fromhex(one) for name, one in zip(names, hexes)}


def equal(seen, expected, what):
    check(seen == expected, f'{what}: {seen}, expected {expected}')


def case_golden(program, file):
    """Every packet kind in every form; plain RoCE as Wireshark shows it without us."""
    golden = golden_frames()
    write_capture(file, golden.values())
    ours = compare(program, file)
    mrc = [number for number, frame in enumerate(ours, 1) if frame]
    equal(frames_with(file, 'mrc'), mrc, 'frames that are MRC')
    check(len(mrc) > 100 and len({ours[number - 1]['mrc.bth.opcode'] for number in mrc}) > 25, f'{len(mrc)} frames of MRC')
    plain = [number for number, frame in enumerate(ours, 1) if not frame]
    check(len(plain) > 30, f'{len(plain)} frames of plain RoCE, expected more than 30')
    for what in ('infiniband', '_ws.malformed'):
        with_us = [number for number in frames_with(file, what) if number in plain]
        without = [number for number in frames_with(file, what, dissector=False) if number in plain]
        equal(with_us, without, f'plain RoCE that is {what}')
    bad = [name for name, status in zip(golden, ours) if status and status.get('mrc.icrc.status') != 1]
    equal(bad, [], 'golden frames without a good ICRC')


def ipv6_frame(sender, receiver, transport, dscp=0, ecn=2, sport=0xC001, icrc=b'\0\0\0\0'):
    """From host `sender` to host `receiver`, both numbers. The ICRC is left out unless it is given."""
    udp = struct.pack('!HHHH', sport, 4791, UDP + len(transport) + 4, 0) + transport + icrc
    head = struct.pack('!IHBB', 6 << 28 | (dscp << 2 | ecn) << 20, len(udp), 17, 64)
    address = [bytes.fromhex('fd00') + bytes(13) + bytes([host]) for host in (sender, receiver)]
    return bytes(12) + b'\x86\xdd' + head + address[0] + address[1] + udp


def bth(opcode, qpn, psn, rtx=0):
    return struct.pack('!BBHII', opcode, 0, 0xFFFF, qpn, rtx << 29 | psn)


def write(psn, rtx=0, qpn=0x000102, sender=1, receiver=2, **carrier):
    body = struct.pack('!HHQII', 0, psn & 0xFFFF, 0x1000, 7, 8) + b'12345678'
    return ipv6_frame(sender, receiver, bth(WRITE_ONLY, qpn, psn, rtx) + body, **carrier)


def sack(cumulative, offset, bitmap, mark=0, qpn=0x000201, source_low=0x0102):
    body = struct.pack('!BBHIHHI', 0, mark << 5, 0, 0xC001, source_low, qpn & 0xFFFF, cumulative)
    body += struct.pack('!BBhQHHI', 0, 0, offset, bitmap, 0, 0, 0)
    return ipv6_frame(2, 1, bth(SACK, qpn, cumulative) + body)


def nack(psn, reason, qpn=0x000201, source_low=0x0102):
    body = struct.pack('!HBBIHHIBBH', 0, reason, 0, 0xC001, source_low, qpn & 0xFFFF, psn, 0x20, 0, 0)
    return ipv6_frame(2, 1, bth(NACK, qpn, psn) + body)


def case_notes(program, file):
    """Each expert note where it belongs, and nowhere else."""
    frames = [
        write(0xFFFFFE),                     # 1
        write(0xFFFFFF),                     # 2: in order
        write(2),                            # 3: a gap of two, over the end of the PSNs
        write(0),                            # 4: the gap becomes smaller; no note
        sack(0, 1, 0b10),                    # 5: 2 is there, 1 is missing
        write(1, rtx=1),                     # 6: a retransmission
        write(3, ecn=CE),                    # 7: a mark
        sack(3, -62, (1 << 63) - 1, mark=1),  # 8: tells of the mark; nothing is missing
        write(4, icrc=b'\1\2\3\4'),          # 9: a bad ICRC
        write(5, dscp=TRIMMED_DSCP)[:ETHERNET + IPV6 + UDP + 20],  # 10: trimmed
        nack(5, 1),                          # 11: asks for what was trimmed
        nack(5, 0x0B),                       # 12: asks for another reason
        write(5, rtx=1),                     # 13
        write(5),                            # 14: a duplicate
        write(9, qpn=0x000103),              # 15: another queue pair begins anywhere
    ]
    write_capture(file, frames)
    expected = {'gap': [3], 'missing': [5], 'retransmission': [6, 13], 'mark': [7, 8], 'icrc': [9], 'trim': [10, 11],
                'nack': [12], 'duplicate': [14], 'short': [], 'opcode': []}
    equal(notes_in(file, *expected), expected, 'frames with each note')
    equal(frames_with(file, 'mrc.expert.retransmission'), [6, 13], 'frames that a filter finds')
    equal(tshark(file, '-Y', 'mrc.gap', '-T', 'fields', '-e', 'mrc.gap'), ['2'], 'PSNs that the gap has')
    compare(program, file)


def case_extension(program, file):
    """What has no golden frame: XRC, ATOMIC WRITE, FLUSH; and that a SEND tells what its sender has received."""
    meth, xeth = struct.pack('!HH', 3, 4), struct.pack('!I', 0x000345)
    reth = struct.pack('!QII', 0, 0, 8) + b'12345678'
    atomic = struct.pack('!QIQQ', 0x1000, 7, 0x1122334455667788, 0x99)
    flush = struct.pack('!BBBB', 0, 0, 0, 0x13) + struct.pack('!QII', 0x2000, 9, 4096)
    done = struct.pack('!QII', 0, 1 << 24 | 0x000ABC, 8) + b'12345678'
    bodies = [(0xE4, xeth + meth + reth), (0xEA, xeth + meth + reth), (0xEB, xeth + meth + reth[:16] + b'\1\2\3\4' + reth[16:]),
              (0xEC, xeth + meth + reth[:16]), (0xF3, xeth + meth + atomic), (0xF4, xeth + meth + atomic),
              (0xD5, meth + atomic), (0xDA, meth + flush), (0xC4, meth + done)]
    write_capture(file, [ipv6_frame(1, 2, bth(code, 5, psn) + body) for psn, (code, body) in enumerate(bodies)])
    ours = compare(program, file)
    equal([frame and frame['mrc.bth.opcode'] for frame in ours], [code for code, _ in bodies], 'opcodes')
    equal(tshark(file, '-Y', 'mrc.reth.done', '-T', 'fields', '-e', 'mrc.reth.done'), [str(0xABC)], 'what was received')


def case_conversations(program, file):
    """Both directions of two queue pairs between the same hosts, told apart by their numbers."""
    frames = [write(1), write(1, qpn=0x000103), sack(1, 1, 0), sack(1, 1, 0, qpn=0x000202, source_low=0x0103),
              write(1, qpn=0x000201, sender=2, receiver=1), write(2, qpn=0x000103), write(2, rtx=1)]
    write_capture(file, frames)
    streams = tshark(file, '-T', 'fields', '-e', 'mrc.stream')
    equal(streams, ['0', '1', '0', '1', '0', '1', '0'], 'conversations of the frames')
    rows = [line for line in tshark(file, '-X', 'lua_script1:conversations', '-q') if line[:1].isdigit()]
    equal([row.split()[0:2] + row.split()[3:5] for row in rows], [['0', '4', '0', '1'], ['1', '3', '0', '0']],
          'conversation, packets, gaps and retransmissions of the table')
    equal([row.split(' ', 5)[5] for row in rows],
          ['fd00::1 0x000201 <-> fd00::2 0x000102', 'fd00::1 0x000202 <-> fd00::2 0x000103'], 'queue pairs of the table')
    compare(program, file)


def case_cut(program, file):
    """Whatever a frame ends with, and whatever is in it: no frame is malformed, no error of the script."""
    frames = []
    for frame in golden_frames().values():
        transport = frame.find(b'\x12\xb7') + 6
        if transport > 6 and frame[transport] >> 5 == 6:
            # The lengths are left as they are, as in a capture that keeps the first bytes only.
            frames += [frame[:end] for end in range(transport, len(frame), 7)]
    for code in range(0xC0, 0x100):
        frames.append(ipv6_frame(1, 2, bth(code, 3, 4) + bytes(3)))
    write_capture(file, frames)
    said = tshark(file)
    equal(len(said), len(frames), 'frames')
    wrong = [line for line in said if 'Lua' in line or 'Error' in line]
    equal(wrong[:3], [], 'frames on which the script fails')
    del program


if __name__ == '__main__':
    with tempfile.TemporaryDirectory() as directory:
        globals()['case_' + sys.argv[2]](sys.argv[1], os.path.join(directory, 'frames.pcap'))
