// SPDX-License-Identifier: BSD-2-Clause
#include "libmrc/fault/fault_text.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <optional>

#include "libmrc/work/completion_queue.h"

namespace mrc {
namespace {

struct Word {
  std::string_view name;
  uint32_t value;
};

constexpr Word kStatuses[] = {
    {"loc-len-err", static_cast<uint32_t>(CompletionStatus::kLocalLengthError)},
    {"loc-prot-err", static_cast<uint32_t>(CompletionStatus::kLocalProtectionError)},
    {"loc-qp-op-err", static_cast<uint32_t>(CompletionStatus::kLocalQpOperationError)},
    {"flush-err", static_cast<uint32_t>(CompletionStatus::kFlushed)},
    {"rem-inv-req-err", static_cast<uint32_t>(CompletionStatus::kRemoteInvalidRequest)},
    {"rem-access-err", static_cast<uint32_t>(CompletionStatus::kRemoteAccessError)},
    {"rem-op-err", static_cast<uint32_t>(CompletionStatus::kRemoteOperationError)},
    {"retry-exc-err", static_cast<uint32_t>(CompletionStatus::kRetryExceeded)},
    {"rnr-retry-exc-err", static_cast<uint32_t>(CompletionStatus::kRnrRetryExceeded)},
    {"mw-bind-err", static_cast<uint32_t>(CompletionStatus::kWindowBindError)},
    {"general-err", static_cast<uint32_t>(CompletionStatus::kGeneralError)},
};

constexpr Word kCalls[] = {
    {"any", static_cast<uint32_t>(FaultCall::kAny)},
    {"alloc-pd", static_cast<uint32_t>(FaultCall::kAllocPd)},
    {"reg-mr", static_cast<uint32_t>(FaultCall::kRegMr)},
    {"create-cq", static_cast<uint32_t>(FaultCall::kCreateCq)},
    {"create-qp", static_cast<uint32_t>(FaultCall::kCreateQp)},
    {"modify-qp", static_cast<uint32_t>(FaultCall::kModifyQp)},
    {"create-srq", static_cast<uint32_t>(FaultCall::kCreateSrq)},
    {"create-ah", static_cast<uint32_t>(FaultCall::kCreateAh)},
    {"resize-cq", static_cast<uint32_t>(FaultCall::kResizeCq)},
    {"alloc-mw", static_cast<uint32_t>(FaultCall::kAllocMw)},
};
static_assert(std::size(kCalls) == static_cast<size_t>(FaultCall::kCount));

constexpr Word kErrors[] = {{"EPERM", EPERM},   {"EIO", EIO},       {"EAGAIN", EAGAIN},
                            {"ENOMEM", ENOMEM}, {"EACCES", EACCES}, {"EFAULT", EFAULT},
                            {"EBUSY", EBUSY},   {"EINVAL", EINVAL}, {"ENOSPC", ENOSPC}};

// As verbs number them (enum ibv_event_type).
constexpr Word kEvents[] = {{"qp-fatal", 1},     {"qp-req-err", 2},        {"qp-access-err", 3},
                            {"comm-est", 4},     {"sq-drained", 5},        {"device-fatal", 8},
                            {"port-active", 9},  {"port-err", 10},         {"lid-change", 11},
                            {"pkey-change", 12}, {"sm-change", 13},        {"qp-last-wqe-reached", 16},
                            {"gid-change", 18},  {"client-reregister", 17}};

constexpr Word kDirections[] = {{"send", FaultRule::kSend},
                                {"receive", FaultRule::kReceive},
                                {"both", FaultRule::kSend | FaultRule::kReceive}};

// Which packets a word means: bits by the low five bits of the opcode, in the families of RC and MRC alike,
// and by whole opcodes of MRC's own.
struct OpcodeWord {
  std::string_view name;
  uint32_t alike;   // bits: 0x00..0x1F of either family
  uint32_t of_mrc;  // bits: the same of 0xC0..0xDF alone
  uint32_t of_ud;   // bits: the same of 0x60..0x7F
};
constexpr uint32_t span(int first, int last) {
  return static_cast<uint32_t>((uint64_t{1} << (last + 1)) - (uint64_t{1} << first));
}
constexpr uint32_t kSends = span(0x00, 0x05) | span(0x16, 0x17);
constexpr uint32_t kWrites = span(0x06, 0x0B);
constexpr uint32_t kReads = span(0x0C, 0x0C);
constexpr uint32_t kReadAnswers = span(0x0D, 0x10);
constexpr uint32_t kAtomics = span(0x12, 0x15);
constexpr uint32_t kAcks = span(0x11, 0x11);
constexpr uint32_t kFlushes = span(0x1A, 0x1A);
constexpr uint32_t kEndpoints = span(0x18, 0x19);
constexpr uint32_t kFeedback = span(0x1C, 0x1E);
constexpr OpcodeWord kOpcodes[] = {
    {"data", kSends | kWrites | kReads | kReadAnswers | kAtomics, kFlushes, kSends},
    {"control", kAcks, kEndpoints | kFeedback, 0},
    {"write", kWrites, 0, 0},
    {"send", kSends, 0, 0},
    {"read", kReads, 0, 0},
    {"read-response", kReadAnswers, 0, 0},
    {"atomic", kAtomics, 0, 0},
    {"flush", 0, kFlushes, 0},
    {"datagram", 0, 0, kSends},
    {"ack", kAcks, 0, 0},
    {"sack", 0, span(0x1C, 0x1C), 0},
    {"nack", 0, span(0x1D, 0x1D), 0},
    {"probe", 0, span(0x1E, 0x1E), 0},
    {"endpoint", 0, kEndpoints, 0},
};
using OpcodeSet = std::array<uint64_t, 4>;
constexpr OpcodeSet set_of(const OpcodeWord& word) {
  OpcodeSet set{};
  const uint32_t families[8] = {word.alike, 0, 0, word.of_ud, 0, 0, word.alike | word.of_mrc, 0};
  for (size_t family = 0; family < 8; ++family)
    set[family / 2] |= uint64_t{families[family]} << family % 2 * 32;
  return set;
}

template <size_t kCount>
std::optional<uint32_t> find(const Word (&words)[kCount], std::string_view name) {
  for (const Word& word : words)
    if (word.name == name) return word.value;
  return std::nullopt;
}
template <size_t kCount>
std::string name_of(const Word (&words)[kCount], uint32_t value) {
  for (const Word& word : words)
    if (word.value == value) return std::string(word.name);
  return std::to_string(value);
}
template <typename Words>
std::string list(const Words& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + std::string(word.name);
  return text;
}

// Decimal, or hexadecimal behind 0x.
std::optional<uint64_t> number(std::string_view text, uint64_t most) {
  const bool hex = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  if (hex) text.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (text.empty() || fault != std::errc() || end != text.data() + text.size() || value > most)
    return std::nullopt;
  return value;
}

std::string hex(uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", value);
  return text;
}

// --- one field each ---

bool read_rate(std::string_view value, FaultRule* rule) {
  double rate = 0;
  const auto [end, fault] = std::from_chars(value.data(), value.data() + value.size(), rate);
  if (value.empty() || fault != std::errc() || end != value.data() + value.size() || !(rate > 0 && rate <= 1))
    return false;
  rule->rate = static_cast<uint64_t>(rate * static_cast<double>(FaultRule::kAlways));
  if (rule->rate == 0) rule->rate = 1;
  return true;
}

bool read_planes(std::string_view value, FaultRule* rule) {
  uint32_t planes = 0;
  while (true) {
    const size_t comma = value.find(',');
    const auto plane = number(value.substr(0, comma), kPlanesMax - 1);
    if (!plane) return false;
    planes |= 1u << *plane;
    if (comma == std::string_view::npos) break;
    value.remove_prefix(comma + 1);
  }
  rule->planes = planes;
  return true;
}

bool read_opcodes(std::string_view value, FaultRule* rule) {
  OpcodeSet set{};
  while (true) {
    const size_t comma = value.find(',');
    const std::string_view name = value.substr(0, comma);
    if (const auto opcode = number(name, 0xFF)) {
      set[*opcode / 64] |= uint64_t{1} << *opcode % 64;
    } else {
      const OpcodeWord* found = nullptr;
      for (const OpcodeWord& word : kOpcodes)
        if (word.name == name) found = &word;
      if (found == nullptr) return false;
      const OpcodeSet more = set_of(*found);
      for (size_t i = 0; i < set.size(); ++i) set[i] |= more[i];
    }
    if (comma == std::string_view::npos) break;
    value.remove_prefix(comma + 1);
  }
  rule->opcodes = set;
  return true;
}

std::string opcodes_text(OpcodeSet set) {
  std::string text;
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : ",") + more; };
  for (const OpcodeWord& word : kOpcodes) {
    const OpcodeSet whole = set_of(word);
    bool has_all = true;
    for (size_t i = 0; i < set.size(); ++i) has_all = has_all && (set[i] & whole[i]) == whole[i];
    if (!has_all) continue;
    for (size_t i = 0; i < set.size(); ++i) set[i] &= ~whole[i];
    add(std::string(word.name));
  }
  for (uint32_t opcode = 0; opcode < 256; ++opcode)
    if ((set[opcode / 64] >> opcode % 64 & 1) != 0) add(hex(opcode));
  return text;
}

bool read_psns(std::string_view value, FaultRule* rule) {
  const size_t dash = value.find('-');
  const auto first = number(value.substr(0, dash), FaultRule::kPsnMax);
  const auto last =
      dash == std::string_view::npos ? first : number(value.substr(dash + 1), FaultRule::kPsnMax);
  if (!first || !last || *first > *last) return false;
  rule->psn_first = static_cast<uint32_t>(*first);
  rule->psn_last = static_cast<uint32_t>(*last);
  return true;
}

bool read_ev(std::string_view value, FaultRule* rule) {
  const size_t slash = value.find('/');
  const auto ev = number(value.substr(0, slash), UINT32_MAX);
  const auto mask = slash == std::string_view::npos ? std::optional<uint64_t>(UINT32_MAX)
                                                    : number(value.substr(slash + 1), UINT32_MAX);
  if (!ev || !mask || *mask == 0) return false;
  rule->entropy = static_cast<uint32_t>(*ev);
  rule->entropy_mask = static_cast<uint32_t>(*mask);
  return true;
}

bool read_nth(std::string_view value, FaultRule* rule) {
  const auto nth = number(value, UINT32_MAX);
  if (!nth || *nth == 0) return false;
  rule->skip = *nth - 1;
  rule->count = 1;
  return true;
}

template <typename Member>
bool take(std::optional<uint64_t> from, Member FaultRule::*to, FaultRule* rule) {
  if (from) rule->*to = static_cast<Member>(*from);
  return from.has_value();
}

bool read_errno(std::string_view value, FaultRule* rule) {
  if (const auto named = find(kErrors, value)) return rule->value = *named, true;
  const auto given = number(value, 133);
  return given && *given > 0 && take(given, &FaultRule::value, rule);
}

struct Field {
  std::string_view name;
  std::string_view wanted;
  bool (*read)(std::string_view value, FaultRule* rule);
};
constexpr Field kFields[] = {
    {"rate", "a chance above 0 and up to 1", read_rate},
    {"nth", "a whole number from 1: that one alone", read_nth},
    {"skip", "a whole number: so many pass first",
     [](std::string_view value, FaultRule* rule) {
       return take(number(value, UINT64_MAX), &FaultRule::skip, rule);
     }},
    {"count", "a whole number: so many at most, 0 for all",
     [](std::string_view value, FaultRule* rule) {
       return take(number(value, UINT64_MAX), &FaultRule::count, rule);
     }},
    {"seed", "a whole number",
     [](std::string_view value, FaultRule* rule) {
       return take(number(value, UINT64_MAX), &FaultRule::seed, rule);
     }},
    {"delay_us", "microseconds, from 1 to 60000000",
     [](std::string_view value, FaultRule* rule) {
       const auto us = number(value, 60'000'000);
       if (us && *us > 0) rule->delay_ns = *us * 1000;
       return us && *us > 0;
     }},
    {"direction", "send, receive or both",
     [](std::string_view value, FaultRule* rule) {
       const auto found = find(kDirections, value);
       if (found) rule->direction = static_cast<uint8_t>(*found);
       return found.has_value();
     }},
    {"plane", "a plane from 0 to 15, or several: 0,2", read_planes},
    {"ev", "an entropy value, or VALUE/MASK: 0xc001, 0xc000/0xfff0", read_ev},
    {"opcode", "", read_opcodes},
    {"psn", "a packet sequence number, or a range: 100-200", read_psns},
    {"qpn", "the number of a queue pair",
     [](std::string_view value, FaultRule* rule) {
       return take(number(value, Qpn::kMask), &FaultRule::qpn, rule);
     }},
    {"status", "",
     [](std::string_view value, FaultRule* rule) {
       return take(find(kStatuses, value), &FaultRule::value, rule);
     }},
    {"call", "",
     [](std::string_view value, FaultRule* rule) {
       return take(find(kCalls, value), &FaultRule::call, rule);
     }},
    {"errno", "a value of errno: ENOMEM, EINVAL, ... or a number from 1 to 133", read_errno},
    {"event", "",
     [](std::string_view value, FaultRule* rule) {
       return take(find(kEvents, value), &FaultRule::value, rule);
     }},
};

std::string wanted_of(const Field& field) {
  if (field.name == "opcode")
    return "one or more of " + list(kOpcodes) + ", or numbers such as 0xca, with commas between";
  if (field.name == "status") return "one of " + list(kStatuses);
  if (field.name == "call") return "one of " + list(kCalls);
  if (field.name == "event") return "one of " + list(kEvents);
  return std::string(field.wanted);
}

}  // namespace

bool read_fault_kind(std::string_view word, FaultRule* rule, std::string* wanted) {
  for (size_t kind = 0; kind < kFaultKinds; ++kind) {
    if (word != kFaultNames[kind]) continue;
    rule->kind = static_cast<FaultKind>(kind);
    return true;
  }
  *wanted = "one of";
  for (size_t kind = 0; kind < kFaultKinds; ++kind)
    *wanted += std::string(kind == 0 ? " " : ", ") + kFaultNames[kind];
  return false;
}

bool read_fault_field(std::string_view key, std::string_view value, FaultRule* rule, std::string* wanted) {
  for (const Field& field : kFields) {
    if (field.name != key) continue;
    if (field.read(value, rule)) return true;
    *wanted = std::string(key) + " must be " + wanted_of(field);
    return false;
  }
  *wanted = "unknown field " + std::string(key) + "; known fields: " + list(kFields);
  return false;
}

bool check_fault(const FaultRule& rule, std::string* wanted) {
  const auto need = [&](bool there, const char* what) {
    if (!there) *wanted = std::string(to_string(rule.kind)) + " needs " + what;
    return there;
  };
  switch (rule.kind) {
    case FaultKind::kDelay:
    case FaultKind::kSlowCq:
      return need(rule.delay_ns != 0, "delay_us");
    case FaultKind::kRequest:
      return need(rule.value != 0, "status");
    case FaultKind::kCall:
      return need(rule.value != 0, "errno");
    case FaultKind::kEvent:
      return need(rule.value != 0, "event") && need(rule.qpn != 0 || (rule.value >= 8 && rule.value != 16),
                                                    "qpn: the event is of a queue pair");
    default:
      return true;
  }
}

bool read_fault(std::string_view text, FaultRule* rule, std::string* wanted) {
  const auto next = [&text] {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    return word;
  };
  *rule = FaultRule{};
  const std::string_view kind = next();
  if (!read_fault_kind(kind, rule, wanted)) {
    *wanted = "the kind of fault must be " + *wanted;
    return false;
  }
  for (std::string_view word = next(); !word.empty(); word = next()) {
    const size_t equals = word.find('=');
    if (equals == std::string_view::npos) {
      *wanted = "'" + std::string(word) + "' must be FIELD=VALUE";
      return false;
    }
    if (!read_fault_field(word.substr(0, equals), word.substr(equals + 1), rule, wanted)) return false;
  }
  return check_fault(*rule, wanted);
}

std::vector<std::pair<std::string, std::string>> fields_of(const FaultRule& rule) {
  std::vector<std::pair<std::string, std::string>> fields;
  const auto add = [&](const char* key, const std::string& value) { fields.emplace_back(key, value); };
  const FaultRule first;
  if (rule.rate != first.rate) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g",
                  static_cast<double>(rule.rate) / static_cast<double>(FaultRule::kAlways));
    add("rate", text);
  }
  if (rule.skip != 0) add("skip", std::to_string(rule.skip));
  if (rule.count != 0) add("count", std::to_string(rule.count));
  if (rule.seed != first.seed) add("seed", std::to_string(rule.seed));
  if (rule.delay_ns != 0) add("delay_us", std::to_string(rule.delay_ns / 1000));
  if (rule.direction != first.direction) add("direction", name_of(kDirections, rule.direction));
  if (rule.planes != first.planes) {
    std::string planes;
    for (uint32_t plane = 0; plane < kPlanesMax; ++plane)
      if ((rule.planes >> plane & 1) != 0) planes += (planes.empty() ? "" : ",") + std::to_string(plane);
    add("plane", planes);
  }
  if (rule.entropy_mask != 0)
    add("ev", hex(rule.entropy) + (rule.entropy_mask == UINT32_MAX ? "" : "/" + hex(rule.entropy_mask)));
  if (!rule.takes_every_opcode()) add("opcode", opcodes_text(rule.opcodes));
  if (rule.psn_first != 0 || rule.psn_last != FaultRule::kPsnMax)
    add("psn", std::to_string(rule.psn_first) + "-" + std::to_string(rule.psn_last));
  if (rule.qpn != 0) add("qpn", hex(rule.qpn));
  if (rule.kind == FaultKind::kRequest) add("status", name_of(kStatuses, rule.value));
  if (rule.kind == FaultKind::kCall) {
    add("call", name_of(kCalls, rule.call));
    add("errno", name_of(kErrors, rule.value));
  }
  if (rule.kind == FaultKind::kEvent) add("event", name_of(kEvents, rule.value));
  return fields;
}

std::string describe(const FaultRule& rule) {
  std::string text = to_string(rule.kind);
  for (const auto& [key, value] : fields_of(rule)) text.append(" ").append(key).append("=").append(value);
  return text;
}

}  // namespace mrc
