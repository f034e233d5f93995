// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/settings/config_text.h"

#include <arpa/inet.h>

#include <charconv>

namespace mrc::config_text {

std::string at(const std::string& file, const toml::source_region& where) {
  return "mrc: " + file + ":" + std::to_string(where.begin.line) + ": ";
}

std::string quoted(std::string_view text) {
  std::string result(1, '"');
  result.append(text);
  result += '"';
  return result;
}

std::optional<int64_t> number(const toml::node& node, int64_t least, int64_t most) {
  const auto* value = node.as_integer();
  if (value == nullptr || value->get() < least || value->get() > most) return std::nullopt;
  return value->get();
}

std::optional<IpAddress> address(const toml::node& node) {
  const auto* value = node.as_string();
  if (value == nullptr || value->get().find('\0') != std::string::npos) return std::nullopt;
  IpAddress result;
  uint8_t v4[4];
  if (inet_pton(AF_INET, value->get().c_str(), v4) == 1) return IpAddress::v4(v4[0], v4[1], v4[2], v4[3]);
  if (inet_pton(AF_INET6, value->get().c_str(), result.bytes.data()) == 1) return result;
  return std::nullopt;
}

std::optional<MacAddress> mac_address(const toml::node& node) {
  const auto* value = node.as_string();
  if (value == nullptr || value->get().size() != 17) return std::nullopt;
  const char* at = value->get().data();
  MacAddress mac;
  for (size_t i = 0; i < mac.bytes.size(); ++i, at += 3) {
    const auto [end, fault] = std::from_chars(at, at + 2, mac.bytes[i], 16);
    if (fault != std::errc() || end != at + 2) return std::nullopt;
    if (i + 1 < mac.bytes.size() && at[2] != ':') return std::nullopt;
  }
  return mac;
}

}  // namespace mrc::config_text
