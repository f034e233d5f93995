// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/settings/setting_table.h"

#include <bit>
#include <optional>

#include "dpdk_io/settings/config_text.h"
#include "libmrc/wire/frame.h"

namespace mrc {
namespace {

template <typename Value>
Value& in(DeviceConfig& config, Value DeviceConfig::*member) {
  return config.*member;
}
template <typename Value>
Value& in(DeviceConfig& config, Value TransportConfig::*member) {
  return config.transport.*member;
}

template <typename Value>
Value& in(DeviceConfig& config, Value NsccConfig::*member) {
  return config.transport.nscc.*member;
}

template <typename Value>
Value& in(DeviceConfig& config, Value InteropConfig::*member) {
  return config.transport.interop.*member;
}

template <typename Owner, typename Value>
Setting whole_number(std::string_view table, std::string_view key, int64_t least, int64_t most,
                     Value Owner::*member, Value unit = 1) {
  return {table, key, "a whole number from " + std::to_string(least) + " to " + std::to_string(most),
          [=](const toml::node& node, DeviceConfig* config) {
            const auto number = config_text::number(node, least, most);
            if (!number) return false;
            in(*config, member) = static_cast<Value>(static_cast<Value>(*number) * unit);
            return true;
          }};
}

template <typename Owner>
Setting power_of_two(std::string_view table, std::string_view key, int64_t least, int64_t most,
                     uint32_t Owner::*member) {
  return {table, key, "a power of two from " + std::to_string(least) + " to " + std::to_string(most),
          [=](const toml::node& node, DeviceConfig* config) {
            const auto number = config_text::number(node, least, most);
            if (!number || !std::has_single_bit(static_cast<uint64_t>(*number))) return false;
            in(*config, member) = static_cast<uint32_t>(*number);
            return true;
          }};
}

bool is_device_name(const std::string& name) {
  if (name.empty() || name.size() > 15) return false;
  for (const char c : name)
    if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-')
      return false;
  return true;
}

Setting device_name() {
  return {"device", "name", "a name of 1 to 15 letters, digits, - and _ in quotes",
          [](const toml::node& node, DeviceConfig* config) {
            const auto* value = node.as_string();
            if (value == nullptr || !is_device_name(value->get())) return false;
            config->name = value->get();
            return true;
          }};
}

Setting gids() {
  return {"device", "gids", "a list of IPv4 or IPv6 addresses: [\"10.0.0.1\", ...]",
          [](const toml::node& node, DeviceConfig* config) {
            const toml::array* array = node.as_array();
            if (array == nullptr || array->empty()) return false;
            for (const toml::node& element : *array) {
              const auto address = config_text::address(element);
              if (!address) return false;
              config->gids.push_back(*address);
            }
            return true;
          }};
}

Setting hosts_file() {
  return {"device", "hosts_file", "the path of a file in quotes",
          [](const toml::node& node, DeviceConfig* config) {
            const auto* value = node.as_string();
            if (value == nullptr || value->get().empty() || value->get().find('\0') != std::string::npos)
              return false;
            config->network.hosts_file = value->get();
            return true;
          }};
}

Setting device_transport() {
  return {"device", "transport", std::string(kTransportsWanted) + " in quotes",
          [](const toml::node& node, DeviceConfig* config) {
            const auto* value = node.as_string();
            return value != nullptr && read_transport(value->get(), config);
          }};
}

// The default depends on the ports; see choose_congestion_control.
Setting congestion_algorithm() {
  return {"congestion", "algorithm", "none, nscc or receiver-aware in quotes",
          [](const toml::node& node, DeviceConfig* config) {
            const auto* value = node.as_string();
            const std::string_view name = value == nullptr ? std::string_view() : value->get();
            if (name == "none")
              config->transport.congestion = CongestionAlgorithm::kNone;
            else if (name == "nscc")
              config->transport.congestion = CongestionAlgorithm::kNscc;
            else if (name == "receiver-aware")
              config->transport.congestion = CongestionAlgorithm::kReceiverAware;
            else
              return false;
            return true;
          }};
}

Setting icrc() {
  return {"device", "icrc", "offload or always in quotes", [](const toml::node& node, DeviceConfig* config) {
            const auto* value = node.as_string();
            if (value == nullptr || (value->get() != "offload" && value->get() != "always")) return false;
            config->icrc_always = value->get() == "always";
            return true;
          }};
}

Setting share_users() {
  return {"mrcd", "users", "\"all\", or a list of users: [\"alice\", \"1001\", ...]",
          [](const toml::node& node, DeviceConfig* config) {
            if (const auto* word = node.as_string()) return config->share_users.all = word->get() == "all";
            const toml::array* array = node.as_array();
            if (array == nullptr) return false;
            for (const toml::node& element : *array) {
              const auto* name = element.as_string();
              if (name == nullptr || name->get().empty()) return false;
              config->share_users.names.push_back(name->get());
            }
            return true;
          }};
}

template <typename Owner>
Setting yes_or_no(std::string_view table, std::string_view key, bool Owner::*member) {
  return {table, key, "true or false", [=](const toml::node& node, DeviceConfig* config) {
            const auto* value = node.as_boolean();
            if (value == nullptr) return false;
            in(*config, member) = value->get();
            return true;
          }};
}

// One of two words.
Setting either(std::string_view table, std::string_view key, std::string_view no, std::string_view yes,
               bool InteropConfig::*member) {
  return {table, key, std::string(no) + " or " + std::string(yes) + " in quotes",
          [=](const toml::node& node, DeviceConfig* config) {
            const auto* value = node.as_string();
            if (value == nullptr || (value->get() != no && value->get() != yes)) return false;
            in(*config, member) = value->get() == yes;
            return true;
          }};
}

Setting backups_per_plane() {
  return {"transport", "backups_per_plane", "a whole number from 0 to 256, or auto in quotes",
          [](const toml::node& node, DeviceConfig* config) {
            const auto* word = node.as_string();
            const bool automatic = word != nullptr && word->get() == "auto";
            const std::optional<int64_t> number =
                automatic ? TransportConfig::kBackupsAuto : config_text::number(node, 0, 256);
            if (number) config->transport.backups_per_plane = static_cast<uint32_t>(*number);
            return number.has_value();
          }};
}

Setting udp_port() {
  return {"interop", "udp_port", "4791 or 4971", [](const toml::node& node, DeviceConfig* config) {
            const auto number = config_text::number(node, kUdpPort, kUdpPortSpecPrint);
            if (!number || (*number != kUdpPort && *number != kUdpPortSpecPrint)) return false;
            config->transport.interop.udp_port = static_cast<uint16_t>(*number);
            return true;
          }};
}

}  // namespace

bool read_transport(std::string_view name, DeviceConfig* config) {
  if (name == "mrc") {
    config->transport.transport = Transport::kMrc;
  } else if (name == "mrc-strict") {
    config->transport.transport = Transport::kMrcStrict;
  } else if (name == "rc") {
    config->transport.transport = Transport::kRc;
  } else {
    return false;
  }
  return true;
}

const std::vector<Setting>& settings() {
  using Device = DeviceConfig;
  using Transport = TransportConfig;
  constexpr int64_t kTimeMax = 60'000'000;  // a minute in microseconds
  constexpr int64_t kDscpMax = 63;
  constexpr std::string_view kDevice = "device", kTransport = "transport", kCongestion = "congestion",
                             kInterop = "interop", kLimits = "limits";
  static const std::vector<Setting> all = {
      device_name(),
      whole_number(kDevice, "planes", 1, kPlanesMax, &Device::planes),
      whole_number(kDevice, "engines", 1, Device::kEnginesMax, &Device::engines),
      power_of_two(kDevice, "mtu", 256, kMtuMax, &Device::mtu),
      gids(),
      hosts_file(),
      device_transport(),
      icrc(),

      yes_or_no(kTransport, "strict", &Transport::strict),
      whole_number(kTransport, "paths_per_plane", 1, Transport::kPathsPerPlaneMax,
                   &Transport::paths_per_plane),
      backups_per_plane(),
      power_of_two(kTransport, "mark_skip_turns_max", 1, 128, &Transport::mark_skip_turns_max),
      power_of_two(kTransport, "trim_skip_turns", 1, 128, &Transport::trim_skip_turns),
      whole_number(kTransport, "paths_min_active", 0, 4096, &Transport::paths_min_active),
      yes_or_no(kTransport, "tell_denied", &Transport::tell_denied),
      whole_number(kTransport, "window_bytes", 4096, 1 << 28, &Transport::window_bytes),
      power_of_two(kTransport, "window_packets", 64, 32768, &Transport::window_packets),
      yes_or_no(kTransport, "dynamic_mpr", &Transport::dynamic_mpr),
      whole_number(kTransport, "full_windows", 1, 65536, &Transport::full_windows),
      yes_or_no(kTransport, "spare_copies", &Transport::spare_copies),
      whole_number(kTransport, "sack_threshold_bytes", 0, 1 << 24, &Transport::sack_threshold_bytes),
      whole_number(kTransport, "immediates_max", 1, 4096, &Transport::immediates_max),
      whole_number(kTransport, "reorder_window_min_us", 0, kTimeMax, &Transport::reorder_window_min,
                   kMicrosecond),
      whole_number(kTransport, "silence_min_us", 1, kTimeMax, &Transport::silence_min, kMicrosecond),
      whole_number(kTransport, "probe_interval_us", 1, kTimeMax, &Transport::probe_interval, kMicrosecond),
      whole_number(kTransport, "probe_interval_max_us", 1, kTimeMax, &Transport::probe_interval_max,
                   kMicrosecond),
      yes_or_no(kTransport, "coarse_timestamps", &Transport::coarse_timestamps),
      whole_number(kTransport, "dscp_data", 0, kDscpMax, &Transport::dscp_data),
      whole_number(kTransport, "dscp_retransmission", 0, kDscpMax, &Transport::dscp_retransmission),
      whole_number(kTransport, "dscp_probe", 0, kDscpMax, &Transport::dscp_probe),
      whole_number(kTransport, "dscp_control", 0, kDscpMax, &Transport::dscp_control),
      whole_number(kTransport, "dscp_trimmed", 0, kDscpMax, &Transport::dscp_trimmed),
      whole_number(kTransport, "dscp_trimmed_last_hop", 0, kDscpMax, &Transport::dscp_trimmed_last_hop),

      congestion_algorithm(),
      whole_number(kCongestion, "link_rate_mbps", 1, 10'000'000, &Transport::link_rate_bps,
                   uint64_t{1'000'000}),
      whole_number(kCongestion, "base_rtt_us", 1, 1'000'000, &NsccConfig::base_rtt, kMicrosecond),
      yes_or_no(kCongestion, "trimming", &NsccConfig::trimming),
      yes_or_no(kCongestion, "receiver_penalty", &Transport::receiver_penalty),
      whole_number(kCongestion, "expected_senders", 0, 65535, &Transport::expected_senders),

      udp_port(),
      whole_number(kInterop, "partition_key", 0, 0xFFFF, &InteropConfig::partition_key),
      yes_or_no(kInterop, "check_partition_key", &InteropConfig::check_partition_key),
      either(kInterop, "echo", "port-low", "port-high", &InteropConfig::echo_port_first),
      yes_or_no(kInterop, "pad", &InteropConfig::pad),
      either(kInterop, "response_operation", "bits-3-2", "bits-5-4", &InteropConfig::response_operation_high),
      either(kInterop, "out_of_window", "drop", "nack", &InteropConfig::nack_out_of_window),

      whole_number(kLimits, "mbufs", 1024, 1 << 20, &Device::mbufs),

      share_users(),
      whole_number("mrcd", "threads", 1, Device::kShareThreadsMax, &Device::share_threads),
      whole_number("mrcd", "metrics_port", 1, 65535, &Device::metrics_port),
  };
  return all;
}

std::string known_keys(std::string_view table) {
  std::string text;
  for (const Setting& setting : settings())
    if (setting.table == table) text += (text.empty() ? "" : ", ") + std::string(setting.key);
  return text;
}

}  // namespace mrc
