#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Builds one frame of every packet kind from nothing but struct and zlib, and writes them with the values that went
# into them to vectors.h. Independent of libmrc on purpose. Run it without arguments after a change of format.
import os
import struct
import zlib

(SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM, SEND_ONLY, SEND_ONLY_IMM,
 WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM,
 READ, READ_RESPONSE_FIRST, READ_RESPONSE_MIDDLE, READ_RESPONSE_LAST, READ_RESPONSE_ONLY,
 ACK, ATOMIC_ACK, COMPARE_SWAP, FETCH_ADD) = range(0xC0, 0xD5)
SEND_LAST_INV, SEND_ONLY_INV = 0xD6, 0xD7
ENDPOINT_REQUEST, ENDPOINT_RESPONSE, SACK, NACK, PROBE = 0xD8, 0xD9, 0xDC, 0xDD, 0xDE
RC = 0xC0  # MRC opcode - RC = plain RC opcode
UD_SEND_ONLY, UD_SEND_ONLY_IMM = 0x64, 0x65

# The headers behind BTH. MRC and its extension; "time" is there iff has_timestamp.
LAYOUTS = {
    SEND_FIRST: "meth time reth", SEND_MIDDLE: "meth time reth", SEND_LAST: "meth time reth",
    SEND_LAST_IMM: "meth time reth immediate", SEND_ONLY: "meth time reth",
    SEND_ONLY_IMM: "meth time reth immediate",
    SEND_LAST_INV: "meth time reth ieth", SEND_ONLY_INV: "meth time reth ieth",
    WRITE_FIRST: "meth time reth", WRITE_MIDDLE: "meth time reth", WRITE_LAST: "meth time reth",
    WRITE_LAST_IMM: "meth time reth immediate", WRITE_ONLY: "meth time reth",
    WRITE_ONLY_IMM: "meth time reth immediate",
    READ: "meth time reth", READ_RESPONSE_FIRST: "meth time reth", READ_RESPONSE_MIDDLE: "meth time reth",
    READ_RESPONSE_LAST: "meth time reth", READ_RESPONSE_ONLY: "meth time reth",
    ATOMIC_ACK: "meth time atomic_ack", COMPARE_SWAP: "meth time atomic", FETCH_ADD: "meth time atomic",
    ACK: "aeth", SACK: "sack", NACK: "neth", PROBE: "peth", ENDPOINT_REQUEST: "erth", ENDPOINT_RESPONSE: "eeth",
    # Plain RC (IBTA) and UD.
    SEND_FIRST - RC: "", SEND_MIDDLE - RC: "", SEND_LAST - RC: "", SEND_LAST_IMM - RC: "immediate",
    SEND_ONLY - RC: "", SEND_ONLY_IMM - RC: "immediate", SEND_LAST_INV - RC: "ieth", SEND_ONLY_INV - RC: "ieth",
    WRITE_FIRST - RC: "reth", WRITE_MIDDLE - RC: "", WRITE_LAST - RC: "", WRITE_LAST_IMM - RC: "immediate",
    WRITE_ONLY - RC: "reth", WRITE_ONLY_IMM - RC: "reth immediate",
    READ - RC: "reth", READ_RESPONSE_FIRST - RC: "aeth", READ_RESPONSE_MIDDLE - RC: "",
    READ_RESPONSE_LAST - RC: "aeth", READ_RESPONSE_ONLY - RC: "aeth",
    ACK - RC: "aeth", ATOMIC_ACK - RC: "aeth atomic_ack", COMPARE_SWAP - RC: "atomic", FETCH_ADD - RC: "atomic",
    UD_SEND_ONLY: "deth", UD_SEND_ONLY_IMM: "deth immediate",
}


def payload_of(count, seed):
    return bytes((seed + 7 * i) & 0xFF for i in range(count))


def be24(value):
    return struct.pack(">I", value)[1:]


def checksum16(data):
    total = sum(struct.unpack(">%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def tseth(stamp, coarse):
    return struct.pack(">HH", stamp, (0x8000 if coarse else 0) | 1)


def bth(f):
    flags = f["ack_request"] << 7 | f["retransmission"] << 5 | f["has_timestamp"] << 4 | f["reserved_bits"]
    byte1 = f["solicited"] << 7 | f["migrated"] << 6 | f["pad"] << 4
    return (struct.pack(">BBHB", f["opcode"], byte1, f["pkey"], f["congestion_bits"]) + be24(f["dqpn"])
            + bytes([flags]) + be24(f["psn"]))


def layout(f):
    names = LAYOUTS[f["opcode"]].split()
    return [name for name in names if name != "time" or f["has_timestamp"]]


HEADERS = {
    "meth": lambda f: struct.pack(">HH", f["rqmsn"], f["msn"]),
    "time": lambda f: tseth(f["stamp"], f["coarse"]),
    "reth": lambda f: struct.pack(">QII", f["va"], f["rkey"], f["message_bytes"]),
    "immediate": lambda f: bytes.fromhex(f["immediate"]),
    "ieth": lambda f: struct.pack(">I", f["invalidate"]),
    "atomic": lambda f: struct.pack(">QIQQ", f["va"], f["rkey"], f["swap_or_add"], f["compare"]),
    "atomic_ack": lambda f: struct.pack(">Q", f["original"]),
    "deth": lambda f: struct.pack(">IB", f["qkey"], 0) + be24(f["sqpn"]),
    "aeth": lambda f: struct.pack(">I", f["syndrome"] << 24 | f["ack_msn"]),
    "sack": lambda f: (
        struct.pack(">BBHIHHB", 0, f["mark"] << 5 | f["answers_probe"] << 1, f["trigger"], f["echo_entropy"],
                    f["sqpn_low"], f["dqpn_low"], 0) + be24(f["control_psn"])
        + struct.pack(">BBhQ", 0, f["mpr"], f["bitmap_offset"], f["bitmap"])
        + struct.pack(">HHB", f["echo_stamp"], f["out_of_order"], f["restore"] << 7 | f["penalty"])
        + be24(f["received_units"])),
    "neth": lambda f: (
        struct.pack(">HBBIHHB", 0, f["reason"], f["vendor"], f["echo_entropy"], f["sqpn_low"], f["dqpn_low"], 0)
        + be24(f["control_psn"]) + struct.pack(">BBH", 0x20, 0, f["echo_stamp"])),
    "peth": lambda f: (
        struct.pack(">HBBHHHH", 0, 0, f["vendor"], f["probe_id"], 0, f["sqpn_low"], f["dqpn_low"])
        + tseth(f["stamp"], f["coarse"])),
    "erth": lambda f: (
        struct.pack(">BBBBII", 0, f["operation"], 0, f["vendor"], f["port_mask"], 0)
        + tseth(f["stamp"], f["coarse"])),
    "eeth": lambda f: (
        struct.pack(">BBBB", 0, f["operation"] << 2, 0, f["vendor"]) + bytes(24)
        + struct.pack(">H", f["echo_stamp"]) + bytes(6)),
}


def body(f):
    """What follows BTH up to the end of the payload."""
    return b"".join(HEADERS[name](f) for name in layout(f)) + payload_of(f["payload_bytes"], f["payload_seed"])


def ipv6_header(traffic_class, label, length, next_header, hops, source, destination):
    return (struct.pack(">IHBB", 6 << 28 | traffic_class << 20 | label, length, next_header, hops)
            + bytes.fromhex(source) + bytes.fromhex(destination))


def ipv4_header(tos, length, ttl, source, destination):
    head = struct.pack(">BBHHHBBH", 0x45, tos, 20 + length, 0, 0x4000, ttl, 17, 0)
    head += bytes.fromhex(source)[12:] + bytes.fromhex(destination)[12:]
    return head[:10] + struct.pack(">H", checksum16(head)) + head[12:]


def icrc(packet, v4):
    """packet: IP header up to and including the pad."""
    masked = bytearray(packet)
    if v4:
        masked[1] = masked[8] = masked[10] = masked[11] = 0xFF
        udp = 20
    else:
        masked[0] |= 0x0F
        masked[1:4] = b"\xff\xff\xff"
        masked[7] = 0xFF
        udp = 40
    masked[udp + 6:udp + 8] = b"\xff\xff"
    masked[udp + 8 + 4] = 0xFF
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(masked)))


def frame(f):
    transport = bth(f) + body(f) + bytes(f["pad"])
    udp_length = 8 + len(transport) + 4
    udp = struct.pack(">HHHH", f["entropy"] & 0xFFFF, f["udp_port"], udp_length, 0)
    v4 = f["source"].startswith("0" * 20 + "ffff")
    tc = f["dscp"] << 2 | f["sent_ecn"]
    label = f["entropy"] >> 16
    if v4:
        ip = ipv4_header(tc, udp_length, f["hop_limit"], f["source"], f["destination"])
    else:
        ip = ipv6_header(tc, label, udp_length, 17, f["hop_limit"], f["source"], f["destination"])
    inner = ip + udp + transport
    inner += icrc(inner, v4)
    ethertype = 0x0800 if v4 else 0x86DD
    if f["srv6"]:
        number = 4 if v4 else 41
        srh = b""
        if f["srh_segments"]:
            segments = f["srh_segments"]
            srh = struct.pack(">BBBBBBH", number, 2 * segments, 4, 0, segments - 1, 0, 0)
            srh += bytes.fromhex(f["outer_destination"]) * segments
            number = 43
        outer_tc = f["dscp"] << 2 | f["outer_ecn"]
        inner = ipv6_header(outer_tc, label, len(srh) + len(inner), number, 64, f["outer_source"],
                            f["outer_destination"]) + srh + inner
        ethertype = 0x86DD
    head = bytes.fromhex(f["destination_mac"]) + bytes.fromhex(f["source_mac"]) + struct.pack(">H", ethertype)
    return head + inner + bytes([0xA5]) * f["trailing_bytes"]


V4 = {"source": "00000000000000000000ffff0a000102", "destination": "00000000000000000000ffff0a00fe03"}
V6 = {"source": "fd00000100000000000000000000a001", "destination": "fd00000200000000000000000000b002"}
SRV6 = {"srv6": 1, "outer_source": "fcbbbbbb9001000000000000000000e1",
        "outer_destination": "fcbbbbbb210311032104900200000000"}
FORMS = {"ipv4": V4, "ipv6": V6, "srv6": {**V6, **SRV6}, "srv6_v4": {**V4, **SRV6}}

# Field -> (value when a frame does not say otherwise, how it is written in C++).
FIELDS = {
    "source_mac": ("02a1b2c3d4e5", "str"), "destination_mac": ("0211223344f6", "str"),
    "source": ("", "str"), "destination": ("", "str"),
    "srv6": (0, "int"), "outer_source": ("", "str"), "outer_destination": ("", "str"),
    "srh_segments": (0, "int"), "trailing_bytes": (0, "int"), "udp_port": (4791, "int"),
    "hop_limit": (61, "int"), "entropy": (0, "hex"), "dscp": (0, "int"),
    "sent_ecn": (2, "int"), "outer_ecn": (2, "int"), "ecn": (2, "int"),
    "layout": ("", "str"), "opcode": (0, "hex"), "pad": (0, "int"), "pkey": (0xFFFF, "hex"), "dqpn": (0, "hex"),
    "ack_request": (0, "int"), "retransmission": (0, "int"), "has_timestamp": (0, "int"), "psn": (0, "hex"),
    "solicited": (0, "int"), "migrated": (0, "int"), "congestion_bits": (0, "hex"), "reserved_bits": (0, "hex"),
    "rqmsn": (0, "hex"), "msn": (0, "hex"), "stamp": (0, "hex"), "coarse": (0, "int"),
    "va": (0, "hex"), "rkey": (0, "hex"), "message_bytes": (0, "int"), "immediate": ("", "str"),
    "payload_bytes": (0, "int"), "payload_seed": (0, "int"),
    "invalidate": (0, "hex"), "swap_or_add": (0, "hex"), "compare": (0, "hex"), "original": (0, "hex"),
    "qkey": (0, "hex"), "sqpn": (0, "hex"),
    "syndrome": (0, "hex"), "ack_msn": (0, "hex"),
    "mark": (0, "int"), "answers_probe": (0, "int"), "trigger": (0, "hex"), "echo_entropy": (0, "hex"),
    "sqpn_low": (0, "hex"), "dqpn_low": (0, "hex"), "control_psn": (0, "hex"), "mpr": (0, "int"),
    "bitmap_offset": (0, "int"), "bitmap": (0, "hex"), "echo_stamp": (0, "hex"), "out_of_order": (0, "int"),
    "restore": (0, "int"), "penalty": (0, "int"), "received_units": (0, "hex"),
    "reason": (0, "hex"), "vendor": (0, "hex"), "probe_id": (0, "hex"),
    "operation": (0, "int"), "port_mask": (0, "hex"),
}

KINDS = [
    ("write_first", {"opcode": WRITE_FIRST, "dqpn": 0x012345, "psn": 0xFFFFFF, "has_timestamp": 1, "stamp": 0xBEEF,
                     "rqmsn": 0x0102, "msn": 0x0304, "va": 0x7F00112233445566, "rkey": 0xCAFE0001,
                     "message_bytes": 0x00ABCDEF, "payload_bytes": 64, "payload_seed": 1}),
    ("write_middle", {"opcode": WRITE_MIDDLE, "dqpn": 0xABCDEF, "psn": 0x000000, "retransmission": 1,
                      "has_timestamp": 1, "stamp": 0x0001, "coarse": 1, "msn": 0xFFFF, "va": 0x1000,
                      "rkey": 0x80000001, "message_bytes": 0xFFFFFFFF, "payload_bytes": 256, "payload_seed": 2}),
    ("write_last", {"opcode": WRITE_LAST, "dqpn": 3, "psn": 0x7FFFFF, "ack_request": 1, "rqmsn": 0xFFFF, "msn": 1,
                    "va": 0xFFFFFFFFFFFFFFFF, "rkey": 0xFFFFFFFF, "message_bytes": 4097, "payload_bytes": 1, "pad": 3,
                    "payload_seed": 3}),
    ("write_last_imm", {"opcode": WRITE_LAST_IMM, "dqpn": 0xFFFFFF, "psn": 0x800000, "ack_request": 1,
                        "retransmission": 1, "has_timestamp": 1, "stamp": 0x8000, "rqmsn": 0x8001, "msn": 0x7FFE,
                        "va": 0x0102030405060708, "rkey": 0x11223344, "message_bytes": 8194, "immediate": "deadbe01",
                        "payload_bytes": 2, "pad": 2, "payload_seed": 4}),
    ("write_only", {"opcode": WRITE_ONLY, "dqpn": 0x000100, "psn": 0x123456, "ack_request": 1, "has_timestamp": 1,
                    "stamp": 0x1234, "pkey": 0x8001, "msn": 0x00FF, "va": 0xA0B0C0D0E0F00011, "rkey": 0x00000100,
                    "message_bytes": 35, "payload_bytes": 35, "pad": 1, "payload_seed": 5}),
    ("write_only_imm", {"opcode": WRITE_ONLY_IMM, "dqpn": 0x000101, "psn": 0x654321, "has_timestamp": 1,
                        "stamp": 0xFFFF, "rqmsn": 7, "msn": 9, "va": 0, "rkey": 0, "message_bytes": 0,
                        "immediate": "01020304"}),
    ("acknowledge", {"opcode": ACK, "dqpn": 0x00BEEF, "psn": 0x00000A, "syndrome": 0x1F, "ack_msn": 0xF0F1F2,
                     "dscp": 46, "sent_ecn": 0, "outer_ecn": 0, "ecn": 0}),
    ("endpoint_request", {"opcode": ENDPOINT_REQUEST, "dqpn": 2, "psn": 0x00A55A, "operation": 1, "vendor": 0x5C,
                          "port_mask": 0x8001C0DE, "stamp": 0x4321, "coarse": 1}),
    ("endpoint_response", {"opcode": ENDPOINT_RESPONSE, "dqpn": 2, "psn": 0x00A55A, "operation": 2, "vendor": 0xC5,
                           "echo_stamp": 0x4321, "dscp": 46}),
    ("sack", {"opcode": SACK, "dqpn": 0x0D0E0F, "psn": 0xFEDCBA, "retransmission": 1, "mark": 1, "trigger": 0xFFF0,
              "echo_entropy": 0x89ABCDEF, "sqpn_low": 0x1357, "dqpn_low": 0x2468, "control_psn": 0xFEDCBA, "mpr": 200,
              "bitmap_offset": -62, "bitmap": 0x8000000000000001, "echo_stamp": 0x9ABC, "out_of_order": 0x7FFF,
              "restore": 1, "penalty": 127, "received_units": 0xFFEEDD, "dscp": 46}),
    ("nack", {"opcode": NACK, "dqpn": 0x0A0B0C, "psn": 0x000FFF, "reason": 0x0B, "vendor": 0x77,
              "echo_entropy": 0x01020304, "sqpn_low": 0xFFFF, "dqpn_low": 0x0001, "control_psn": 0x000FFF,
              "echo_stamp": 0x5678, "dscp": 46}),
    ("probe", {"opcode": PROBE, "dqpn": 0x0C0B0A, "psn": 0, "vendor": 0x31, "probe_id": 0xD00D, "sqpn_low": 0x0AFE,
               "dqpn_low": 0x0B0A, "stamp": 0x7FFF}),
]

# SEND, READ and atomics on the MRC stream: the address of RETH is the offset in the message, its key 0.
EXTENSION = [
    ("send_first", {"opcode": SEND_FIRST, "dqpn": 0x112233, "psn": 0x00FF00, "has_timestamp": 1, "stamp": 0x0A0B,
                    "rqmsn": 0xFFFE, "msn": 0x8000, "message_bytes": 1025, "payload_bytes": 256, "payload_seed": 21}),
    ("send_middle", {"opcode": SEND_MIDDLE, "dqpn": 0x112234, "psn": 0x00FF01, "has_timestamp": 1, "coarse": 1,
                     "stamp": 0xFFFF, "rqmsn": 1, "msn": 2, "va": 0xFFFFFF00, "message_bytes": 0xFFFFFFFF,
                     "payload_bytes": 16, "payload_seed": 22}),
    ("send_last", {"opcode": SEND_LAST, "dqpn": 0x112235, "psn": 0x00FF02, "ack_request": 1, "rqmsn": 3, "msn": 4,
                   "va": 1024, "message_bytes": 1027, "payload_bytes": 3, "pad": 1, "payload_seed": 23}),
    ("send_last_imm", {"opcode": SEND_LAST_IMM, "dqpn": 0x112236, "psn": 0x00FF03, "ack_request": 1,
                       "retransmission": 1, "has_timestamp": 1, "stamp": 1, "rqmsn": 5, "msn": 6, "va": 4096,
                       "message_bytes": 4104, "immediate": "f1e2d3c4", "payload_bytes": 8, "payload_seed": 24}),
    ("send_only", {"opcode": SEND_ONLY, "dqpn": 0x112237, "psn": 0x00FF04, "has_timestamp": 1, "stamp": 2,
                   "solicited": 1, "rqmsn": 7, "msn": 8, "message_bytes": 33, "payload_bytes": 33, "pad": 3,
                   "payload_seed": 25}),
    ("send_only_imm", {"opcode": SEND_ONLY_IMM, "dqpn": 0x112238, "psn": 0x00FF05, "has_timestamp": 1, "stamp": 3,
                       "rqmsn": 9, "msn": 10, "message_bytes": 2, "immediate": "00000001", "payload_bytes": 2,
                       "pad": 2, "payload_seed": 26}),
    ("send_last_inv", {"opcode": SEND_LAST_INV, "dqpn": 0x112239, "psn": 0x00FF06, "has_timestamp": 1, "stamp": 4,
                       "rqmsn": 11, "msn": 12, "va": 512, "message_bytes": 516, "invalidate": 0xFEDCBA98,
                       "payload_bytes": 4, "payload_seed": 27}),
    ("send_only_inv", {"opcode": SEND_ONLY_INV, "dqpn": 0x11223A, "psn": 0x00FF07, "rqmsn": 13, "msn": 14,
                       "message_bytes": 5, "invalidate": 0x01234567, "payload_bytes": 5, "pad": 3,
                       "payload_seed": 28}),
    ("read", {"opcode": READ, "dqpn": 0x11223B, "psn": 0x00FF08, "has_timestamp": 1, "stamp": 5, "msn": 16,
              "va": 0x7F0011223344FFFF, "rkey": 0xA0A0B0B0, "message_bytes": 0x80000000}),
    ("read_response_first", {"opcode": READ_RESPONSE_FIRST, "dqpn": 0x11223C, "psn": 0x00FF09, "has_timestamp": 1,
                             "stamp": 6, "msn": 16, "message_bytes": 20000, "payload_bytes": 128,
                             "payload_seed": 29}),
    ("read_response_middle", {"opcode": READ_RESPONSE_MIDDLE, "dqpn": 0x11223D, "psn": 0x00FF0A, "has_timestamp": 1,
                              "stamp": 7, "msn": 17, "va": 4096, "message_bytes": 20000, "payload_bytes": 64,
                              "payload_seed": 30}),
    ("read_response_last", {"opcode": READ_RESPONSE_LAST, "dqpn": 0x11223E, "psn": 0x00FF0B, "ack_request": 1,
                            "msn": 18, "va": 0xFFFFFFFE, "message_bytes": 0xFFFFFFFF, "payload_bytes": 1, "pad": 3,
                            "payload_seed": 31}),
    ("read_response_only", {"opcode": READ_RESPONSE_ONLY, "dqpn": 0x11223F, "psn": 0x00FF0C, "has_timestamp": 1,
                            "stamp": 8, "msn": 19, "message_bytes": 40, "payload_bytes": 40, "payload_seed": 32}),
    ("atomic_ack", {"opcode": ATOMIC_ACK, "dqpn": 0x112240, "psn": 0x00FF0D, "has_timestamp": 1, "stamp": 9,
                    "msn": 20, "original": 0x8877665544332211}),
    ("compare_swap", {"opcode": COMPARE_SWAP, "dqpn": 0x112241, "psn": 0x00FF0E, "has_timestamp": 1, "stamp": 10,
                      "msn": 21, "va": 0x1122334455667788, "rkey": 0x99AABBCC, "swap_or_add": 0xDDEEFF0011223344,
                      "compare": 0x5566778899AABBCC}),
    ("fetch_add", {"opcode": FETCH_ADD, "dqpn": 0x112242, "psn": 0x00FF0F, "ack_request": 1, "msn": 22,
                   "va": 0xFFFFFFFFFFFFFFF8, "rkey": 1, "swap_or_add": 1, "compare": 0}),
]

# Plain RoCEv2, as soft-RoCE speaks it.
PLAIN = [(name, {"dqpn": 0x000011 + i, "psn": 0xABC000 + i, "migrated": 1, "payload_seed": 40 + i, **fields})
         for i, (name, fields) in enumerate([
             ("rc_send_first", {"opcode": SEND_FIRST - RC, "payload_bytes": 256}),
             ("rc_send_middle", {"opcode": SEND_MIDDLE - RC, "payload_bytes": 256}),
             ("rc_send_last", {"opcode": SEND_LAST - RC, "payload_bytes": 1, "pad": 3, "ack_request": 1,
                               "solicited": 1}),
             ("rc_send_last_imm", {"opcode": SEND_LAST_IMM - RC, "payload_bytes": 4, "immediate": "0badcafe"}),
             ("rc_send_only", {"opcode": SEND_ONLY - RC, "payload_bytes": 10, "pad": 2, "ack_request": 1}),
             ("rc_send_only_imm", {"opcode": SEND_ONLY_IMM - RC, "immediate": "ffffffff", "migrated": 0}),
             ("rc_write_first", {"opcode": WRITE_FIRST - RC, "va": 0x1000200030004000, "rkey": 0x50006000,
                                 "message_bytes": 1024, "payload_bytes": 512}),
             ("rc_write_middle", {"opcode": WRITE_MIDDLE - RC, "payload_bytes": 64}),
             ("rc_write_last", {"opcode": WRITE_LAST - RC, "payload_bytes": 63, "pad": 1, "ack_request": 1}),
             ("rc_write_last_imm", {"opcode": WRITE_LAST_IMM - RC, "payload_bytes": 2, "pad": 2,
                                    "immediate": "10203040"}),
             ("rc_write_only", {"opcode": WRITE_ONLY - RC, "va": 1, "rkey": 2, "message_bytes": 3,
                                "payload_bytes": 3, "pad": 1}),
             ("rc_write_only_imm", {"opcode": WRITE_ONLY_IMM - RC, "va": 0xFFFFFFFFFFFFFFFF, "rkey": 0xFFFFFFFF,
                                    "message_bytes": 8, "payload_bytes": 8, "immediate": "a0b0c0d0"}),
             ("rc_read", {"opcode": READ - RC, "va": 0xABCDEF, "rkey": 0x123, "message_bytes": 0xFFFFFFFF}),
             ("rc_read_response_first", {"opcode": READ_RESPONSE_FIRST - RC, "syndrome": 0x1F, "ack_msn": 0xFFFFFF,
                                         "payload_bytes": 32}),
             ("rc_read_response_middle", {"opcode": READ_RESPONSE_MIDDLE - RC, "payload_bytes": 32}),
             ("rc_read_response_last", {"opcode": READ_RESPONSE_LAST - RC, "syndrome": 0x00, "ack_msn": 1,
                                        "payload_bytes": 5, "pad": 3}),
             ("rc_read_response_only", {"opcode": READ_RESPONSE_ONLY - RC, "syndrome": 0x1F, "ack_msn": 2}),
             ("rc_acknowledge", {"opcode": ACK - RC, "syndrome": 0x2E, "ack_msn": 0x000102}),
             ("rc_atomic_ack", {"opcode": ATOMIC_ACK - RC, "syndrome": 0x1F, "ack_msn": 3,
                                "original": 0x0123456789ABCDEF}),
             ("rc_compare_swap", {"opcode": COMPARE_SWAP - RC, "va": 0x10, "rkey": 0x20, "swap_or_add": 0x30,
                                  "compare": 0xFFFFFFFFFFFFFFFF}),
             ("rc_fetch_add", {"opcode": FETCH_ADD - RC, "va": 0x18, "rkey": 0x21,
                               "swap_or_add": 0xFFFFFFFFFFFFFFFF}),
             ("rc_send_last_inv", {"opcode": SEND_LAST_INV - RC, "invalidate": 0x0000FF01, "payload_bytes": 12}),
             ("rc_send_only_inv", {"opcode": SEND_ONLY_INV - RC, "invalidate": 0xFF010000, "ack_request": 1}),
             ("ud_send_only", {"opcode": UD_SEND_ONLY, "qkey": 0x11111111, "sqpn": 0xFEDCBA, "payload_bytes": 30,
                               "pad": 2}),
             ("ud_send_only_imm", {"opcode": UD_SEND_ONLY_IMM, "qkey": 0x80010000, "sqpn": 1,
                                   "immediate": "89abcdef", "payload_bytes": 4, "solicited": 1}),
         ])]

# What only a peer, a switch or the sender of a full packet does.
EXTRAS = [
    ("write_full_mtu", "srv6", {"opcode": WRITE_LAST_IMM, "dqpn": 0x44, "psn": 0x99, "has_timestamp": 1,
                                "stamp": 0x0F0F, "rqmsn": 3, "msn": 4, "va": 0x7FFFFFFFF000, "rkey": 5,
                                "message_bytes": 8192, "immediate": "a1b2c3d4", "payload_bytes": 4096,
                                "payload_seed": 11}),
    ("write_only_empty", "ipv6", {"opcode": WRITE_ONLY, "dqpn": 0x45, "psn": 0x98, "msn": 2}),
    ("sack_probe_answer", "ipv6", {"opcode": SACK, "dqpn": 0x46, "psn": 5, "mark": 2, "answers_probe": 1,
                                   "trigger": 0xD00D, "control_psn": 5, "bitmap_offset": 1, "bitmap": 0xF0,
                                   "received_units": 0x000001}),
    ("nak", "ipv4", {"opcode": ACK, "dqpn": 0x47, "psn": 6, "syndrome": 0x62, "ack_msn": 0}),
    ("outer_ce", "srv6", {"opcode": PROBE, "dqpn": 0x48, "probe_id": 1, "outer_ecn": 3, "ecn": 3}),
    ("inner_ce", "srv6", {"opcode": PROBE, "dqpn": 0x49, "probe_id": 2, "sent_ecn": 3, "ecn": 3}),
    ("ipv6_ce", "ipv6", {"opcode": PROBE, "dqpn": 0x49, "probe_id": 2, "sent_ecn": 3, "ecn": 3}),
    ("srh", "srv6", {"opcode": PROBE, "dqpn": 0x4A, "probe_id": 3, "srh_segments": 2}),
    ("srh_v4", "srv6_v4", {"opcode": ACK, "dqpn": 0x4B, "syndrome": 0x1F, "ack_msn": 1, "srh_segments": 1}),
    ("printed_port", "ipv6", {"opcode": PROBE, "dqpn": 0x4C, "probe_id": 4, "udp_port": 4971}),
    ("send_empty", "ipv6", {"opcode": SEND_ONLY, "dqpn": 0x50, "psn": 1, "rqmsn": 1, "msn": 1}),
    ("send_full_mtu", "srv6", {"opcode": SEND_LAST_INV, "dqpn": 0x51, "psn": 2, "has_timestamp": 1, "stamp": 3,
                               "rqmsn": 1, "msn": 1, "va": 4096, "message_bytes": 8192, "invalidate": 9,
                               "payload_bytes": 4096, "payload_seed": 12}),
    ("read_response_empty", "ipv6", {"opcode": READ_RESPONSE_ONLY, "dqpn": 0x52, "psn": 3, "msn": 7}),
    ("ud_empty", "ipv4", {"opcode": UD_SEND_ONLY, "dqpn": 1, "psn": 4, "qkey": 0x80010000, "sqpn": 1}),
    ("ud", "srv6", {"opcode": UD_SEND_ONLY, "dqpn": 0x53, "psn": 5, "qkey": 7, "sqpn": 8, "payload_bytes": 4}),
    # Bits 6:0 of byte 8 and the congestion bits mean nothing in plain RC: neither rtx nor ts is to be seen in them.
    ("rc_reserved", "ipv4", {"opcode": SEND_ONLY - RC, "dqpn": 0x54, "psn": 6, "ack_request": 1,
                             "reserved_bits": 0x7F, "congestion_bits": 0xC0, "migrated": 1, "payload_bytes": 8}),
    ("ud_reserved", "ipv6", {"opcode": UD_SEND_ONLY, "dqpn": 0x55, "psn": 7, "reserved_bits": 0x30,
                             "congestion_bits": 0x40, "qkey": 7, "sqpn": 8, "payload_bytes": 8}),
    ("trailing", "ipv4", {"opcode": ACK, "dqpn": 0x4D, "syndrome": 0x1F, "ack_msn": 2, "trailing_bytes": 9}),
]


def spelt(value, how):
    if how == "str":
        return '"%s"' % value
    if how == "hex":
        return "0x%X%s" % (value, "u" if value < 1 << 32 else "ull")
    return "%d%s" % (value, "u" if value > 0x7FFFFFFF else "")


def entry(name, form, given, entropy):
    f = {key: default for key, (default, _) in FIELDS.items()}
    f.update(FORMS[form])
    f.update(given)
    f["entropy"] = entropy
    f["layout"] = " ".join(layout(f))
    if f["trailing_bytes"] == 0 and f["srh_segments"] == 0 and f["udp_port"] == 4791 and f["congestion_bits"] == 0:
        encodable = f["outer_ecn"] == f["sent_ecn"] or not f["srv6"]
    else:
        encodable = False
    lines = ['    {.name = "%s_%s",' % (name, form), "     .encodable = %s," % ("true" if encodable else "false")]
    for key, (default, how) in FIELDS.items():
        if f[key] != default or key == "entropy":
            lines.append("     .%s = %s," % (key, spelt(f[key], how)))
    data = frame(f).hex()
    chunks = [data[i:i + 96] for i in range(0, len(data), 96)]
    lines.append("     .hex =")
    lines += ['         "%s"' % chunk for chunk in chunks]
    return "\n".join(lines) + "},\n"


def main():
    out = ["// SPDX-License-Identifier: BSD-2-Clause\n",
           "// Written by make_vectors.py: change that, not this. Long because it is every kind of packet, byte by byte.\n"
           "// clang-format off\n#pragma once\n\n",
           '#include "tests/unit/golden/golden_frame.h"\n\n',
           "namespace mrc::golden {\n\ninline constexpr Frame kFrames[] = {\n"]
    number = 0
    for form in FORMS:
        for name, fields in KINDS + EXTENSION + (PLAIN if "srv6" not in form else []):
            number += 1
            entropy = number * 0x9E3779B1 & 0xFFFFFFFF
            out.append(entry(name, form, fields, entropy))
    for name, form, fields in EXTRAS:
        number += 1
        out.append(entry(name, form, fields, number * 0x9E3779B1 & 0xFFFFFFFF))
    out.append("};\n\n")
    # CRC-32 as zlib computes it, of payload_of(length, 0).
    lengths = list(range(0, 301)) + [4096]
    out.append("struct Crc {\n  unsigned length;\n  unsigned value;\n};\ninline constexpr Crc kCrcs[] = {\n")
    for i in range(0, len(lengths), 5):
        row = ["{%d, 0x%08X}," % (n, zlib.crc32(payload_of(n, 0))) for n in lengths[i:i + 5]]
        out.append("    " + " ".join(row) + "\n")
    out.append("};\n\n}  // namespace mrc::golden\n")
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "vectors.h")
    with open(path, "w", encoding="ascii") as file:
        file.write("".join(out))


main()
