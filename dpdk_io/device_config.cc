// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/device_config.h"

#include <toml++/toml.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string_view>
#include <vector>

namespace mrc {
namespace {

constexpr const char* kSystemFile = "/etc/mrc/mrc.toml";

// One key: what it may be, and where it goes. Every key is also in docs/settings.md.
struct Setting {
  std::string_view table;
  std::string_view key;
  std::string wanted;  // "must be ..."
  std::function<bool(const toml::node&, DeviceConfig*)> set;
};

template <typename Target>
Setting whole_number(std::string_view table, std::string_view key, int64_t least, int64_t most,
                     std::function<Target&(DeviceConfig&)> target, int64_t factor = 1) {
  return {table, key, "a whole number from " + std::to_string(least) + " to " + std::to_string(most),
          [=](const toml::node& node, DeviceConfig* config) {
            const auto* value = node.as_integer();
            if (value == nullptr || value->get() < least || value->get() > most) return false;
            target(*config) = static_cast<Target>(value->get() * factor);
            return true;
          }};
}

Setting power_of_two(std::string_view table, std::string_view key, int64_t least, int64_t most,
                     std::function<uint32_t&(DeviceConfig&)> target) {
  return {table, key, "a power of two from " + std::to_string(least) + " to " + std::to_string(most),
          [=](const toml::node& node, DeviceConfig* config) {
            const auto* value = node.as_integer();
            if (value == nullptr || value->get() < least || value->get() > most) return false;
            if (!std::has_single_bit(static_cast<uint64_t>(value->get()))) return false;
            target(*config) = static_cast<uint32_t>(value->get());
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

Setting yes_or_no(std::string_view table, std::string_view key, std::function<bool&(DeviceConfig&)> target) {
  return {table, key, "true or false", [=](const toml::node& node, DeviceConfig* config) {
            const auto* value = node.as_boolean();
            if (value == nullptr) return false;
            target(*config) = value->get();
            return true;
          }};
}

const std::vector<Setting>& settings() {
  using Config = DeviceConfig;
  constexpr int64_t kMicrosecondsMax = 60'000'000;
  static const std::vector<Setting> all = {
      device_name(),
      whole_number<uint32_t>(
          "device", "planes", 1, kPlanesMax, [](Config & c) -> auto& { return c.planes; }),
      power_of_two(
          "device", "mtu", 256, 4096, [](Config & c) -> auto& { return c.mtu; }),

      whole_number<uint32_t>(
          "transport", "paths_per_plane", 1, 256,
          [](Config & c) -> auto& { return c.transport.paths_per_plane; }),
      whole_number<uint32_t>(
          "transport", "paths_min_active", 0, 4096,
          [](Config & c) -> auto& { return c.transport.paths_min_active; }),
      whole_number<uint32_t>(
          "transport", "window_bytes", 4096, 1 << 28,
          [](Config & c) -> auto& { return c.transport.window_bytes; }),
      power_of_two(
          "transport", "window_packets", 64, 32768,
          [](Config & c) -> auto& { return c.transport.window_packets; }),
      whole_number<uint32_t>(
          "transport", "sack_threshold_bytes", 0, 1 << 24,
          [](Config & c) -> auto& { return c.transport.sack_threshold_bytes; }),
      whole_number<uint16_t>(
          "transport", "immediates_max", 1, 4096,
          [](Config & c) -> auto& { return c.transport.immediates_max; }),
      whole_number<Nanoseconds>(
          "transport", "reorder_window_min_us", 0, kMicrosecondsMax,
          [](Config & c) -> auto& { return c.transport.reorder_window_min; }, kMicrosecond),
      whole_number<Nanoseconds>(
          "transport", "probe_interval_us", 1, kMicrosecondsMax,
          [](Config & c) -> auto& { return c.transport.probe_interval; }, kMicrosecond),
      whole_number<Nanoseconds>(
          "transport", "probe_interval_max_us", 1, kMicrosecondsMax,
          [](Config & c) -> auto& { return c.transport.probe_interval_max; }, kMicrosecond),
      yes_or_no(
          "transport", "coarse_timestamps",
          [](Config & c) -> auto& { return c.transport.coarse_timestamps; }),
      whole_number<uint8_t>(
          "transport", "dscp_data", 0, 63, [](Config & c) -> auto& { return c.transport.dscp_data; }),
      whole_number<uint8_t>(
          "transport", "dscp_control", 0, 63, [](Config & c) -> auto& { return c.transport.dscp_control; }),

      whole_number<uint32_t>(
          "limits", "mbufs", 1024, 1 << 20, [](Config & c) -> auto& { return c.mbufs; }),
  };
  return all;
}

std::string known_keys(std::string_view table) {
  std::string text;
  for (const Setting& setting : settings())
    if (setting.table == table) text += (text.empty() ? "" : ", ") + std::string(setting.key);
  return text;
}

std::string known_tables() {
  std::string text;
  std::string_view last;
  for (const Setting& setting : settings()) {
    if (setting.table != last) text += (text.empty() ? "[" : ", [") + std::string(setting.table) + "]";
    last = setting.table;
  }
  return text;
}

std::string at(const std::string& file, const toml::source_region& where) {
  return "mrc: " + file + ":" + std::to_string(where.begin.line) + ": ";
}

std::string quoted(std::string_view text) {
  std::string result(1, '"');
  result.append(text);
  result += '"';
  return result;
}

bool apply_key(std::string_view table, const toml::key& key, const toml::node& node, const std::string& file,
               DeviceConfig* config, std::string* error) {
  for (const Setting& setting : settings()) {
    if (setting.table != table || setting.key != key.str()) continue;
    if (setting.set(node, config)) return true;
    *error = at(file, node.source()) + quoted(key.str()) + " in [" + std::string(table) + "] must be " +
             setting.wanted;
    return false;
  }
  *error = at(file, key.source()) + "unknown key " + quoted(key.str()) + " in [" + std::string(table) +
           "]; known keys: " + known_keys(table);
  return false;
}

bool apply_table(const toml::key& name, const toml::node& node, const std::string& file, DeviceConfig* config,
                 std::string* error) {
  if (known_keys(name.str()).empty()) {
    const std::string what = node.is_table() ? "unknown table [" + std::string(name.str()) + "]"
                                             : "key " + quoted(name.str()) + " stands outside of a table";
    *error = at(file, name.source()) + what + "; known tables: " + known_tables();
    return false;
  }
  const toml::table* table = node.as_table();
  if (table == nullptr) {
    *error = at(file, name.source()) + quoted(name.str()) + " must be a table: write [" +
             std::string(name.str()) + "] on a line of its own";
    return false;
  }
  for (const auto& [key, value] : *table)
    if (!apply_key(name.str(), key, value, file, config, error)) return false;
  return true;
}

bool apply_environment(DeviceConfig* config, std::string* error) {
  const char* planes = std::getenv("MRC_PLANES");
  if (planes == nullptr || *planes == '\0') return true;
  char* end = nullptr;
  const unsigned long value = std::strtoul(planes, &end, 10);
  if (*end == '\0' && planes[0] >= '0' && planes[0] <= '9' && value >= 1 && value <= kPlanesMax) {
    config->planes = static_cast<uint32_t>(value);
    return true;
  }
  *error = "mrc: MRC_PLANES=" + std::string(planes) + " must be a whole number from 1 to " +
           std::to_string(kPlanesMax);
  return false;
}

// False with an empty error: there is no such file.
bool read_file(const std::string& file, std::string* text, std::string* error) {
  FILE* stream = std::fopen(file.c_str(), "re");
  if (stream != nullptr) {
    char part[4096];
    errno = 0;
    while (const size_t bytes = std::fread(part, 1, sizeof part, stream)) text->append(part, bytes);
    const bool failed = std::ferror(stream) != 0;  // a directory, for one
    const int why = errno;
    std::fclose(stream);
    if (!failed) return true;
    errno = why;
  } else if (errno == ENOENT) {
    return false;
  }
  *error = "mrc: " + file + ": " + std::strerror(errno);
  return false;
}

}  // namespace

bool parse_device_config(const std::string& text, const std::string& file, DeviceConfig* config,
                         std::string* error) {
  toml::table root;
  try {
    root = toml::parse(text);
  } catch (const toml::parse_error& failure) {
    *error = at(file, failure.source()) + "not TOML: " + std::string(failure.description());
    return false;
  }
  for (const auto& [name, node] : root)
    if (!apply_table(name, node, file, config, error)) return false;
  if (config->transport.probe_interval_max < config->transport.probe_interval) {
    *error = "mrc: " + file +
             ": \"probe_interval_max_us\" in [transport] must not be less than \"probe_interval_us\"";
    return false;
  }
  return true;
}

bool load_device_config(DeviceConfig* config, std::string* error) {
  *config = DeviceConfig{};
  error->clear();
  const char* given = std::getenv("MRC_CONFIG");
  const bool is_given = given != nullptr && *given != '\0';
  const std::string file = is_given ? given : kSystemFile;
  std::string text;
  if (read_file(file, &text, error)) {
    if (!parse_device_config(text, file, config, error)) return false;
  } else if (is_given || !error->empty()) {
    if (error->empty()) *error = "mrc: " + file + ": no such file";
    *error += is_given ? "; set MRC_CONFIG to a file that can be read, or unset it for the defaults"
                       : "; make it readable or remove it for the defaults";
    return false;
  }
  return apply_environment(config, error);
}

}  // namespace mrc
