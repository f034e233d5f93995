// SPDX-License-Identifier: BSD-2-Clause
// Written by make_vectors.py: change that, not this.
// clang-format off
#pragma once

#include "tests/unit/golden/golden_frame.h"

namespace mrc::golden {

inline constexpr Frame kFrames[] = {
    {.name = "write_first_ipv4",
     .encodable = true,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .entropy = 0x9E3779B1u,
     .opcode = 0xC6u,
     .dqpn = 0x12345u,
     .has_timestamp = 1,
     .psn = 0xFFFFFFu,
     .rqmsn = 0x102u,
     .msn = 0x304u,
     .stamp = 0xBEEFu,
     .va = 0x7F00112233445566ull,
     .rkey = 0xCAFE0001u,
     .message_bytes = 11259375,
     .payload_bytes = 64,
     .payload_seed = 1,
     .hex =
         "0211223344f602a1b2c3d4e5080045020084000040003d112a620a0001020a00fe0379b112b700700000c600ffff0001"
         "234510ffffff01020304beef00017f00112233445566cafe000100abcdef01080f161d242b323940474e555c636a7178"
         "7f868d949ba2a9b0b7bec5ccd3dae1e8eff6fd040b121920272e353c434a51585f666d747b828990979ea5acb3bad522"
         "f1da"},
    {.name = "write_middle_ipv4",
     .encodable = true,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .entropy = 0x3C6EF362u,
     .opcode = 0xC7u,
     .dqpn = 0xABCDEFu,
     .retransmission = 1,
     .has_timestamp = 1,
     .msn = 0xFFFFu,
     .stamp = 0x1u,
     .coarse = 1,
     .va = 0x1000u,
     .rkey = 0x80000001u,
     .message_bytes = 4294967295u,
     .payload_bytes = 256,
     .payload_seed = 2,
     .hex =
         "0211223344f602a1b2c3d4e5080045020144000040003d1129a20a0001020a00fe03f36212b701300000c700ffff00ab"
         "cdef300000000000ffff00018001000000000000100080000001ffffffff020910171e252c333a41484f565d646b7279"
         "80878e959ca3aab1b8bfc6cdd4dbe2e9f0f7fe050c131a21282f363d444b525960676e757c838a91989fa6adb4bbc2c9"
         "d0d7dee5ecf3fa01080f161d242b323940474e555c636a71787f868d949ba2a9b0b7bec5ccd3dae1e8eff6fd040b1219"
         "20272e353c434a51585f666d747b828990979ea5acb3bac1c8cfd6dde4ebf2f900070e151c232a31383f464d545b6269"
         "70777e858c939aa1a8afb6bdc4cbd2d9e0e7eef5fc030a11181f262d343b424950575e656c737a81888f969da4abb2b9"
         "c0c7ced5dce3eaf1f8ff060d141b222930373e454c535a61686f767d848b9299a0a7aeb5bcc3cad1d8dfe6edf4fb6820"
         "3d19"},
    {.name = "write_last_ipv4",
     .encodable = true,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .entropy = 0xDAA66D13u,
     .opcode = 0xC8u,
     .pad = 3,
     .dqpn = 0x3u,
     .ack_request = 1,
     .psn = 0x7FFFFFu,
     .rqmsn = 0xFFFFu,
     .msn = 0x1u,
     .va = 0xFFFFFFFFFFFFFFFFull,
     .rkey = 0xFFFFFFFFu,
     .message_bytes = 4097,
     .payload_bytes = 1,
     .payload_seed = 3,
     .hex =
         "0211223344f602a1b2c3d4e5080045020044000040003d112aa20a0001020a00fe036d1312b700300000c830ffff0000"
         "0003807fffffffff0001ffffffffffffffffffffffff00001001030000008ef97de1"},
    {.name = "write_last_imm_ipv4",
     .encodable = true,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .entropy = 0x78DDE6C4u,
     .opcode = 0xC9u,
     .pad = 2,
     .dqpn = 0xFFFFFFu,
     .ack_request = 1,
     .retransmission = 1,
     .has_timestamp = 1,
     .psn = 0x800000u,
     .rqmsn = 0x8001u,
     .msn = 0x7FFEu,
     .stamp = 0x8000u,
     .va = 0x102030405060708ull,
     .rkey = 0x11223344u,
     .message_bytes = 8194,
     .immediate = "deadbe01",
     .payload_bytes = 2,
     .payload_seed = 4,
     .hex =
         "0211223344f602a1b2c3d4e508004502004c000040003d112a9a0a0001020a00fe03e6c412b700380000c920ffff00ff"
         "ffffb080000080017ffe8000000101020304050607081122334400002002deadbe01040b000040f0bbca"},
    {.name = "write_only_ipv4",
     .encodable = true,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .entropy = 0x17156075u,
     .opcode = 0xCAu,
     .pad = 1,
     .pkey = 0x8001u,
     .dqpn = 0x100u,
     .ack_request = 1,
     .has_timestamp = 1,
     .psn = 0x123456u,
     .msn = 0xFFu,
     .stamp = 0x1234u,
     .va = 0xA0B0C0D0E0F00011ull,
     .rkey = 0x100u,
     .message_bytes = 35,
     .payload_bytes = 35,
     .payload_seed = 5,
     .hex =
         "0211223344f602a1b2c3d4e5080045020068000040003d112a7e0a0001020a00fe03607512b700540000ca1080010000"
         "010090123456000000ff12340001a0b0c0d0e0f000110000010000000023050c131a21282f363d444b525960676e757c"
         "838a91989fa6adb4bbc2c9d0d7dee5ecf30006527eef"},
    {.name = "write_only_imm_ipv4",
     .encodable = true,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .entropy = 0xB54CDA26u,
     .opcode = 0xCBu,
     .dqpn = 0x101u,
     .has_timestamp = 1,
     .psn = 0x654321u,
     .rqmsn = 0x7u,
     .msn = 0x9u,
     .stamp = 0xFFFFu,
     .immediate = "01020304",
     .hex =
         "0211223344f602a1b2c3d4e5080045020048000040003d112a9e0a0001020a00fe03da2612b700340000cb00ffff0000"
         "01011065432100070009ffff00010000000000000000000000000000000001020304709abfd2"},
    {.name = "acknowledge_ipv4",
     .encodable = true,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .entropy = 0x538453D7u,
     .dscp = 46,
     .sent_ecn = 0,
     .outer_ecn = 0,
     .ecn = 0,
     .opcode = 0xD1u,
     .dqpn = 0xBEEFu,
     .psn = 0xAu,
     .syndrome = 0x1Fu,
     .ack_msn = 0xF0F1F2u,
     .hex =
         "0211223344f602a1b2c3d4e5080045b80030000040003d112a000a0001020a00fe0353d712b7001c0000d100ffff0000"
         "beef0000000a1ff0f1f2771664ac"},
    {.name = "endpoint_request_ipv4",
     .encodable = true,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .entropy = 0xF1BBCD88u,
     .opcode = 0xD8u,
     .dqpn = 0x2u,
     .psn = 0xA55Au,
     .stamp = 0x4321u,
     .coarse = 1,
     .vendor = 0x5Cu,
     .operation = 1,
     .port_mask = 0x8001C0DEu,
     .hex =
         "0211223344f602a1b2c3d4e508004502003c000040003d112aaa0a0001020a00fe03cd8812b700280000d800ffff0000"
         "00020000a55a0001005c8001c0de000000004321800173d63228"},
    {.name = "endpoint_response_ipv4",
     .encodable = true,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .entropy = 0x8FF34739u,
     .dscp = 46,
     .opcode = 0xD9u,
     .dqpn = 0x2u,
     .psn = 0xA55Au,
     .echo_stamp = 0x4321u,
     .vendor = 0xC5u,
     .operation = 2,
     .hex =
         "0211223344f602a1b2c3d4e5080045ba0050000040003d1129de0a0001020a00fe03473912b7003c0000d900ffff0000"
         "00020000a55a000800c5000000000000000000000000000000000000000000000000432100000000000072df5a8d"},
    {.name = "sack_ipv4",
     .encodable = true,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .entropy = 0x2E2AC0EAu,
     .dscp = 46,
     .opcode = 0xDCu,
     .dqpn = 0xD0E0Fu,
     .retransmission = 1,
     .psn = 0xFEDCBAu,
     .mark = 1,
     .trigger = 0xFFF0u,
     .echo_entropy = 0x89ABCDEFu,
     .sqpn_low = 0x1357u,
     .dqpn_low = 0x2468u,
     .control_psn = 0xFEDCBAu,
     .mpr = 200,
     .bitmap_offset = -62,
     .bitmap = 0x8000000000000001ull,
     .echo_stamp = 0x9ABCu,
     .out_of_order = 32767,
     .restore = 1,
     .penalty = 127,
     .received_units = 0xFFEEDDu,
     .hex =
         "0211223344f602a1b2c3d4e5080045ba0050000040003d1129de0a0001020a00fe03c0ea12b7003c0000dc00ffff000d"
         "0e0f20fedcba0020fff089abcdef1357246800fedcba00c8ffc280000000000000019abc7fffffffeedd596680b5"},
    {.name = "nack_ipv4",
     .encodable = true,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .entropy = 0xCC623A9Bu,
     .dscp = 46,
     .opcode = 0xDDu,
     .dqpn = 0xA0B0Cu,
     .psn = 0xFFFu,
     .echo_entropy = 0x1020304u,
     .sqpn_low = 0xFFFFu,
     .dqpn_low = 0x1u,
     .control_psn = 0xFFFu,
     .echo_stamp = 0x5678u,
     .reason = 0xBu,
     .vendor = 0x77u,
     .hex =
         "0211223344f602a1b2c3d4e5080045ba0040000040003d1129ee0a0001020a00fe033a9b12b7002c0000dd00ffff000a"
         "0b0c00000fff00000b7701020304ffff000100000fff2000567870e114bc"},
    {.name = "probe_ipv4",
     .encodable = true,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .entropy = 0x6A99B44Cu,
     .opcode = 0xDEu,
     .dqpn = 0xC0B0Au,
     .stamp = 0x7FFFu,
     .sqpn_low = 0xAFEu,
     .dqpn_low = 0xB0Au,
     .vendor = 0x31u,
     .probe_id = 0xD00Du,
     .hex =
         "0211223344f602a1b2c3d4e508004502003c000040003d112aaa0a0001020a00fe03b44c12b700280000de00ffff000c"
         "0b0a0000000000000031d00d00000afe0b0a7fff0001cfc72856"},
    {.name = "write_first_ipv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .entropy = 0x8D12DFDu,
     .opcode = 0xC6u,
     .dqpn = 0x12345u,
     .has_timestamp = 1,
     .psn = 0xFFFFFFu,
     .rqmsn = 0x102u,
     .msn = 0x304u,
     .stamp = 0xBEEFu,
     .va = 0x7F00112233445566ull,
     .rkey = 0xCAFE0001u,
     .message_bytes = 11259375,
     .payload_bytes = 64,
     .payload_seed = 1,
     .hex =
         "0211223344f602a1b2c3d4e586dd602008d10070113dfd00000100000000000000000000a001fd000002000000000000"
         "00000000b0022dfd12b700700000c600ffff0001234510ffffff01020304beef00017f00112233445566cafe000100ab"
         "cdef01080f161d242b323940474e555c636a71787f868d949ba2a9b0b7bec5ccd3dae1e8eff6fd040b121920272e353c"
         "434a51585f666d747b828990979ea5acb3ba6ede87c5"},
    {.name = "write_middle_ipv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .entropy = 0xA708A7AEu,
     .opcode = 0xC7u,
     .dqpn = 0xABCDEFu,
     .retransmission = 1,
     .has_timestamp = 1,
     .msn = 0xFFFFu,
     .stamp = 0x1u,
     .coarse = 1,
     .va = 0x1000u,
     .rkey = 0x80000001u,
     .message_bytes = 4294967295u,
     .payload_bytes = 256,
     .payload_seed = 2,
     .hex =
         "0211223344f602a1b2c3d4e586dd6020a7080130113dfd00000100000000000000000000a001fd000002000000000000"
         "00000000b002a7ae12b701300000c700ffff00abcdef300000000000ffff00018001000000000000100080000001ffff"
         "ffff020910171e252c333a41484f565d646b727980878e959ca3aab1b8bfc6cdd4dbe2e9f0f7fe050c131a21282f363d"
         "444b525960676e757c838a91989fa6adb4bbc2c9d0d7dee5ecf3fa01080f161d242b323940474e555c636a71787f868d"
         "949ba2a9b0b7bec5ccd3dae1e8eff6fd040b121920272e353c434a51585f666d747b828990979ea5acb3bac1c8cfd6dd"
         "e4ebf2f900070e151c232a31383f464d545b626970777e858c939aa1a8afb6bdc4cbd2d9e0e7eef5fc030a11181f262d"
         "343b424950575e656c737a81888f969da4abb2b9c0c7ced5dce3eaf1f8ff060d141b222930373e454c535a61686f767d"
         "848b9299a0a7aeb5bcc3cad1d8dfe6edf4fb8117ec8b"},
    {.name = "write_last_ipv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .entropy = 0x4540215Fu,
     .opcode = 0xC8u,
     .pad = 3,
     .dqpn = 0x3u,
     .ack_request = 1,
     .psn = 0x7FFFFFu,
     .rqmsn = 0xFFFFu,
     .msn = 0x1u,
     .va = 0xFFFFFFFFFFFFFFFFull,
     .rkey = 0xFFFFFFFFu,
     .message_bytes = 4097,
     .payload_bytes = 1,
     .payload_seed = 3,
     .hex =
         "0211223344f602a1b2c3d4e586dd602045400030113dfd00000100000000000000000000a001fd000002000000000000"
         "00000000b002215f12b700300000c830ffff00000003807fffffffff0001ffffffffffffffffffffffff000010010300"
         "0000308f7aac"},
    {.name = "write_last_imm_ipv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .entropy = 0xE3779B10u,
     .opcode = 0xC9u,
     .pad = 2,
     .dqpn = 0xFFFFFFu,
     .ack_request = 1,
     .retransmission = 1,
     .has_timestamp = 1,
     .psn = 0x800000u,
     .rqmsn = 0x8001u,
     .msn = 0x7FFEu,
     .stamp = 0x8000u,
     .va = 0x102030405060708ull,
     .rkey = 0x11223344u,
     .message_bytes = 8194,
     .immediate = "deadbe01",
     .payload_bytes = 2,
     .payload_seed = 4,
     .hex =
         "0211223344f602a1b2c3d4e586dd6020e3770038113dfd00000100000000000000000000a001fd000002000000000000"
         "00000000b0029b1012b700380000c920ffff00ffffffb080000080017ffe800000010102030405060708112233440000"
         "2002deadbe01040b00000a606c00"},
    {.name = "write_only_ipv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .entropy = 0x81AF14C1u,
     .opcode = 0xCAu,
     .pad = 1,
     .pkey = 0x8001u,
     .dqpn = 0x100u,
     .ack_request = 1,
     .has_timestamp = 1,
     .psn = 0x123456u,
     .msn = 0xFFu,
     .stamp = 0x1234u,
     .va = 0xA0B0C0D0E0F00011ull,
     .rkey = 0x100u,
     .message_bytes = 35,
     .payload_bytes = 35,
     .payload_seed = 5,
     .hex =
         "0211223344f602a1b2c3d4e586dd602081af0054113dfd00000100000000000000000000a001fd000002000000000000"
         "00000000b00214c112b700540000ca1080010000010090123456000000ff12340001a0b0c0d0e0f00011000001000000"
         "0023050c131a21282f363d444b525960676e757c838a91989fa6adb4bbc2c9d0d7dee5ecf300ec9b76ad"},
    {.name = "write_only_imm_ipv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .entropy = 0x1FE68E72u,
     .opcode = 0xCBu,
     .dqpn = 0x101u,
     .has_timestamp = 1,
     .psn = 0x654321u,
     .rqmsn = 0x7u,
     .msn = 0x9u,
     .stamp = 0xFFFFu,
     .immediate = "01020304",
     .hex =
         "0211223344f602a1b2c3d4e586dd60201fe60034113dfd00000100000000000000000000a001fd000002000000000000"
         "00000000b0028e7212b700340000cb00ffff000001011065432100070009ffff00010000000000000000000000000000"
         "00000102030498d3fe14"},
    {.name = "acknowledge_ipv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .entropy = 0xBE1E0823u,
     .dscp = 46,
     .sent_ecn = 0,
     .outer_ecn = 0,
     .ecn = 0,
     .opcode = 0xD1u,
     .dqpn = 0xBEEFu,
     .psn = 0xAu,
     .syndrome = 0x1Fu,
     .ack_msn = 0xF0F1F2u,
     .hex =
         "0211223344f602a1b2c3d4e586dd6b80be1e001c113dfd00000100000000000000000000a001fd000002000000000000"
         "00000000b002082312b7001c0000d100ffff0000beef0000000a1ff0f1f29f4d665c"},
    {.name = "endpoint_request_ipv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .entropy = 0x5C5581D4u,
     .opcode = 0xD8u,
     .dqpn = 0x2u,
     .psn = 0xA55Au,
     .stamp = 0x4321u,
     .coarse = 1,
     .vendor = 0x5Cu,
     .operation = 1,
     .port_mask = 0x8001C0DEu,
     .hex =
         "0211223344f602a1b2c3d4e586dd60205c550028113dfd00000100000000000000000000a001fd000002000000000000"
         "00000000b00281d412b700280000d800ffff000000020000a55a0001005c8001c0de00000000432180012de26e63"},
    {.name = "endpoint_response_ipv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .entropy = 0xFA8CFB85u,
     .dscp = 46,
     .opcode = 0xD9u,
     .dqpn = 0x2u,
     .psn = 0xA55Au,
     .echo_stamp = 0x4321u,
     .vendor = 0xC5u,
     .operation = 2,
     .hex =
         "0211223344f602a1b2c3d4e586dd6ba0fa8c003c113dfd00000100000000000000000000a001fd000002000000000000"
         "00000000b002fb8512b7003c0000d900ffff000000020000a55a000800c5000000000000000000000000000000000000"
         "0000000000004321000000000000b1521ff9"},
    {.name = "sack_ipv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .entropy = 0x98C47536u,
     .dscp = 46,
     .opcode = 0xDCu,
     .dqpn = 0xD0E0Fu,
     .retransmission = 1,
     .psn = 0xFEDCBAu,
     .mark = 1,
     .trigger = 0xFFF0u,
     .echo_entropy = 0x89ABCDEFu,
     .sqpn_low = 0x1357u,
     .dqpn_low = 0x2468u,
     .control_psn = 0xFEDCBAu,
     .mpr = 200,
     .bitmap_offset = -62,
     .bitmap = 0x8000000000000001ull,
     .echo_stamp = 0x9ABCu,
     .out_of_order = 32767,
     .restore = 1,
     .penalty = 127,
     .received_units = 0xFFEEDDu,
     .hex =
         "0211223344f602a1b2c3d4e586dd6ba098c4003c113dfd00000100000000000000000000a001fd000002000000000000"
         "00000000b002753612b7003c0000dc00ffff000d0e0f20fedcba0020fff089abcdef1357246800fedcba00c8ffc28000"
         "0000000000019abc7fffffffeedd3ef87946"},
    {.name = "nack_ipv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .entropy = 0x36FBEEE7u,
     .dscp = 46,
     .opcode = 0xDDu,
     .dqpn = 0xA0B0Cu,
     .psn = 0xFFFu,
     .echo_entropy = 0x1020304u,
     .sqpn_low = 0xFFFFu,
     .dqpn_low = 0x1u,
     .control_psn = 0xFFFu,
     .echo_stamp = 0x5678u,
     .reason = 0xBu,
     .vendor = 0x77u,
     .hex =
         "0211223344f602a1b2c3d4e586dd6ba036fb002c113dfd00000100000000000000000000a001fd000002000000000000"
         "00000000b002eee712b7002c0000dd00ffff000a0b0c00000fff00000b7701020304ffff000100000fff2000567834aa"
         "a0ee"},
    {.name = "probe_ipv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .entropy = 0xD5336898u,
     .opcode = 0xDEu,
     .dqpn = 0xC0B0Au,
     .stamp = 0x7FFFu,
     .sqpn_low = 0xAFEu,
     .dqpn_low = 0xB0Au,
     .vendor = 0x31u,
     .probe_id = 0xD00Du,
     .hex =
         "0211223344f602a1b2c3d4e586dd6020d5330028113dfd00000100000000000000000000a001fd000002000000000000"
         "00000000b002689812b700280000de00ffff000c0b0a0000000000000031d00d00000afe0b0a7fff0001b713fe43"},
    {.name = "write_first_srv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0x736AE249u,
     .opcode = 0xC6u,
     .dqpn = 0x12345u,
     .has_timestamp = 1,
     .psn = 0xFFFFFFu,
     .rqmsn = 0x102u,
     .msn = 0x304u,
     .stamp = 0xBEEFu,
     .va = 0x7F00112233445566ull,
     .rkey = 0xCAFE0001u,
     .message_bytes = 11259375,
     .payload_bytes = 64,
     .payload_seed = 1,
     .hex =
         "0211223344f602a1b2c3d4e586dd6020736a00982940fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "9002000000006020736a0070113dfd00000100000000000000000000a001fd00000200000000000000000000b002e249"
         "12b700700000c600ffff0001234510ffffff01020304beef00017f00112233445566cafe000100abcdef01080f161d24"
         "2b323940474e555c636a71787f868d949ba2a9b0b7bec5ccd3dae1e8eff6fd040b121920272e353c434a51585f666d74"
         "7b828990979ea5acb3bac6996ca2"},
    {.name = "write_middle_srv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0x11A25BFAu,
     .opcode = 0xC7u,
     .dqpn = 0xABCDEFu,
     .retransmission = 1,
     .has_timestamp = 1,
     .msn = 0xFFFFu,
     .stamp = 0x1u,
     .coarse = 1,
     .va = 0x1000u,
     .rkey = 0x80000001u,
     .message_bytes = 4294967295u,
     .payload_bytes = 256,
     .payload_seed = 2,
     .hex =
         "0211223344f602a1b2c3d4e586dd602011a201582940fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "900200000000602011a20130113dfd00000100000000000000000000a001fd00000200000000000000000000b0025bfa"
         "12b701300000c700ffff00abcdef300000000000ffff00018001000000000000100080000001ffffffff020910171e25"
         "2c333a41484f565d646b727980878e959ca3aab1b8bfc6cdd4dbe2e9f0f7fe050c131a21282f363d444b525960676e75"
         "7c838a91989fa6adb4bbc2c9d0d7dee5ecf3fa01080f161d242b323940474e555c636a71787f868d949ba2a9b0b7bec5"
         "ccd3dae1e8eff6fd040b121920272e353c434a51585f666d747b828990979ea5acb3bac1c8cfd6dde4ebf2f900070e15"
         "1c232a31383f464d545b626970777e858c939aa1a8afb6bdc4cbd2d9e0e7eef5fc030a11181f262d343b424950575e65"
         "6c737a81888f969da4abb2b9c0c7ced5dce3eaf1f8ff060d141b222930373e454c535a61686f767d848b9299a0a7aeb5"
         "bcc3cad1d8dfe6edf4fbc2f5ed45"},
    {.name = "write_last_srv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0xAFD9D5ABu,
     .opcode = 0xC8u,
     .pad = 3,
     .dqpn = 0x3u,
     .ack_request = 1,
     .psn = 0x7FFFFFu,
     .rqmsn = 0xFFFFu,
     .msn = 0x1u,
     .va = 0xFFFFFFFFFFFFFFFFull,
     .rkey = 0xFFFFFFFFu,
     .message_bytes = 4097,
     .payload_bytes = 1,
     .payload_seed = 3,
     .hex =
         "0211223344f602a1b2c3d4e586dd6020afd900582940fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "9002000000006020afd90030113dfd00000100000000000000000000a001fd00000200000000000000000000b002d5ab"
         "12b700300000c830ffff00000003807fffffffff0001ffffffffffffffffffffffff000010010300000055cf05bd"},
    {.name = "write_last_imm_srv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0x4E114F5Cu,
     .opcode = 0xC9u,
     .pad = 2,
     .dqpn = 0xFFFFFFu,
     .ack_request = 1,
     .retransmission = 1,
     .has_timestamp = 1,
     .psn = 0x800000u,
     .rqmsn = 0x8001u,
     .msn = 0x7FFEu,
     .stamp = 0x8000u,
     .va = 0x102030405060708ull,
     .rkey = 0x11223344u,
     .message_bytes = 8194,
     .immediate = "deadbe01",
     .payload_bytes = 2,
     .payload_seed = 4,
     .hex =
         "0211223344f602a1b2c3d4e586dd60204e1100602940fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "90020000000060204e110038113dfd00000100000000000000000000a001fd00000200000000000000000000b0024f5c"
         "12b700380000c920ffff00ffffffb080000080017ffe8000000101020304050607081122334400002002deadbe01040b"
         "0000a88b9359"},
    {.name = "write_only_srv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0xEC48C90Du,
     .opcode = 0xCAu,
     .pad = 1,
     .pkey = 0x8001u,
     .dqpn = 0x100u,
     .ack_request = 1,
     .has_timestamp = 1,
     .psn = 0x123456u,
     .msn = 0xFFu,
     .stamp = 0x1234u,
     .va = 0xA0B0C0D0E0F00011ull,
     .rkey = 0x100u,
     .message_bytes = 35,
     .payload_bytes = 35,
     .payload_seed = 5,
     .hex =
         "0211223344f602a1b2c3d4e586dd6020ec48007c2940fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "9002000000006020ec480054113dfd00000100000000000000000000a001fd00000200000000000000000000b002c90d"
         "12b700540000ca1080010000010090123456000000ff12340001a0b0c0d0e0f000110000010000000023050c131a2128"
         "2f363d444b525960676e757c838a91989fa6adb4bbc2c9d0d7dee5ecf300bde78c89"},
    {.name = "write_only_imm_srv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0x8A8042BEu,
     .opcode = 0xCBu,
     .dqpn = 0x101u,
     .has_timestamp = 1,
     .psn = 0x654321u,
     .rqmsn = 0x7u,
     .msn = 0x9u,
     .stamp = 0xFFFFu,
     .immediate = "01020304",
     .hex =
         "0211223344f602a1b2c3d4e586dd60208a80005c2940fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "90020000000060208a800034113dfd00000100000000000000000000a001fd00000200000000000000000000b00242be"
         "12b700340000cb00ffff000001011065432100070009ffff000100000000000000000000000000000000010203045093"
         "34b4"},
    {.name = "acknowledge_srv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0x28B7BC6Fu,
     .dscp = 46,
     .sent_ecn = 0,
     .outer_ecn = 0,
     .ecn = 0,
     .opcode = 0xD1u,
     .dqpn = 0xBEEFu,
     .psn = 0xAu,
     .syndrome = 0x1Fu,
     .ack_msn = 0xF0F1F2u,
     .hex =
         "0211223344f602a1b2c3d4e586dd6b8028b700442940fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "9002000000006b8028b7001c113dfd00000100000000000000000000a001fd00000200000000000000000000b002bc6f"
         "12b7001c0000d100ffff0000beef0000000a1ff0f1f2685c4bfc"},
    {.name = "endpoint_request_srv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0xC6EF3620u,
     .opcode = 0xD8u,
     .dqpn = 0x2u,
     .psn = 0xA55Au,
     .stamp = 0x4321u,
     .coarse = 1,
     .vendor = 0x5Cu,
     .operation = 1,
     .port_mask = 0x8001C0DEu,
     .hex =
         "0211223344f602a1b2c3d4e586dd6020c6ef00502940fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "9002000000006020c6ef0028113dfd00000100000000000000000000a001fd00000200000000000000000000b0023620"
         "12b700280000d800ffff000000020000a55a0001005c8001c0de00000000432180018ccaee0e"},
    {.name = "endpoint_response_srv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0x6526AFD1u,
     .dscp = 46,
     .opcode = 0xD9u,
     .dqpn = 0x2u,
     .psn = 0xA55Au,
     .echo_stamp = 0x4321u,
     .vendor = 0xC5u,
     .operation = 2,
     .hex =
         "0211223344f602a1b2c3d4e586dd6ba0652600642940fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "9002000000006ba06526003c113dfd00000100000000000000000000a001fd00000200000000000000000000b002afd1"
         "12b7003c0000d900ffff000000020000a55a000800c50000000000000000000000000000000000000000000000004321"
         "000000000000d6d49cad"},
    {.name = "sack_srv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0x35E2982u,
     .dscp = 46,
     .opcode = 0xDCu,
     .dqpn = 0xD0E0Fu,
     .retransmission = 1,
     .psn = 0xFEDCBAu,
     .mark = 1,
     .trigger = 0xFFF0u,
     .echo_entropy = 0x89ABCDEFu,
     .sqpn_low = 0x1357u,
     .dqpn_low = 0x2468u,
     .control_psn = 0xFEDCBAu,
     .mpr = 200,
     .bitmap_offset = -62,
     .bitmap = 0x8000000000000001ull,
     .echo_stamp = 0x9ABCu,
     .out_of_order = 32767,
     .restore = 1,
     .penalty = 127,
     .received_units = 0xFFEEDDu,
     .hex =
         "0211223344f602a1b2c3d4e586dd6ba0035e00642940fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "9002000000006ba0035e003c113dfd00000100000000000000000000a001fd00000200000000000000000000b0022982"
         "12b7003c0000dc00ffff000d0e0f20fedcba0020fff089abcdef1357246800fedcba00c8ffc280000000000000019abc"
         "7fffffffeeddf1aa0188"},
    {.name = "nack_srv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0xA195A333u,
     .dscp = 46,
     .opcode = 0xDDu,
     .dqpn = 0xA0B0Cu,
     .psn = 0xFFFu,
     .echo_entropy = 0x1020304u,
     .sqpn_low = 0xFFFFu,
     .dqpn_low = 0x1u,
     .control_psn = 0xFFFu,
     .echo_stamp = 0x5678u,
     .reason = 0xBu,
     .vendor = 0x77u,
     .hex =
         "0211223344f602a1b2c3d4e586dd6ba0a19500542940fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "9002000000006ba0a195002c113dfd00000100000000000000000000a001fd00000200000000000000000000b002a333"
         "12b7002c0000dd00ffff000a0b0c00000fff00000b7701020304ffff000100000fff2000567873bc95d4"},
    {.name = "probe_srv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0x3FCD1CE4u,
     .opcode = 0xDEu,
     .dqpn = 0xC0B0Au,
     .stamp = 0x7FFFu,
     .sqpn_low = 0xAFEu,
     .dqpn_low = 0xB0Au,
     .vendor = 0x31u,
     .probe_id = 0xD00Du,
     .hex =
         "0211223344f602a1b2c3d4e586dd60203fcd00502940fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "90020000000060203fcd0028113dfd00000100000000000000000000a001fd00000200000000000000000000b0021ce4"
         "12b700280000de00ffff000c0b0a0000000000000031d00d00000afe0b0a7fff00016047b2c6"},
    {.name = "write_first_srv6_v4",
     .encodable = true,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0xDE049695u,
     .opcode = 0xC6u,
     .dqpn = 0x12345u,
     .has_timestamp = 1,
     .psn = 0xFFFFFFu,
     .rqmsn = 0x102u,
     .msn = 0x304u,
     .stamp = 0xBEEFu,
     .va = 0x7F00112233445566ull,
     .rkey = 0xCAFE0001u,
     .message_bytes = 11259375,
     .payload_bytes = 64,
     .payload_seed = 1,
     .hex =
         "0211223344f602a1b2c3d4e586dd6020de0400840440fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "90020000000045020084000040003d112a620a0001020a00fe03969512b700700000c600ffff0001234510ffffff0102"
         "0304beef00017f00112233445566cafe000100abcdef01080f161d242b323940474e555c636a71787f868d949ba2a9b0"
         "b7bec5ccd3dae1e8eff6fd040b121920272e353c434a51585f666d747b828990979ea5acb3ba7b1151ac"},
    {.name = "write_middle_srv6_v4",
     .encodable = true,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0x7C3C1046u,
     .opcode = 0xC7u,
     .dqpn = 0xABCDEFu,
     .retransmission = 1,
     .has_timestamp = 1,
     .msn = 0xFFFFu,
     .stamp = 0x1u,
     .coarse = 1,
     .va = 0x1000u,
     .rkey = 0x80000001u,
     .message_bytes = 4294967295u,
     .payload_bytes = 256,
     .payload_seed = 2,
     .hex =
         "0211223344f602a1b2c3d4e586dd60207c3c01440440fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "90020000000045020144000040003d1129a20a0001020a00fe03104612b701300000c700ffff00abcdef300000000000"
         "ffff00018001000000000000100080000001ffffffff020910171e252c333a41484f565d646b727980878e959ca3aab1"
         "b8bfc6cdd4dbe2e9f0f7fe050c131a21282f363d444b525960676e757c838a91989fa6adb4bbc2c9d0d7dee5ecf3fa01"
         "080f161d242b323940474e555c636a71787f868d949ba2a9b0b7bec5ccd3dae1e8eff6fd040b121920272e353c434a51"
         "585f666d747b828990979ea5acb3bac1c8cfd6dde4ebf2f900070e151c232a31383f464d545b626970777e858c939aa1"
         "a8afb6bdc4cbd2d9e0e7eef5fc030a11181f262d343b424950575e656c737a81888f969da4abb2b9c0c7ced5dce3eaf1"
         "f8ff060d141b222930373e454c535a61686f767d848b9299a0a7aeb5bcc3cad1d8dfe6edf4fb7cb3aad5"},
    {.name = "write_last_srv6_v4",
     .encodable = true,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0x1A7389F7u,
     .opcode = 0xC8u,
     .pad = 3,
     .dqpn = 0x3u,
     .ack_request = 1,
     .psn = 0x7FFFFFu,
     .rqmsn = 0xFFFFu,
     .msn = 0x1u,
     .va = 0xFFFFFFFFFFFFFFFFull,
     .rkey = 0xFFFFFFFFu,
     .message_bytes = 4097,
     .payload_bytes = 1,
     .payload_seed = 3,
     .hex =
         "0211223344f602a1b2c3d4e586dd60201a7300440440fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "90020000000045020044000040003d112aa20a0001020a00fe0389f712b700300000c830ffff00000003807fffffffff"
         "0001ffffffffffffffffffffffff00001001030000003e4f0b95"},
    {.name = "write_last_imm_srv6_v4",
     .encodable = true,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0xB8AB03A8u,
     .opcode = 0xC9u,
     .pad = 2,
     .dqpn = 0xFFFFFFu,
     .ack_request = 1,
     .retransmission = 1,
     .has_timestamp = 1,
     .psn = 0x800000u,
     .rqmsn = 0x8001u,
     .msn = 0x7FFEu,
     .stamp = 0x8000u,
     .va = 0x102030405060708ull,
     .rkey = 0x11223344u,
     .message_bytes = 8194,
     .immediate = "deadbe01",
     .payload_bytes = 2,
     .payload_seed = 4,
     .hex =
         "0211223344f602a1b2c3d4e586dd6020b8ab004c0440fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "9002000000004502004c000040003d112a9a0a0001020a00fe0303a812b700380000c920ffff00ffffffb08000008001"
         "7ffe8000000101020304050607081122334400002002deadbe01040b0000a684efaf"},
    {.name = "write_only_srv6_v4",
     .encodable = true,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0x56E27D59u,
     .opcode = 0xCAu,
     .pad = 1,
     .pkey = 0x8001u,
     .dqpn = 0x100u,
     .ack_request = 1,
     .has_timestamp = 1,
     .psn = 0x123456u,
     .msn = 0xFFu,
     .stamp = 0x1234u,
     .va = 0xA0B0C0D0E0F00011ull,
     .rkey = 0x100u,
     .message_bytes = 35,
     .payload_bytes = 35,
     .payload_seed = 5,
     .hex =
         "0211223344f602a1b2c3d4e586dd602056e200680440fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "90020000000045020068000040003d112a7e0a0001020a00fe037d5912b700540000ca10800100000100901234560000"
         "00ff12340001a0b0c0d0e0f000110000010000000023050c131a21282f363d444b525960676e757c838a91989fa6adb4"
         "bbc2c9d0d7dee5ecf3009c475d74"},
    {.name = "write_only_imm_srv6_v4",
     .encodable = true,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0xF519F70Au,
     .opcode = 0xCBu,
     .dqpn = 0x101u,
     .has_timestamp = 1,
     .psn = 0x654321u,
     .rqmsn = 0x7u,
     .msn = 0x9u,
     .stamp = 0xFFFFu,
     .immediate = "01020304",
     .hex =
         "0211223344f602a1b2c3d4e586dd6020f51900480440fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "90020000000045020048000040003d112a9e0a0001020a00fe03f70a12b700340000cb00ffff00000101106543210007"
         "0009ffff00010000000000000000000000000000000001020304ac093a35"},
    {.name = "acknowledge_srv6_v4",
     .encodable = true,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0x935170BBu,
     .dscp = 46,
     .sent_ecn = 0,
     .outer_ecn = 0,
     .ecn = 0,
     .opcode = 0xD1u,
     .dqpn = 0xBEEFu,
     .psn = 0xAu,
     .syndrome = 0x1Fu,
     .ack_msn = 0xF0F1F2u,
     .hex =
         "0211223344f602a1b2c3d4e586dd6b80935100300440fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "90020000000045b80030000040003d112a000a0001020a00fe0370bb12b7001c0000d100ffff0000beef0000000a1ff0"
         "f1f238b6660d"},
    {.name = "endpoint_request_srv6_v4",
     .encodable = true,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0x3188EA6Cu,
     .opcode = 0xD8u,
     .dqpn = 0x2u,
     .psn = 0xA55Au,
     .stamp = 0x4321u,
     .coarse = 1,
     .vendor = 0x5Cu,
     .operation = 1,
     .port_mask = 0x8001C0DEu,
     .hex =
         "0211223344f602a1b2c3d4e586dd60203188003c0440fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "9002000000004502003c000040003d112aaa0a0001020a00fe03ea6c12b700280000d800ffff000000020000a55a0001"
         "005c8001c0de000000004321800121d3c68c"},
    {.name = "endpoint_response_srv6_v4",
     .encodable = true,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0xCFC0641Du,
     .dscp = 46,
     .opcode = 0xD9u,
     .dqpn = 0x2u,
     .psn = 0xA55Au,
     .echo_stamp = 0x4321u,
     .vendor = 0xC5u,
     .operation = 2,
     .hex =
         "0211223344f602a1b2c3d4e586dd6ba0cfc000500440fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "90020000000045ba0050000040003d1129de0a0001020a00fe03641d12b7003c0000d900ffff000000020000a55a0008"
         "00c50000000000000000000000000000000000000000000000004321000000000000af26fbbc"},
    {.name = "sack_srv6_v4",
     .encodable = true,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0x6DF7DDCEu,
     .dscp = 46,
     .opcode = 0xDCu,
     .dqpn = 0xD0E0Fu,
     .retransmission = 1,
     .psn = 0xFEDCBAu,
     .mark = 1,
     .trigger = 0xFFF0u,
     .echo_entropy = 0x89ABCDEFu,
     .sqpn_low = 0x1357u,
     .dqpn_low = 0x2468u,
     .control_psn = 0xFEDCBAu,
     .mpr = 200,
     .bitmap_offset = -62,
     .bitmap = 0x8000000000000001ull,
     .echo_stamp = 0x9ABCu,
     .out_of_order = 32767,
     .restore = 1,
     .penalty = 127,
     .received_units = 0xFFEEDDu,
     .hex =
         "0211223344f602a1b2c3d4e586dd6ba06df700500440fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "90020000000045ba0050000040003d1129de0a0001020a00fe03ddce12b7003c0000dc00ffff000d0e0f20fedcba0020"
         "fff089abcdef1357246800fedcba00c8ffc280000000000000019abc7fffffffeedd9d249723"},
    {.name = "nack_srv6_v4",
     .encodable = true,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0xC2F577Fu,
     .dscp = 46,
     .opcode = 0xDDu,
     .dqpn = 0xA0B0Cu,
     .psn = 0xFFFu,
     .echo_entropy = 0x1020304u,
     .sqpn_low = 0xFFFFu,
     .dqpn_low = 0x1u,
     .control_psn = 0xFFFu,
     .echo_stamp = 0x5678u,
     .reason = 0xBu,
     .vendor = 0x77u,
     .hex =
         "0211223344f602a1b2c3d4e586dd6ba00c2f00400440fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "90020000000045ba0040000040003d1129ee0a0001020a00fe03577f12b7002c0000dd00ffff000a0b0c00000fff0000"
         "0b7701020304ffff000100000fff20005678b00745e0"},
    {.name = "probe_srv6_v4",
     .encodable = true,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0xAA66D130u,
     .opcode = 0xDEu,
     .dqpn = 0xC0B0Au,
     .stamp = 0x7FFFu,
     .sqpn_low = 0xAFEu,
     .dqpn_low = 0xB0Au,
     .vendor = 0x31u,
     .probe_id = 0xD00Du,
     .hex =
         "0211223344f602a1b2c3d4e586dd6020aa66003c0440fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "9002000000004502003c000040003d112aaa0a0001020a00fe03d13012b700280000de00ffff000c0b0a000000000000"
         "0031d00d00000afe0b0a7fff0001d12555a7"},
    {.name = "write_full_mtu_srv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0x489E4AE1u,
     .opcode = 0xC9u,
     .dqpn = 0x44u,
     .has_timestamp = 1,
     .psn = 0x99u,
     .rqmsn = 0x3u,
     .msn = 0x4u,
     .stamp = 0xF0Fu,
     .va = 0x7FFFFFFFF000ull,
     .rkey = 0x5u,
     .message_bytes = 8192,
     .immediate = "a1b2c3d4",
     .payload_bytes = 4096,
     .payload_seed = 11,
     .hex =
         "0211223344f602a1b2c3d4e586dd6020489e105c2940fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "9002000000006020489e1034113dfd00000100000000000000000000a001fd00000200000000000000000000b0024ae1"
         "12b710340000c900ffff0000004410000099000300040f0f000100007ffffffff0000000000500002000a1b2c3d40b12"
         "1920272e353c434a51585f666d747b828990979ea5acb3bac1c8cfd6dde4ebf2f900070e151c232a31383f464d545b62"
         "6970777e858c939aa1a8afb6bdc4cbd2d9e0e7eef5fc030a11181f262d343b424950575e656c737a81888f969da4abb2"
         "b9c0c7ced5dce3eaf1f8ff060d141b222930373e454c535a61686f767d848b9299a0a7aeb5bcc3cad1d8dfe6edf4fb02"
         "0910171e252c333a41484f565d646b727980878e959ca3aab1b8bfc6cdd4dbe2e9f0f7fe050c131a21282f363d444b52"
         "5960676e757c838a91989fa6adb4bbc2c9d0d7dee5ecf3fa01080f161d242b323940474e555c636a71787f868d949ba2"
         "a9b0b7bec5ccd3dae1e8eff6fd040b121920272e353c434a51585f666d747b828990979ea5acb3bac1c8cfd6dde4ebf2"
         "f900070e151c232a31383f464d545b626970777e858c939aa1a8afb6bdc4cbd2d9e0e7eef5fc030a11181f262d343b42"
         "4950575e656c737a81888f969da4abb2b9c0c7ced5dce3eaf1f8ff060d141b222930373e454c535a61686f767d848b92"
         "99a0a7aeb5bcc3cad1d8dfe6edf4fb020910171e252c333a41484f565d646b727980878e959ca3aab1b8bfc6cdd4dbe2"
         "e9f0f7fe050c131a21282f363d444b525960676e757c838a91989fa6adb4bbc2c9d0d7dee5ecf3fa01080f161d242b32"
         "3940474e555c636a71787f868d949ba2a9b0b7bec5ccd3dae1e8eff6fd040b121920272e353c434a51585f666d747b82"
         "8990979ea5acb3bac1c8cfd6dde4ebf2f900070e151c232a31383f464d545b626970777e858c939aa1a8afb6bdc4cbd2"
         "d9e0e7eef5fc030a11181f262d343b424950575e656c737a81888f969da4abb2b9c0c7ced5dce3eaf1f8ff060d141b22"
         "2930373e454c535a61686f767d848b9299a0a7aeb5bcc3cad1d8dfe6edf4fb020910171e252c333a41484f565d646b72"
         "7980878e959ca3aab1b8bfc6cdd4dbe2e9f0f7fe050c131a21282f363d444b525960676e757c838a91989fa6adb4bbc2"
         "c9d0d7dee5ecf3fa01080f161d242b323940474e555c636a71787f868d949ba2a9b0b7bec5ccd3dae1e8eff6fd040b12"
         "1920272e353c434a51585f666d747b828990979ea5acb3bac1c8cfd6dde4ebf2f900070e151c232a31383f464d545b62"
         "6970777e858c939aa1a8afb6bdc4cbd2d9e0e7eef5fc030a11181f262d343b424950575e656c737a81888f969da4abb2"
         "b9c0c7ced5dce3eaf1f8ff060d141b222930373e454c535a61686f767d848b9299a0a7aeb5bcc3cad1d8dfe6edf4fb02"
         "0910171e252c333a41484f565d646b727980878e959ca3aab1b8bfc6cdd4dbe2e9f0f7fe050c131a21282f363d444b52"
         "5960676e757c838a91989fa6adb4bbc2c9d0d7dee5ecf3fa01080f161d242b323940474e555c636a71787f868d949ba2"
         "a9b0b7bec5ccd3dae1e8eff6fd040b121920272e353c434a51585f666d747b828990979ea5acb3bac1c8cfd6dde4ebf2"
         "f900070e151c232a31383f464d545b626970777e858c939aa1a8afb6bdc4cbd2d9e0e7eef5fc030a11181f262d343b42"
         "4950575e656c737a81888f969da4abb2b9c0c7ced5dce3eaf1f8ff060d141b222930373e454c535a61686f767d848b92"
         "99a0a7aeb5bcc3cad1d8dfe6edf4fb020910171e252c333a41484f565d646b727980878e959ca3aab1b8bfc6cdd4dbe2"
         "e9f0f7fe050c131a21282f363d444b525960676e757c838a91989fa6adb4bbc2c9d0d7dee5ecf3fa01080f161d242b32"
         "3940474e555c636a71787f868d949ba2a9b0b7bec5ccd3dae1e8eff6fd040b121920272e353c434a51585f666d747b82"
         "8990979ea5acb3bac1c8cfd6dde4ebf2f900070e151c232a31383f464d545b626970777e858c939aa1a8afb6bdc4cbd2"
         "d9e0e7eef5fc030a11181f262d343b424950575e656c737a81888f969da4abb2b9c0c7ced5dce3eaf1f8ff060d141b22"
         "2930373e454c535a61686f767d848b9299a0a7aeb5bcc3cad1d8dfe6edf4fb020910171e252c333a41484f565d646b72"
         "7980878e959ca3aab1b8bfc6cdd4dbe2e9f0f7fe050c131a21282f363d444b525960676e757c838a91989fa6adb4bbc2"
         "c9d0d7dee5ecf3fa01080f161d242b323940474e555c636a71787f868d949ba2a9b0b7bec5ccd3dae1e8eff6fd040b12"
         "1920272e353c434a51585f666d747b828990979ea5acb3bac1c8cfd6dde4ebf2f900070e151c232a31383f464d545b62"
         "6970777e858c939aa1a8afb6bdc4cbd2d9e0e7eef5fc030a11181f262d343b424950575e656c737a81888f969da4abb2"
         "b9c0c7ced5dce3eaf1f8ff060d141b222930373e454c535a61686f767d848b9299a0a7aeb5bcc3cad1d8dfe6edf4fb02"
         "0910171e252c333a41484f565d646b727980878e959ca3aab1b8bfc6cdd4dbe2e9f0f7fe050c131a21282f363d444b52"
         "5960676e757c838a91989fa6adb4bbc2c9d0d7dee5ecf3fa01080f161d242b323940474e555c636a71787f868d949ba2"
         "a9b0b7bec5ccd3dae1e8eff6fd040b121920272e353c434a51585f666d747b828990979ea5acb3bac1c8cfd6dde4ebf2"
         "f900070e151c232a31383f464d545b626970777e858c939aa1a8afb6bdc4cbd2d9e0e7eef5fc030a11181f262d343b42"
         "4950575e656c737a81888f969da4abb2b9c0c7ced5dce3eaf1f8ff060d141b222930373e454c535a61686f767d848b92"
         "99a0a7aeb5bcc3cad1d8dfe6edf4fb020910171e252c333a41484f565d646b727980878e959ca3aab1b8bfc6cdd4dbe2"
         "e9f0f7fe050c131a21282f363d444b525960676e757c838a91989fa6adb4bbc2c9d0d7dee5ecf3fa01080f161d242b32"
         "3940474e555c636a71787f868d949ba2a9b0b7bec5ccd3dae1e8eff6fd040b121920272e353c434a51585f666d747b82"
         "8990979ea5acb3bac1c8cfd6dde4ebf2f900070e151c232a31383f464d545b626970777e858c939aa1a8afb6bdc4cbd2"
         "d9e0e7eef5fc030a11181f262d343b424950575e656c737a81888f969da4abb2b9c0c7ced5dce3eaf1f8ff060d141b22"
         "2930373e454c535a61686f767d848b9299a0a7aeb5bcc3cad1d8dfe6edf4fb020910171e252c333a41484f565d646b72"
         "7980878e959ca3aab1b8bfc6cdd4dbe2e9f0f7fe050c131a21282f363d444b525960676e757c838a91989fa6adb4bbc2"
         "c9d0d7dee5ecf3fa01080f161d242b323940474e555c636a71787f868d949ba2a9b0b7bec5ccd3dae1e8eff6fd040b12"
         "1920272e353c434a51585f666d747b828990979ea5acb3bac1c8cfd6dde4ebf2f900070e151c232a31383f464d545b62"
         "6970777e858c939aa1a8afb6bdc4cbd2d9e0e7eef5fc030a11181f262d343b424950575e656c737a81888f969da4abb2"
         "b9c0c7ced5dce3eaf1f8ff060d141b222930373e454c535a61686f767d848b9299a0a7aeb5bcc3cad1d8dfe6edf4fb02"
         "0910171e252c333a41484f565d646b727980878e959ca3aab1b8bfc6cdd4dbe2e9f0f7fe050c131a21282f363d444b52"
         "5960676e757c838a91989fa6adb4bbc2c9d0d7dee5ecf3fa01080f161d242b323940474e555c636a71787f868d949ba2"
         "a9b0b7bec5ccd3dae1e8eff6fd040b121920272e353c434a51585f666d747b828990979ea5acb3bac1c8cfd6dde4ebf2"
         "f900070e151c232a31383f464d545b626970777e858c939aa1a8afb6bdc4cbd2d9e0e7eef5fc030a11181f262d343b42"
         "4950575e656c737a81888f969da4abb2b9c0c7ced5dce3eaf1f8ff060d141b222930373e454c535a61686f767d848b92"
         "99a0a7aeb5bcc3cad1d8dfe6edf4fb020910171e252c333a41484f565d646b727980878e959ca3aab1b8bfc6cdd4dbe2"
         "e9f0f7fe050c131a21282f363d444b525960676e757c838a91989fa6adb4bbc2c9d0d7dee5ecf3fa01080f161d242b32"
         "3940474e555c636a71787f868d949ba2a9b0b7bec5ccd3dae1e8eff6fd040b121920272e353c434a51585f666d747b82"
         "8990979ea5acb3bac1c8cfd6dde4ebf2f900070e151c232a31383f464d545b626970777e858c939aa1a8afb6bdc4cbd2"
         "d9e0e7eef5fc030a11181f262d343b424950575e656c737a81888f969da4abb2b9c0c7ced5dce3eaf1f8ff060d141b22"
         "2930373e454c535a61686f767d848b9299a0a7aeb5bcc3cad1d8dfe6edf4fb020910171e252c333a41484f565d646b72"
         "7980878e959ca3aab1b8bfc6cdd4dbe2e9f0f7fe050c131a21282f363d444b525960676e757c838a91989fa6adb4bbc2"
         "c9d0d7dee5ecf3fa01080f161d242b323940474e555c636a71787f868d949ba2a9b0b7bec5ccd3dae1e8eff6fd040b12"
         "1920272e353c434a51585f666d747b828990979ea5acb3bac1c8cfd6dde4ebf2f900070e151c232a31383f464d545b62"
         "6970777e858c939aa1a8afb6bdc4cbd2d9e0e7eef5fc030a11181f262d343b424950575e656c737a81888f969da4abb2"
         "b9c0c7ced5dce3eaf1f8ff060d141b222930373e454c535a61686f767d848b9299a0a7aeb5bcc3cad1d8dfe6edf4fb02"
         "0910171e252c333a41484f565d646b727980878e959ca3aab1b8bfc6cdd4dbe2e9f0f7fe050c131a21282f363d444b52"
         "5960676e757c838a91989fa6adb4bbc2c9d0d7dee5ecf3fa01080f161d242b323940474e555c636a71787f868d949ba2"
         "a9b0b7bec5ccd3dae1e8eff6fd040b121920272e353c434a51585f666d747b828990979ea5acb3bac1c8cfd6dde4ebf2"
         "f900070e151c232a31383f464d545b626970777e858c939aa1a8afb6bdc4cbd2d9e0e7eef5fc030a11181f262d343b42"
         "4950575e656c737a81888f969da4abb2b9c0c7ced5dce3eaf1f8ff060d141b222930373e454c535a61686f767d848b92"
         "99a0a7aeb5bcc3cad1d8dfe6edf4fb020910171e252c333a41484f565d646b727980878e959ca3aab1b8bfc6cdd4dbe2"
         "e9f0f7fe050c131a21282f363d444b525960676e757c838a91989fa6adb4bbc2c9d0d7dee5ecf3fa01080f161d242b32"
         "3940474e555c636a71787f868d949ba2a9b0b7bec5ccd3dae1e8eff6fd040b121920272e353c434a51585f666d747b82"
         "8990979ea5acb3bac1c8cfd6dde4ebf2f900070e151c232a31383f464d545b626970777e858c939aa1a8afb6bdc4cbd2"
         "d9e0e7eef5fc030a11181f262d343b424950575e656c737a81888f969da4abb2b9c0c7ced5dce3eaf1f8ff060d141b22"
         "2930373e454c535a61686f767d848b9299a0a7aeb5bcc3cad1d8dfe6edf4fb020910171e252c333a41484f565d646b72"
         "7980878e959ca3aab1b8bfc6cdd4dbe2e9f0f7fe050c131a21282f363d444b525960676e757c838a91989fa6adb4bbc2"
         "c9d0d7dee5ecf3fa01080f161d242b323940474e555c636a71787f868d949ba2a9b0b7bec5ccd3dae1e8eff6fd040b12"
         "1920272e353c434a51585f666d747b828990979ea5acb3bac1c8cfd6dde4ebf2f900070e151c232a31383f464d545b62"
         "6970777e858c939aa1a8afb6bdc4cbd2d9e0e7eef5fc030a11181f262d343b424950575e656c737a81888f969da4abb2"
         "b9c0c7ced5dce3eaf1f8ff060d141b222930373e454c535a61686f767d848b9299a0a7aeb5bcc3cad1d8dfe6edf4fb02"
         "0910171e252c333a41484f565d646b727980878e959ca3aab1b8bfc6cdd4dbe2e9f0f7fe050c131a21282f363d444b52"
         "5960676e757c838a91989fa6adb4bbc2c9d0d7dee5ecf3fa01080f161d242b323940474e555c636a71787f868d949ba2"
         "a9b0b7bec5ccd3dae1e8eff6fd04329915f1"},
    {.name = "write_only_empty_ipv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .entropy = 0xE6D5C492u,
     .opcode = 0xCAu,
     .dqpn = 0x45u,
     .psn = 0x98u,
     .msn = 0x2u,
     .hex =
         "0211223344f602a1b2c3d4e586dd6020e6d5002c113dfd00000100000000000000000000a001fd000002000000000000"
         "00000000b002c49212b7002c0000ca00ffff000000450000009800000002000000000000000000000000000000003d45"
         "052a"},
    {.name = "sack_probe_answer_ipv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .entropy = 0x850D3E43u,
     .opcode = 0xDCu,
     .dqpn = 0x46u,
     .psn = 0x5u,
     .mark = 2,
     .answers_probe = 1,
     .trigger = 0xD00Du,
     .control_psn = 0x5u,
     .bitmap_offset = 1,
     .bitmap = 0xF0u,
     .received_units = 0x1u,
     .hex =
         "0211223344f602a1b2c3d4e586dd6020850d003c113dfd00000100000000000000000000a001fd000002000000000000"
         "00000000b0023e4312b7003c0000dc00ffff00000046000000050042d00d000000000000000000000005000000010000"
         "0000000000f00000000000000001fa3dbb1a"},
    {.name = "nak_ipv4",
     .encodable = true,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .entropy = 0x2344B7F4u,
     .opcode = 0xD1u,
     .dqpn = 0x47u,
     .psn = 0x6u,
     .syndrome = 0x62u,
     .hex =
         "0211223344f602a1b2c3d4e5080045020030000040003d112ab60a0001020a00fe03b7f412b7001c0000d100ffff0000"
         "004700000006620000000a72e75c"},
    {.name = "outer_ce_srv6",
     .encodable = false,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0xC17C31A5u,
     .outer_ecn = 3,
     .ecn = 3,
     .opcode = 0xDEu,
     .dqpn = 0x48u,
     .probe_id = 0x1u,
     .hex =
         "0211223344f602a1b2c3d4e586dd6030c17c00502940fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "9002000000006020c17c0028113dfd00000100000000000000000000a001fd00000200000000000000000000b00231a5"
         "12b700280000de00ffff000000480000000000000000000100000000000000000001e13f473d"},
    {.name = "inner_ce_srv6",
     .encodable = false,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .entropy = 0x5FB3AB56u,
     .sent_ecn = 3,
     .ecn = 3,
     .opcode = 0xDEu,
     .dqpn = 0x49u,
     .probe_id = 0x2u,
     .hex =
         "0211223344f602a1b2c3d4e586dd60205fb300502940fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "90020000000060305fb30028113dfd00000100000000000000000000a001fd00000200000000000000000000b002ab56"
         "12b700280000de00ffff000000490000000000000000000200000000000000000001b160c591"},
    {.name = "ipv6_ce_ipv6",
     .encodable = true,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .entropy = 0xFDEB2507u,
     .sent_ecn = 3,
     .ecn = 3,
     .opcode = 0xDEu,
     .dqpn = 0x49u,
     .probe_id = 0x2u,
     .hex =
         "0211223344f602a1b2c3d4e586dd6030fdeb0028113dfd00000100000000000000000000a001fd000002000000000000"
         "00000000b002250712b700280000de00ffff0000004900000000000000000002000000000000000000016969962b"},
    {.name = "srh_srv6",
     .encodable = false,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .srh_segments = 2,
     .entropy = 0x9C229EB8u,
     .opcode = 0xDEu,
     .dqpn = 0x4Au,
     .probe_id = 0x3u,
     .hex =
         "0211223344f602a1b2c3d4e586dd60209c2200782b40fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "9002000000002904040001000000fcbbbbbb210311032104900200000000fcbbbbbb2103110321049002000000006020"
         "9c220028113dfd00000100000000000000000000a001fd00000200000000000000000000b0029eb812b700280000de00"
         "ffff0000004a0000000000000000000300000000000000000001237d7811"},
    {.name = "srh_v4_srv6_v4",
     .encodable = false,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .srv6 = 1,
     .outer_source = "fcbbbbbb9001000000000000000000e1",
     .outer_destination = "fcbbbbbb210311032104900200000000",
     .srh_segments = 1,
     .entropy = 0x3A5A1869u,
     .opcode = 0xD1u,
     .dqpn = 0x4Bu,
     .syndrome = 0x1Fu,
     .ack_msn = 0x1u,
     .hex =
         "0211223344f602a1b2c3d4e586dd60203a5a00482b40fcbbbbbb9001000000000000000000e1fcbbbbbb210311032104"
         "9002000000000402040000000000fcbbbbbb21031103210490020000000045020030000040003d112ab60a0001020a00"
         "fe03186912b7001c0000d100ffff0000004b000000001f000001fd80cb1a"},
    {.name = "printed_port_ipv6",
     .encodable = false,
     .source = "fd00000100000000000000000000a001",
     .destination = "fd00000200000000000000000000b002",
     .udp_port = 4971,
     .entropy = 0xD891921Au,
     .opcode = 0xDEu,
     .dqpn = 0x4Cu,
     .probe_id = 0x4u,
     .hex =
         "0211223344f602a1b2c3d4e586dd6020d8910028113dfd00000100000000000000000000a001fd000002000000000000"
         "00000000b002921a136b00280000de00ffff0000004c00000000000000000004000000000000000000010d9d33ac"},
    {.name = "trailing_ipv4",
     .encodable = false,
     .source = "00000000000000000000ffff0a000102",
     .destination = "00000000000000000000ffff0a00fe03",
     .trailing_bytes = 9,
     .entropy = 0x76C90BCBu,
     .opcode = 0xD1u,
     .dqpn = 0x4Du,
     .syndrome = 0x1Fu,
     .ack_msn = 0x2u,
     .hex =
         "0211223344f602a1b2c3d4e5080045020030000040003d112ab60a0001020a00fe030bcb12b7001c0000d100ffff0000"
         "004d000000001f000002c9934a33a5a5a5a5a5a5a5a5a5"},
};

struct Crc {
  unsigned length;
  unsigned value;
};
inline constexpr Crc kCrcs[] = {
    {0, 0x00000000}, {1, 0xD202EF8D}, {2, 0xDFBD875C}, {3, 0x57B862D2}, {4, 0xD75500FC},
    {5, 0x72DF58F5}, {6, 0xBDC04734}, {7, 0x28B012A9}, {8, 0x2CFE44E9}, {9, 0x23FAF38B},
    {10, 0x1E2D62EB}, {11, 0x7A7B1DBA}, {12, 0xF1A1F32F}, {13, 0x1524E6CA}, {14, 0x551F68B9},
    {15, 0xC356FBB9}, {16, 0x54126BA2}, {17, 0xBA8B4E1E}, {18, 0xE6D6BD3F}, {19, 0xD33F4836},
    {20, 0x80B932F3}, {21, 0x12383A12}, {22, 0x48AF6401}, {23, 0xB5970A25}, {24, 0x38623FBE},
    {25, 0x26EE38E3}, {26, 0xAD4E0C0E}, {27, 0x17159A3F}, {28, 0xD1A3181B}, {29, 0xC4BF83D0},
    {30, 0x58A399E2}, {31, 0xF4837CB8}, {32, 0xE8433D3F}, {33, 0xC48663F5}, {34, 0x217F18A6},
    {35, 0xAA245937}, {36, 0xA7C26848}, {37, 0x1EA95A70}, {38, 0x1B106651}, {39, 0x2EA07797},
    {40, 0xD6F769EF}, {41, 0xF10D7F5B}, {42, 0xA342677B}, {43, 0xC77B80A3}, {44, 0xD8C53A2A},
    {45, 0x28D517D4}, {46, 0xE29FC573}, {47, 0x833E7072}, {48, 0x638A38D9}, {49, 0x46055E31},
    {50, 0x76952EBE}, {51, 0x727E98DB}, {52, 0xFEA90F9E}, {53, 0x814FD5B2}, {54, 0x3EE0527E},
    {55, 0xD551CBC6}, {56, 0x3A6F6A75}, {57, 0x11340E46}, {58, 0x30ABA197}, {59, 0xA53574BA},
    {60, 0x77AD6F92}, {61, 0x1DCFD77B}, {62, 0x54CCF28E}, {63, 0xFD395FF8}, {64, 0xD324A7D4},
    {65, 0xC80B1F57}, {66, 0x22C577D6}, {67, 0xC14CB2AC}, {68, 0xFB1A6AA7}, {69, 0x152E5D53},
    {70, 0x1976725C}, {71, 0xF0198F46}, {72, 0x87F7D02D}, {73, 0x243C3E06}, {74, 0x1647990B},
    {75, 0xACA5D4A9}, {76, 0x03152DA8}, {77, 0x10D60507}, {78, 0xC61365C7}, {79, 0x02A4EA1F},
    {80, 0x1DBADEFE}, {81, 0xAEC3BAE4}, {82, 0xCD76AF59}, {83, 0x01196DD9}, {84, 0x2BBA298F},
    {85, 0xD044C6AE}, {86, 0x11DE25EA}, {87, 0x19728224}, {88, 0xD4AD2810}, {89, 0x8C08BBAB},
    {90, 0x4E87E19F}, {91, 0x0B9A32B0}, {92, 0x37DCCBB2}, {93, 0x1D8FA6DF}, {94, 0xBE19F5C6},
    {95, 0xBEBA6395}, {96, 0xDB0A19C5}, {97, 0xEF017043}, {98, 0x758AC89C}, {99, 0x1AA034C5},
    {100, 0x821D3E85}, {101, 0x8D857ABB}, {102, 0x8C5193F9}, {103, 0x6D5EDF08}, {104, 0x2D60DB22},
    {105, 0x8F479454}, {106, 0xA8E7F2B1}, {107, 0x27A5CC28}, {108, 0x392B7C7E}, {109, 0xDF56AECF},
    {110, 0xF3694D96}, {111, 0x2593D19D}, {112, 0x25452B01}, {113, 0xB8978A54}, {114, 0x3D6F682D},
    {115, 0x6DEFE1F3}, {116, 0xBDDF778D}, {117, 0x736EA384}, {118, 0x8774A701}, {119, 0x638E720E},
    {120, 0x34023DFE}, {121, 0xF034FB09}, {122, 0x4D4D3FD3}, {123, 0x4F9DD51D}, {124, 0xA49133C8},
    {125, 0x0DC6917D}, {126, 0x26DB9C4D}, {127, 0x6442192C}, {128, 0xC96708EF}, {129, 0x0FC6F44C},
    {130, 0xDEBB3241}, {131, 0xD9078B9E}, {132, 0x4509318E}, {133, 0x21FE97F4}, {134, 0x272CD54D},
    {135, 0xEC4BB483}, {136, 0x1A39F5B9}, {137, 0xA51FE6EE}, {138, 0xCECB9109}, {139, 0xD917FB3D},
    {140, 0x6F660A6A}, {141, 0xFEB4170C}, {142, 0xCA4B1CED}, {143, 0x4277B900}, {144, 0x0B96C2E8},
    {145, 0xC165E119}, {146, 0x95714513}, {147, 0x0C2C000D}, {148, 0xDCD54BBF}, {149, 0x80B6D8F0},
    {150, 0xEB81EA97}, {151, 0x41E091FA}, {152, 0xC3420440}, {153, 0x91A844E3}, {154, 0x4041C952},
    {155, 0x989D0B05}, {156, 0xFA98CA18}, {157, 0xB0256A98}, {158, 0xCD684989}, {159, 0xC3CE8C98},
    {160, 0x3EA2D327}, {161, 0x3A84996D}, {162, 0x32ED820A}, {163, 0x98EFA74E}, {164, 0x6391E90E},
    {165, 0x6C6A6E74}, {166, 0xF1B7E25C}, {167, 0xBD432F8E}, {168, 0x5FB7A157}, {169, 0xD986870D},
    {170, 0xCCDA9B62}, {171, 0x4EC733BF}, {172, 0x21F559F6}, {173, 0x4AF13A68}, {174, 0xCD929DD9},
    {175, 0x58AAB4FC}, {176, 0x84E9811A}, {177, 0xA9372DA2}, {178, 0xF2C45D13}, {179, 0x372595DD},
    {180, 0xFA377286}, {181, 0x7F9F50B9}, {182, 0x4474D853}, {183, 0x7D4C8019}, {184, 0xC1133B5B},
    {185, 0x20A1FCF8}, {186, 0xF1FB29CE}, {187, 0x5AFB4E42}, {188, 0x298C58A6}, {189, 0xD19D81D9},
    {190, 0x8160E13C}, {191, 0x353BA26B}, {192, 0x5752E4F7}, {193, 0x87509B46}, {194, 0xA5828F80},
    {195, 0xAE7B82B5}, {196, 0x72A67677}, {197, 0x7ECCB0BB}, {198, 0x5A7479DB}, {199, 0x6E3E18EE},
    {200, 0xB2DC5F40}, {201, 0xFAB28B4C}, {202, 0x6D283C10}, {203, 0xCB03F1C0}, {204, 0xDAA4D151},
    {205, 0x39D67D63}, {206, 0x615D43DE}, {207, 0x8BD08FD9}, {208, 0x828C4E3E}, {209, 0xD880CDE4},
    {210, 0x20B86F0E}, {211, 0x1943E46E}, {212, 0x931FD609}, {213, 0x399FC664}, {214, 0x873E5664},
    {215, 0xFE5C4F50}, {216, 0x6E9A30D8}, {217, 0xF4B54511}, {218, 0x88F385D3}, {219, 0x998EC84F},
    {220, 0xF7F4B3E5}, {221, 0x05F8C9D0}, {222, 0xC3061C18}, {223, 0x3214008F}, {224, 0xCB5CCDFC},
    {225, 0x5DAC2DBF}, {226, 0x2C8B58D6}, {227, 0x61481EFB}, {228, 0xAEBF4824}, {229, 0xC1C0C893},
    {230, 0x5410FD91}, {231, 0xC357F42C}, {232, 0xFC75B5F8}, {233, 0x042839D0}, {234, 0xAF015905},
    {235, 0x0616DE36}, {236, 0x2EBD712F}, {237, 0x2E95DA80}, {238, 0xF84351C3}, {239, 0xD321DDDA},
    {240, 0x20B3CE1E}, {241, 0xD822F264}, {242, 0xF66E6ED9}, {243, 0x3A4C55D0}, {244, 0xF257266B},
    {245, 0xD7F0EFB8}, {246, 0x4507C6EA}, {247, 0xB92CB9BF}, {248, 0x65069F0F}, {249, 0xD767BE01},
    {250, 0xAE096784}, {251, 0x57C9D632}, {252, 0xE2E0D9B2}, {253, 0x50E8FB95}, {254, 0x65EF5B4D},
    {255, 0x89B9AECB}, {256, 0x1A5C07A3}, {257, 0x9DC741D8}, {258, 0xC4F3E789}, {259, 0xA11A0AE9},
    {260, 0x66A84BB0}, {261, 0x0D04A805}, {262, 0x00026ED8}, {263, 0x81B17ED3}, {264, 0x9C87DDA7},
    {265, 0xB22EE685}, {266, 0xF9049BF9}, {267, 0x8925450B}, {268, 0x4D342E6D}, {269, 0x8D4A53AB},
    {270, 0x6F3257C2}, {271, 0x04BB7E32}, {272, 0x2EBFDC8F}, {273, 0xFF2EBFDC}, {274, 0x93F9BB52},
    {275, 0xE0497AD5}, {276, 0xB989F703}, {277, 0xAFBCF8CB}, {278, 0xB71D8AB3}, {279, 0x90076A6B},
    {280, 0xA923C349}, {281, 0x05A61EA0}, {282, 0x42B85402}, {283, 0x1E4C204C}, {284, 0x18A66127},
    {285, 0xEB19FA2E}, {286, 0x0289E080}, {287, 0x576556B5}, {288, 0x9651A7A8}, {289, 0xAA937788},
    {290, 0x0FA50033}, {291, 0x2A6FE4E4}, {292, 0xB898A09B}, {293, 0x016C83D6}, {294, 0x24BAA555},
    {295, 0x29F2194D}, {296, 0xB0F6004B}, {297, 0x20D019C3}, {298, 0x5D47A16B}, {299, 0xDA329501},
    {300, 0xE000B1FB}, {4096, 0xD3B3C7BC},
};

}  // namespace mrc::golden
