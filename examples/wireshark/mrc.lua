-- SPDX-License-Identifier: BSD-2-Clause
-- Wireshark and tshark read MRC (Multipath Reliable Connection): all its headers, and those of Soft-MRC's extension.
-- Plain RoCEv2 on the same UDP port stays with the dissector that Wireshark has for it.
--   tshark -X lua_script:mrc.lua -r FILE
--   tshark -X lua_script:mrc.lua -X lua_script1:conversations -q -r FILE     a table of queue pairs
local arguments = {...}

-- Lua 5.2 has no operators for bits; Wireshark brings a library, and so does every version of Lua in its own way.
local bits = bit or bit32 or load("return { band = function(a, b) return a & b end, bor = function(a, b) return a | b end,"
  .. "bxor = function(a, b) return a ~ b end, rshift = function(a, n) return (a & 0xFFFFFFFF) >> n end,"
  .. "lshift = function(a, n) return (a << n) & 0xFFFFFFFF end }")()
local band, bxor, rshift, lshift = bits.band, bits.bxor, bits.rshift, bits.lshift

local mrc = Proto("mrc", "Multipath Reliable Connection")

local ROCE_PORT, PRINTED_PORT = 4791, 4971 -- the specification prints the second one
local FAMILY_MRC, FAMILY_MRC_XRC = 6, 7    -- the upper three bits of the opcode

mrc.prefs.check_icrc = Pref.bool("Check the ICRC", true, "Compute the ICRC of whole packets and compare")
mrc.prefs.dscp_trimmed = Pref.uint("DSCP of trimmed packets", 12, "What switches write into what they trim")
mrc.prefs.dscp_trimmed_last_hop = Pref.uint("DSCP of packets trimmed at the last hop", 16, "Likewise, on the last hop")

-- What a packet of an opcode is and which headers it has. The opcode is 0xC0 + the index.
local STREAM = {"meth", "tseth"} -- what takes a PSN begins with these
local function stream(name, kind, ...) return {name = name, kind = kind, stream = true, headers = {...}} end
local function control(name, header) return {name = name, kind = "control", headers = {header}} end
local OPCODES = {
  [0x00] = stream("SEND First", "send", "reth"),
  [0x01] = stream("SEND Middle", "send", "reth"),
  [0x02] = stream("SEND Last", "send", "reth"),
  [0x03] = stream("SEND Last with Immediate", "send", "reth", "immdt"),
  [0x04] = stream("SEND Only", "send", "reth"),
  [0x05] = stream("SEND Only with Immediate", "send", "reth", "immdt"),
  [0x06] = stream("WRITE First", "write", "reth"),
  [0x07] = stream("WRITE Middle", "write", "reth"),
  [0x08] = stream("WRITE Last", "write", "reth"),
  [0x09] = stream("WRITE Last with Immediate", "write", "reth", "immdt"),
  [0x0A] = stream("WRITE Only", "write", "reth"),
  [0x0B] = stream("WRITE Only with Immediate", "write", "reth", "immdt"),
  [0x0C] = stream("READ Request", "read", "reth"),
  [0x0D] = stream("READ Response First", "response", "reth"),
  [0x0E] = stream("READ Response Middle", "response", "reth"),
  [0x0F] = stream("READ Response Last", "response", "reth"),
  [0x10] = stream("READ Response Only", "response", "reth"),
  [0x11] = control("Acknowledge", "aeth"),
  [0x12] = stream("ATOMIC Acknowledge", "response", "atomicack"),
  [0x13] = stream("CmpSwap", "atomic", "atomiceth"),
  [0x14] = stream("FetchAdd", "atomic", "atomiceth"),
  [0x15] = stream("ATOMIC WRITE", "atomic", "atomiceth"),
  [0x16] = stream("SEND Last with Invalidate", "send", "reth", "ieth"),
  [0x17] = stream("SEND Only with Invalidate", "send", "reth", "ieth"),
  [0x18] = control("Endpoint Request", "erth"),
  [0x19] = control("Endpoint Response", "eeth"),
  [0x1A] = stream("FLUSH", "flush", "feth", "reth"),
  [0x1C] = control("SACK", "seth"),
  [0x1D] = control("NACK", "neth"),
  [0x1E] = control("Probe", "peth"),
}
local XRC_KINDS = {send = true, write = true, read = true, atomic = true}

-- Words for numbers.
local opcode_names = {}
for low, opcode in pairs(OPCODES) do
  opcode_names[0xC0 + low] = opcode.name
  if XRC_KINDS[opcode.kind] then opcode_names[0xE0 + low] = "XRC " .. opcode.name end
end
local MARKS = {[0] = "none", [1] = "skip once (the packet came with CE)", [2] = "always skip", [3] = "reserved"}
local REASONS = {
  [0x01] = "trimmed", [0x02] = "trimmed at the last hop", [0x06] = "no bitmap", [0x07] = "no packet buffer",
  [0x0A] = "no resource", [0x0B] = "PSN out of window", [0x19] = "unexpected event",
}
local OPERATIONS = {[0] = "port status update", [1] = "EV probe", [2] = "capabilities (Soft-MRC)", [3] = "reserved"}
local TICKS = {[0] = "128 ns", [1] = "1.024 us"}
local SELECTIVITIES = {[0] = "range", [1] = "region"}
local ICRC_STATES = {[0] = "bad", [1] = "good", [2] = "not checked", [3] = "left out (the carrier keeps data intact)"}
local ICRC_BAD, ICRC_GOOD, ICRC_UNCHECKED, ICRC_LEFT_OUT = 0, 1, 2, 3

local fields = {}
local function field(name, make, label, ...)
  fields[name] = make("mrc." .. name, label, ...)
end
local DEC, HEX = base.DEC, base.HEX

field("bth", ProtoField.none, "Base Transport Header")
field("bth.opcode", ProtoField.uint8, "Opcode", HEX, opcode_names)
field("bth.se", ProtoField.bool, "Solicited event", 8, nil, 0x80)
field("bth.m", ProtoField.bool, "MigReq", 8, nil, 0x40)
field("bth.pad", ProtoField.uint8, "Pad count", DEC, nil, 0x30)
field("bth.tver", ProtoField.uint8, "Transport version", DEC, nil, 0x0F)
field("bth.pkey", ProtoField.uint16, "Partition key", HEX)
field("bth.dqpn", ProtoField.uint24, "Destination queue pair", HEX)
field("bth.ackreq", ProtoField.bool, "Acknowledge request", 8, nil, 0x80)
field("bth.rtx", ProtoField.bool, "Retransmission", 8, nil, 0x20)
field("bth.ts", ProtoField.bool, "Timestamp follows", 8, nil, 0x10)
field("bth.psn", ProtoField.uint24, "PSN", DEC)
field("xeth", ProtoField.none, "XRC Extended Transport Header")
field("xeth.srq", ProtoField.uint24, "Shared receive queue", HEX)
field("meth", ProtoField.none, "Message Extended Transport Header")
field("meth.rqmsn", ProtoField.uint16, "Receive MSN", DEC)
field("meth.msn", ProtoField.uint16, "MSN", DEC)
field("tseth", ProtoField.none, "Timestamp Extended Transport Header")
field("tseth.timestamp", ProtoField.uint16, "Timestamp", DEC)
field("tseth.tsr", ProtoField.uint8, "Tick", DEC, TICKS, 0x80)
field("reth", ProtoField.none, "RDMA Extended Transport Header")
field("reth.va", ProtoField.uint64, "Address, or offset in the message", HEX)
field("reth.rkey", ProtoField.uint32, "Remote key", HEX)
field("reth.length", ProtoField.uint32, "Bytes of the whole message", DEC)
field("reth.done", ProtoField.uint24, "Sender has received all up to PSN", DEC)
field("immdt", ProtoField.uint32, "Immediate data", HEX)
field("ieth", ProtoField.uint32, "Key to invalidate", HEX)
field("feth", ProtoField.none, "FLUSH Extended Transport Header")
field("feth.selectivity", ProtoField.uint8, "Selectivity", DEC, SELECTIVITIES, 0x30)
field("feth.placement", ProtoField.uint8, "Placement", HEX, nil, 0x0F)
field("atomiceth", ProtoField.none, "Atomic Extended Transport Header")
field("atomiceth.va", ProtoField.uint64, "Address", HEX)
field("atomiceth.rkey", ProtoField.uint32, "Remote key", HEX)
field("atomiceth.swap_add", ProtoField.uint64, "Swap, add or written value", HEX)
field("atomiceth.compare", ProtoField.uint64, "Compare", HEX)
field("atomicack", ProtoField.uint64, "Original value", HEX)
field("aeth", ProtoField.none, "Acknowledge Extended Transport Header")
field("aeth.syndrome", ProtoField.uint8, "Syndrome", HEX)
field("aeth.msn", ProtoField.uint24, "MSN", DEC)
field("seth", ProtoField.none, "Selective acknowledgement")
field("seth.mark", ProtoField.uint8, "Path mark", DEC, MARKS, 0x60)
field("seth.pr", ProtoField.bool, "Answers a probe", 8, nil, 0x02)
field("seth.trigger", ProtoField.uint16, "Offset of the triggering PSN, or probe id", HEX)
field("seth.trigger_psn", ProtoField.uint24, "Triggering PSN", DEC)
field("seth.entropy", ProtoField.uint32, "Entropy echoed", HEX)
field("seth.spdcid", ProtoField.uint16, "Source queue pair (low 16 bits)", HEX)
field("seth.dpdcid", ProtoField.uint16, "Destination queue pair (low 16 bits)", HEX)
field("seth.cack", ProtoField.uint24, "Cumulative PSN", DEC)
field("seth.mpr", ProtoField.uint8, "MPR (128 PSNs)", DEC)
field("seth.offset", ProtoField.int16, "Offset of the bitmap", DEC)
field("seth.bitmap", ProtoField.uint64, "Bitmap", HEX)
field("seth.missing", ProtoField.uint32, "PSNs missing below the highest received", DEC)
field("cc", ProtoField.none, "Congestion control state")
field("cc.timestamp", ProtoField.uint16, "Timestamp echoed", DEC)
field("cc.ooo", ProtoField.uint16, "Packets out of order", DEC, nil, 0x7FFF)
field("cc.restore", ProtoField.bool, "Restore window", 8, nil, 0x80)
field("cc.penalty", ProtoField.uint8, "Window penalty", DEC, nil, 0x7F)
field("cc.received", ProtoField.uint24, "Received (256 bytes)", DEC)
field("neth", ProtoField.none, "Negative acknowledgement")
field("neth.reason", ProtoField.uint8, "Reason", HEX, REASONS)
field("neth.vendor", ProtoField.uint8, "Vendor information", HEX)
field("neth.entropy", ProtoField.uint32, "Entropy echoed", HEX)
field("neth.spdcid", ProtoField.uint16, "Source queue pair (low 16 bits)", HEX)
field("neth.dpdcid", ProtoField.uint16, "Destination queue pair (low 16 bits)", HEX)
field("neth.psn", ProtoField.uint24, "PSN", DEC)
field("neth.timestamp", ProtoField.uint16, "Timestamp echoed", DEC)
field("peth", ProtoField.none, "Probe")
field("peth.vendor", ProtoField.uint8, "Vendor information", HEX)
field("peth.id", ProtoField.uint16, "Probe id", HEX)
field("peth.spdcid", ProtoField.uint16, "Source queue pair (low 16 bits)", HEX)
field("peth.dpdcid", ProtoField.uint16, "Destination queue pair (low 16 bits)", HEX)
field("erth", ProtoField.none, "Endpoint request")
field("erth.operation", ProtoField.uint8, "Operation", DEC, OPERATIONS, 0x03)
field("erth.vendor", ProtoField.uint8, "Vendor information", HEX)
field("erth.mask", ProtoField.uint32, "Usable ports, or the queue pair in question", HEX)
field("eeth", ProtoField.none, "Endpoint response")
field("eeth.operation", ProtoField.uint8, "Operation", DEC, OPERATIONS, 0x0C)
field("eeth.vendor", ProtoField.uint8, "Vendor information", HEX)
field("eeth.timestamp", ProtoField.uint16, "Timestamp echoed", DEC)
field("eeth.expected", ProtoField.uint32, "Expected PSN (Soft-MRC)", DEC)
field("payload", ProtoField.bytes, "Payload")
field("padding", ProtoField.bytes, "Pad")
field("remains", ProtoField.bytes, "What is left of a trimmed packet")
field("icrc", ProtoField.uint32, "Invariant CRC", HEX)
field("icrc.status", ProtoField.uint8, "Invariant CRC status", DEC, ICRC_STATES)
field("ev", ProtoField.uint32, "Entropy value", HEX)
field("srv6", ProtoField.bool, "By SRv6")
field("trimmed", ProtoField.bool, "Trimmed")
field("ce", ProtoField.bool, "Congestion experienced")
field("stream", ProtoField.uint32, "Conversation of queue pairs", DEC)
field("gap", ProtoField.uint32, "PSNs not seen before this one", DEC)

local experts = {
  gap = ProtoExpert.new("mrc.expert.gap", "PSNs before this one were not seen yet", expert.group.SEQUENCE, expert.severity.NOTE),
  missing = ProtoExpert.new("mrc.expert.missing", "The receiver misses packets", expert.group.SEQUENCE, expert.severity.NOTE),
  retransmission = ProtoExpert.new("mrc.expert.retransmission", "Retransmission", expert.group.SEQUENCE, expert.severity.NOTE),
  duplicate = ProtoExpert.new("mrc.expert.duplicate", "This PSN was seen before", expert.group.SEQUENCE, expert.severity.CHAT),
  trim = ProtoExpert.new("mrc.expert.trim", "Trimmed by a switch", expert.group.SEQUENCE, expert.severity.WARN),
  nack = ProtoExpert.new("mrc.expert.nack", "The receiver asks for a packet again", expert.group.RESPONSE_CODE, expert.severity.WARN),
  nak = ProtoExpert.new("mrc.expert.nak", "The receiver refuses", expert.group.RESPONSE_CODE, expert.severity.WARN),
  mark = ProtoExpert.new("mrc.expert.mark", "Congestion mark", expert.group.SEQUENCE, expert.severity.NOTE),
  icrc = ProtoExpert.new("mrc.expert.icrc", "Bad ICRC", expert.group.CHECKSUM, expert.severity.ERROR),
  short = ProtoExpert.new("mrc.expert.short", "Shorter than its headers", expert.group.PROTOCOL, expert.severity.ERROR),
  opcode = ProtoExpert.new("mrc.expert.opcode", "Unknown opcode", expert.group.PROTOCOL, expert.severity.WARN),
}

-- Wireshark wants plain lists.
local list = {}
for _, one in pairs(fields) do list[#list + 1] = one end
mrc.fields = list
mrc.experts = {experts.gap, experts.missing, experts.retransmission, experts.duplicate, experts.trim, experts.nack,
               experts.nak, experts.mark, experts.icrc, experts.short, experts.opcode}

-- What the layers below have found. Of several IP headers the first is the outermost.
local ip_header, ipv6_header = Field.new("ip"), Field.new("ipv6")
local udp_header = Field.new("udp")
local dscp_v4, dscp_v6 = Field.new("ip.dsfield.dscp"), Field.new("ipv6.tclass.dscp")
local ecn_v4, ecn_v6 = Field.new("ip.dsfield.ecn"), Field.new("ipv6.tclass.ecn")
local flow_label = Field.new("ipv6.flow")

-- --- PSNs ---

local function psn_add(psn, distance) return (psn + distance) % 0x1000000 end
local function psn_distance(from, to) -- signed
  local distance = (to - from) % 0x1000000
  return distance < 0x800000 and distance or distance - 0x1000000
end

-- --- Conversations ---
-- A packet names the queue pair it goes to; the one it comes from is named by feedback and probes alone, with 16 bits.
-- So each direction begins as a conversation of its own, and the two become one when feedback tells.

local streams, flows, seen, remembered

function mrc.init()
  streams = {count = 0, into = {}}
  flows = {}      -- "source>destination" -> queue pair number -> conversation
  seen = {}       -- conversation's flow -> PSNs
  remembered = {} -- frame -> what was found out when it was first dissected
end

local function stream_root(number)
  while streams.into[number] do number = streams.into[number] end
  return number
end

local function flow_table(source, destination)
  local key = source .. ">" .. destination
  local known = flows[key]
  if not known then
    known = {}
    flows[key] = known
  end
  return known
end

local function stream_of(source, destination, qpn, source_low)
  local own = flow_table(source, destination)
  if not own[qpn] then
    own[qpn] = streams.count
    streams.count = streams.count + 1
  end
  if source_low then
    for back, number in pairs(flow_table(destination, source)) do
      if band(back, 0xFFFF) == source_low then
        local here, there = stream_root(own[qpn]), stream_root(number)
        if here ~= there then streams.into[math.max(here, there)] = math.min(here, there) end
      end
    end
  end
  return own[qpn]
end

-- Endpoint operations have no queue pair; a pair of hosts is their conversation.
local function endpoint_stream(source, destination)
  local number = stream_of(source, destination, 2)
  local back = stream_of(destination, source, 2)
  local here, there = stream_root(number), stream_root(back)
  if here ~= there then streams.into[math.max(here, there)] = math.min(here, there) end
  return number
end

-- How a request stands to those of its direction before it.
local function follow_psn(source, destination, qpn, psn)
  local key = source .. ">" .. destination .. ">" .. qpn
  local state = seen[key]
  if not state then
    seen[key] = {highest = psn, psns = {[psn] = true}}
    return 0, false
  end
  local ahead = psn_distance(state.highest, psn)
  local duplicate = state.psns[psn] ~= nil
  state.psns[psn] = true
  state.psns[psn_add(psn, 0x800000)] = nil -- PSNs come round again
  if ahead > 0 then state.highest = psn end
  return ahead > 1 and ahead - 1 or 0, duplicate and ahead <= 0
end

-- --- ICRC ---

local crc_table = {}
for byte = 0, 255 do
  local crc = byte
  for _ = 1, 8 do
    crc = band(crc, 1) == 1 and bxor(rshift(crc, 1), 0xEDB88320) or rshift(crc, 1)
  end
  crc_table[byte] = crc
end

local function crc32(crc, text)
  for at = 1, #text do crc = bxor(rshift(crc, 8), crc_table[band(bxor(crc, text:byte(at)), 0xFF)]) end
  return crc
end

-- What may change on the way counts as ones.
local function masked_ip(raw)
  local ones = "\255"
  if rshift(raw:byte(1), 4) == 4 then
    return raw:sub(1, 1) .. ones .. raw:sub(3, 8) .. ones .. raw:sub(10, 10) .. ones .. ones .. raw:sub(13, 20)
  end
  return string.char(0x6F) .. ones .. ones .. ones .. raw:sub(5, 7) .. ones .. raw:sub(9, 40)
end

local function icrc_of(ip, udp, transport)
  local crc = crc32(0xFFFFFFFF, string.rep("\255", 8) .. masked_ip(ip) .. udp:sub(1, 6) .. "\255\255")
  crc = crc32(crc, transport:sub(1, 4) .. "\255" .. transport:sub(6))
  return bxor(crc, 0xFFFFFFFF) % 0x100000000
end

local function raw_of(info, bytes) return info.range(0, bytes):bytes():raw() end

-- The innermost IP header: the one right before UDP.
local function inner_ip()
  local best
  for _, infos in ipairs({{ip_header()}, {ipv6_header()}}) do
    for _, info in ipairs(infos) do
      if not best or info.offset > best.offset then best = info end
    end
  end
  if not best then return nil end
  local version = rshift(best.range(0, 1):uint(), 4)
  return raw_of(best, version == 4 and 20 or 40)
end

local function icrc_status(tvb, end_at)
  local stored = tvb(end_at, 4):le_uint()
  if stored == 0 then return ICRC_LEFT_OUT end
  if not mrc.prefs.check_icrc then return ICRC_UNCHECKED end
  local ip, udps = inner_ip(), {udp_header()}
  if not ip or #udps == 0 then return ICRC_UNCHECKED end
  local computed = icrc_of(ip, raw_of(udps[#udps], 8), tvb(0, end_at):bytes():raw())
  return computed == stored and ICRC_GOOD or ICRC_BAD
end

-- --- Headers: each adds itself to the tree at an offset ---

local sizes = {xeth = 4, meth = 4, tseth = 4, reth = 16, immdt = 4, ieth = 4, feth = 4, atomiceth = 28, atomicack = 8,
               aeth = 4, seth = 36, neth = 20, peth = 16, erth = 16, eeth = 36}
local add = {}

local function put(tree, name, tvb, at, bytes) return tree:add(fields[name], tvb(at, bytes)) end

function add.bth(tvb, at, tree)
  local own = put(tree, "bth", tvb, at, 12)
  put(own, "bth.opcode", tvb, at, 1)
  for _, name in ipairs({"bth.se", "bth.m", "bth.pad", "bth.tver"}) do put(own, name, tvb, at + 1, 1) end
  put(own, "bth.pkey", tvb, at + 2, 2)
  put(own, "bth.dqpn", tvb, at + 5, 3)
  for _, name in ipairs({"bth.ackreq", "bth.rtx", "bth.ts"}) do put(own, name, tvb, at + 8, 1) end
  put(own, "bth.psn", tvb, at + 9, 3)
end

function add.xeth(tvb, at, tree) put(put(tree, "xeth", tvb, at, 4), "xeth.srq", tvb, at + 1, 3) end

function add.meth(tvb, at, tree)
  local own = put(tree, "meth", tvb, at, 4)
  put(own, "meth.rqmsn", tvb, at, 2)
  put(own, "meth.msn", tvb, at + 2, 2)
end

function add.tseth(tvb, at, tree)
  local own = put(tree, "tseth", tvb, at, 4)
  put(own, "tseth.timestamp", tvb, at, 2)
  put(own, "tseth.tsr", tvb, at + 2, 1)
end

function add.reth(tvb, at, tree, packet)
  local own = put(tree, "reth", tvb, at, 16)
  put(own, "reth.va", tvb, at, 8)
  put(own, "reth.rkey", tvb, at + 8, 4)
  put(own, "reth.length", tvb, at + 12, 4)
  -- The last packet of a SEND says in its key what its sender has received.
  if packet.opcode.kind == "send" and band(tvb(at + 8, 1):uint(), 1) == 1 then put(own, "reth.done", tvb, at + 9, 3) end
end

function add.immdt(tvb, at, tree) put(tree, "immdt", tvb, at, 4) end
function add.ieth(tvb, at, tree) put(tree, "ieth", tvb, at, 4) end

function add.feth(tvb, at, tree)
  local own = put(tree, "feth", tvb, at, 4)
  put(own, "feth.selectivity", tvb, at + 3, 1)
  put(own, "feth.placement", tvb, at + 3, 1)
end

function add.atomiceth(tvb, at, tree)
  local own = put(tree, "atomiceth", tvb, at, 28)
  put(own, "atomiceth.va", tvb, at, 8)
  put(own, "atomiceth.rkey", tvb, at + 8, 4)
  put(own, "atomiceth.swap_add", tvb, at + 12, 8)
  put(own, "atomiceth.compare", tvb, at + 20, 8)
end

function add.atomicack(tvb, at, tree) put(tree, "atomicack", tvb, at, 8) end

function add.aeth(tvb, at, tree, packet)
  local own = put(tree, "aeth", tvb, at, 4)
  local syndrome = tvb(at, 1):uint()
  local item = put(own, "aeth.syndrome", tvb, at, 1)
  put(own, "aeth.msn", tvb, at + 1, 3)
  local kind = band(rshift(syndrome, 5), 3)
  if kind == 0 then
    item:append_text(" (ACK)")
    packet.info = packet.info .. " ACK"
  else
    local word = kind == 1 and "RNR NAK" or "NAK"
    item:append_text(" (" .. word .. ")")
    item:add_proto_expert_info(experts.nak, string.format("The receiver refuses: %s 0x%02x", word, syndrome))
    packet.info = packet.info .. " " .. word
  end
end

-- How many PSNs between the cumulative one and the highest one of the bitmap have not come.
local function missing_of(offset, high, low)
  local top, received = nil, 0
  for position = 0, 63 do
    local word = position < 32 and low or high
    local distance = offset + position -- from the cumulative PSN
    if distance > 0 and band(rshift(word, position % 32), 1) == 1 then
      top, received = distance, received + 1
    end
  end
  return top and top - received or 0
end

function add.seth(tvb, at, tree, packet)
  local own = put(tree, "seth", tvb, at, 28)
  local mark = put(own, "seth.mark", tvb, at + 1, 1)
  put(own, "seth.pr", tvb, at + 1, 1)
  put(own, "seth.trigger", tvb, at + 2, 2)
  put(own, "seth.entropy", tvb, at + 4, 4)
  put(own, "seth.spdcid", tvb, at + 8, 2)
  put(own, "seth.dpdcid", tvb, at + 10, 2)
  put(own, "seth.cack", tvb, at + 13, 3)
  put(own, "seth.mpr", tvb, at + 17, 1)
  put(own, "seth.offset", tvb, at + 18, 2)
  put(own, "seth.bitmap", tvb, at + 20, 8)
  local flags, cack = tvb(at + 1, 1):uint(), tvb(at + 13, 3):uint()
  if band(flags, 2) == 0 then
    own:add(fields["seth.trigger_psn"], psn_add(cack, tvb(at + 2, 2):int())):set_generated()
  end
  local missing = missing_of(tvb(at + 18, 2):int(), tvb(at + 20, 4):uint(), tvb(at + 24, 4):uint())
  if missing > 0 then
    own:add(fields["seth.missing"], missing):set_generated()
    own:add_proto_expert_info(experts.missing, string.format("The receiver misses %d packets", missing))
  end
  if band(flags, 0x60) ~= 0 then
    mark:add_proto_expert_info(experts.mark, "The receiver tells of a mark: " .. MARKS[band(rshift(flags, 5), 3)])
  end
  packet.source_low = tvb(at + 8, 2):uint()
  packet.info = packet.info .. string.format(" cumulative %d, missing %d%s", cack, missing, band(flags, 2) ~= 0 and ", answers a probe" or "")
  own = put(tree, "cc", tvb, at + 28, 8)
  put(own, "cc.timestamp", tvb, at + 28, 2)
  put(own, "cc.ooo", tvb, at + 30, 2)
  put(own, "cc.restore", tvb, at + 32, 1)
  put(own, "cc.penalty", tvb, at + 32, 1)
  put(own, "cc.received", tvb, at + 33, 3)
end

function add.neth(tvb, at, tree, packet)
  local own = put(tree, "neth", tvb, at, 20)
  local reason = tvb(at + 2, 1):uint()
  local item = put(own, "neth.reason", tvb, at + 2, 1)
  put(own, "neth.vendor", tvb, at + 3, 1)
  put(own, "neth.entropy", tvb, at + 4, 4)
  put(own, "neth.spdcid", tvb, at + 8, 2)
  put(own, "neth.dpdcid", tvb, at + 10, 2)
  put(own, "neth.psn", tvb, at + 13, 3)
  put(own, "neth.timestamp", tvb, at + 18, 2)
  local word = REASONS[reason] or string.format("reason 0x%02x", reason)
  local trimmed = reason == 1 or reason == 2
  item:add_proto_expert_info(trimmed and experts.trim or experts.nack, "The receiver asks for a packet again: " .. word)
  packet.source_low = tvb(at + 8, 2):uint()
  packet.info = packet.info .. " " .. word
end

function add.peth(tvb, at, tree, packet)
  local own = put(tree, "peth", tvb, at, 16)
  put(own, "peth.vendor", tvb, at + 3, 1)
  put(own, "peth.id", tvb, at + 4, 2)
  put(own, "peth.spdcid", tvb, at + 8, 2)
  put(own, "peth.dpdcid", tvb, at + 10, 2)
  add.tseth(tvb, at + 12, own)
  packet.source_low = tvb(at + 8, 2):uint()
  packet.info = packet.info .. string.format(" 0x%04x", tvb(at + 4, 2):uint())
end

function add.erth(tvb, at, tree, packet)
  local own = put(tree, "erth", tvb, at, 16)
  put(own, "erth.operation", tvb, at + 1, 1)
  put(own, "erth.vendor", tvb, at + 3, 1)
  put(own, "erth.mask", tvb, at + 4, 4)
  add.tseth(tvb, at + 12, own)
  packet.info = packet.info .. " " .. OPERATIONS[band(tvb(at + 1, 1):uint(), 3)]
end

function add.eeth(tvb, at, tree, packet)
  local own = put(tree, "eeth", tvb, at, 36)
  put(own, "eeth.operation", tvb, at + 1, 1)
  put(own, "eeth.vendor", tvb, at + 3, 1)
  put(own, "eeth.timestamp", tvb, at + 28, 2)
  put(own, "eeth.expected", tvb, at + 32, 4)
  packet.info = packet.info .. " " .. OPERATIONS[band(rshift(tvb(at + 1, 1):uint(), 2), 3)]
end

-- --- A packet ---

local function first_of(info_function)
  local info = info_function()
  return info and info.value
end

local function any_is(value, ...)
  for _, info in ipairs({...}) do
    if info.value == value then return true end
  end
  return false
end

-- What the layers below say of the packet.
local function read_carrier(packet, pinfo)
  local outer_dscp = first_of(dscp_v6)
  if outer_dscp == nil then outer_dscp = first_of(dscp_v4) end
  packet.trimmed = outer_dscp == mrc.prefs.dscp_trimmed or outer_dscp == mrc.prefs.dscp_trimmed_last_hop
  packet.ce = any_is(3, ecn_v6()) or any_is(3, ecn_v4())
  packet.srv6 = #{ipv6_header()} + #{ip_header()} > 1
  packet.ev = pinfo.src_port
  local labels = {flow_label()}
  local inner = pinfo.net_src and tostring(pinfo.net_src) or ""
  if #labels > 0 and inner:find(":") then
    packet.ev = packet.ev + band(labels[#labels].value, 0xFFFF) * 0x10000
  end
end

local function add_carrier(packet, tree)
  tree:add(fields["ev"], packet.ev):set_generated()
  tree:add(fields["srv6"], packet.srv6):set_generated()
  tree:add(fields["trimmed"], packet.trimmed):set_generated()
  local ce = tree:add(fields["ce"], packet.ce)
  ce:set_generated()
  if packet.ce then ce:add_proto_expert_info(experts.mark, "A switch marked this packet (CE)") end
  if packet.trimmed then tree:add_proto_expert_info(experts.trim, "A switch trimmed this packet") end
end

-- The order of headers, whatever of them is there.
local function headers_of(packet)
  local names = {}
  if packet.xrc then names[1] = "xeth" end
  if packet.opcode.stream then
    for _, name in ipairs(STREAM) do
      if name ~= "tseth" or packet.has_timestamp then names[#names + 1] = name end
    end
  end
  if not packet.trimmed then
    for _, name in ipairs(packet.opcode.headers) do names[#names + 1] = name end
  end
  return names
end

local function add_headers(packet, tvb, tree, at, limit)
  for _, name in ipairs(headers_of(packet)) do
    if at + sizes[name] > limit then
      tree:add_proto_expert_info(experts.short, "There is no room for " .. name:upper())
      return nil
    end
    add[name](tvb, at, tree, packet)
    at = at + sizes[name]
  end
  return at
end

local function add_end(packet, tvb, tree, at, limit)
  local pad = packet.pad
  if limit - at < pad then
    tree:add_proto_expert_info(experts.short, "There is no room for the pad")
    pad = 0
  end
  packet.payload_bytes = tvb:reported_len() - 4 - at - pad
  if limit - at - pad > 0 then put(tree, "payload", tvb, at, limit - at - pad) end
  if pad > 0 then put(tree, "padding", tvb, limit - pad, pad) end
  if tvb:captured_len() < limit + 4 then return end
  local item = tree:add_le(fields["icrc"], tvb(limit, 4))
  local status = icrc_status(tvb, limit)
  tree:add(fields["icrc.status"], status):set_generated()
  if status == ICRC_BAD then item:add_proto_expert_info(experts.icrc) end
end

-- Found out once, in the order of the capture.
local function remember(packet, pinfo)
  local known = remembered[pinfo.number]
  if known then return known end
  local source, destination = tostring(pinfo.net_src), tostring(pinfo.net_dst)
  local number
  if packet.low == 0x18 or packet.low == 0x19 then
    number = endpoint_stream(source, destination)
  else
    number = stream_of(source, destination, packet.dqpn, packet.source_low)
  end
  known = {stream = number, gap = 0, duplicate = false}
  if packet.opcode.stream then
    known.gap, known.duplicate = follow_psn(source, destination, packet.dqpn, packet.psn)
  end
  remembered[pinfo.number] = known
  return known
end

local function add_sequence(packet, pinfo, tree)
  local known = remember(packet, pinfo)
  tree:add(fields["stream"], stream_root(known.stream)):set_generated()
  if known.gap > 0 then
    local item = tree:add(fields["gap"], known.gap)
    item:set_generated()
    item:add_proto_expert_info(experts.gap, string.format("%d PSNs before this one were not seen yet", known.gap))
  end
  if packet.opcode.stream and packet.rtx then
    tree:add_proto_expert_info(experts.retransmission)
  elseif known.duplicate then
    tree:add_proto_expert_info(experts.duplicate)
  end
end

local function describe(packet, pinfo)
  pinfo.cols.protocol = "MRC"
  local info = string.format("%s%s QP 0x%06x PSN %d", packet.xrc and "XRC " or "", packet.opcode.name, packet.dqpn, packet.psn)
  info = info .. packet.info
  if packet.payload_bytes and packet.payload_bytes > 0 then info = info .. string.format(" %d bytes", packet.payload_bytes) end
  if packet.opcode.stream and packet.rtx then info = info .. " [retransmission]" end
  if packet.trimmed then info = info .. " [trimmed]" end
  if packet.ce then info = info .. " [CE]" end
  pinfo.cols.info = info
end

local function dissect(tvb, pinfo, root)
  local bytes = tvb:captured_len()
  local tree = root:add(mrc, tvb())
  if bytes < 12 then
    tree:add_proto_expert_info(experts.short, "There is no room for BTH")
    return bytes
  end
  local code = tvb(0, 1):uint()
  local flags = tvb(8, 1):uint()
  local low = band(code, 0x1F)
  local packet = {
    low = low, opcode = OPCODES[low], xrc = rshift(code, 5) == FAMILY_MRC_XRC, info = "",
    pad = band(rshift(tvb(1, 1):uint(), 4), 3), dqpn = tvb(5, 3):uint(), psn = tvb(9, 3):uint(),
    rtx = band(flags, 0x20) ~= 0, has_timestamp = band(flags, 0x10) ~= 0,
  }
  read_carrier(packet, pinfo)
  add.bth(tvb, 0, tree)
  if not packet.opcode or (packet.xrc and not XRC_KINDS[packet.opcode.kind]) then
    tree:add_proto_expert_info(experts.opcode)
    return bytes
  end
  -- A capture may keep less than there was; the ICRC is the last four bytes of what there was.
  local limit = packet.trimmed and bytes or math.min(bytes, tvb:reported_len() - 4)
  local at = add_headers(packet, tvb, tree, 12, limit)
  if at and packet.trimmed then
    if at < limit then put(tree, "remains", tvb, at, limit - at) end
  elseif at then
    add_end(packet, tvb, tree, at, limit)
  end
  add_carrier(packet, tree)
  add_sequence(packet, pinfo, tree)
  describe(packet, pinfo)
  return bytes
end

-- --- Beside Wireshark's own dissector ---

local udp_ports = DissectorTable.get("udp.port")
local roce = udp_ports:get_dissector(ROCE_PORT)

local function is_mrc(tvb)
  if tvb:captured_len() < 1 then return false end
  local family = rshift(tvb(0, 1):uint(), 5)
  return family == FAMILY_MRC or family == FAMILY_MRC_XRC
end

function mrc.dissector(tvb, pinfo, root)
  if is_mrc(tvb) then return dissect(tvb, pinfo, root) end
  if roce and pinfo.dst_port == ROCE_PORT then return roce:call(tvb, pinfo, root) end
  return 0
end

udp_ports:add(ROCE_PORT, mrc)
udp_ports:add(PRINTED_PORT, mrc)

-- The source port is half of the path and may be any number, also one that Wireshark knows for something else, and
-- it looks at the lower port first. So who the packet is for is asked before that.
mrc:register_heuristic("udp", function(tvb, pinfo, root)
  if pinfo.dst_port ~= ROCE_PORT and pinfo.dst_port ~= PRINTED_PORT then return false end
  return mrc.dissector(tvb, pinfo, root) > 0
end)
-- And RoCE has no UDP checksum, over IPv6 neither. Older versions of Wireshark want to be told by hand:
-- -o udp.try_heuristic_first:TRUE -o udp.ignore_ipv6_zero_checksum:TRUE
if set_preference then -- for this run: they are not written to the file of preferences
  set_preference("udp.try_heuristic_first", true)
  set_preference("udp.ignore_ipv6_zero_checksum", true)
end

-- --- A table of conversations, for tshark ---

local function listen_for_conversations()
  local number, gap, retransmitted = Field.new("mrc.stream"), Field.new("mrc.gap"), Field.new("mrc.bth.rtx")
  local dqpn, opcode = Field.new("mrc.bth.dqpn"), Field.new("mrc.bth.opcode")
  local rows = {}
  local listener = Listener.new() -- our fields cannot be named in a filter yet

  function listener.packet(pinfo)
    if not number() then return end
    local key = stream_root(number().value)
    local row = rows[key]
    if not row then
      row = {ends = {}, packets = 0, bytes = 0, gaps = 0, retransmissions = 0}
      rows[key] = row
    end
    row.ends[string.format("%s 0x%06x", tostring(pinfo.net_dst), dqpn().value)] = true
    row.packets = row.packets + 1
    row.bytes = row.bytes + pinfo.len
    row.gaps = row.gaps + (gap() and 1 or 0)
    local takes_psn = OPCODES[band(opcode().value, 0x1F)].stream
    row.retransmissions = row.retransmissions + (takes_psn and retransmitted().value and 1 or 0)
  end

  function listener.draw()
    local roots = {}
    for key, row in pairs(rows) do
      -- Two directions that were seen before it was known that they belong together.
      local root = stream_root(key)
      local sum = roots[root]
      if not sum then
        roots[root] = row
      elseif sum ~= row then
        for one in pairs(row.ends) do sum.ends[one] = true end
        for _, name in ipairs({"packets", "bytes", "gaps", "retransmissions"}) do sum[name] = sum[name] + row[name] end
      end
    end
    local order = {}
    for key in pairs(roots) do order[#order + 1] = key end
    table.sort(order)
    print("stream packets bytes gaps retransmissions queue-pairs")
    for _, key in ipairs(order) do
      local row, ends = roots[key], {}
      for one in pairs(row.ends) do ends[#ends + 1] = one end
      table.sort(ends)
      print(string.format("%d %d %d %d %d %s", key, row.packets, row.bytes, row.gaps, row.retransmissions, table.concat(ends, " <-> ")))
    end
  end

  function listener.reset() rows = {} end
end

for _, word in ipairs(arguments) do
  if word == "conversations" then listen_for_conversations() end
end
