// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/settings/device_config.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "dpdk_io/settings/config_text.h"
#include "dpdk_io/settings/hosts_file.h"
#include "dpdk_io/settings/network_check.h"
#include "dpdk_io/settings/network_config_reader.h"
#include "dpdk_io/settings/setting_table.h"
#include "dpdk_io/settings/text_file.h"
#include "dpdk_io/settings/toml.h"
#include "libmrc/fault/fault_text.h"
#include "libmrc/wire/frame.h"

namespace mrc {
namespace {

using config_text::at;
using config_text::quoted;

constexpr std::string_view kFaultTable = "fault";
constexpr const char* kSystemFile = "/etc/mrc/mrc.toml";

std::string known_tables() {
  std::string text;
  std::string_view last;
  for (const Setting& setting : settings()) {
    if (setting.table != last) text += (text.empty() ? "[" : ", [") + std::string(setting.table) + "]";
    last = setting.table;
  }
  return text + ", [[" + std::string(kFaultTable) + "]], " + std::string(kNetworkTables);
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

// A field of a rule as mrcctl would have it.
std::string text_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* number = node.as_floating_point()) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", number->get());
    return text;
  }
  std::string all;
  if (const toml::array* array = node.as_array())
    for (const toml::node& element : *array) all += (all.empty() ? "" : ",") + text_of(element);
  return all;
}

bool read_fault(const toml::table& table, const std::string& file, FaultRule* rule, std::string* error) {
  std::string wanted;
  const toml::node* kind = table.get("kind");
  if (kind == nullptr || !read_fault_kind(text_of(*kind), rule, &wanted)) {
    read_fault_kind("", rule, &wanted);
    *error = at(file, (kind != nullptr ? kind : &table)->source()) + quoted("kind") +
             " in [[fault]] must be " + wanted + ", in quotes";
    return false;
  }
  for (const auto& [key, value] : table) {
    if (key.str() == "kind" || read_fault_field(key.str(), text_of(value), rule, &wanted)) continue;
    *error = at(file, value.source()) + "in [[fault]]: " + wanted;
    return false;
  }
  if (check_fault(*rule, &wanted)) return true;
  *error = at(file, table.source()) + "in [[fault]]: " + wanted;
  return false;
}

bool read_faults(const toml::key& name, const toml::node& node, const std::string& file, DeviceConfig* config,
                 std::string* error) {
  constexpr size_t kFaultsMax = 64;
  const toml::array* array = node.as_array();
  if (array == nullptr || !array->is_array_of_tables() || array->size() > kFaultsMax) {
    *error =
        at(file, name.source()) + "[[fault]] is a list of tables, 64 at most: write [[fault]] before each";
    return false;
  }
  for (const toml::node& element : *array) {
    FaultRule& rule = config->faults.emplace_back();
    rule.id = static_cast<uint32_t>(config->faults.size());
    if (!read_fault(*element.as_table(), file, &rule, error)) return false;
  }
  return true;
}

bool apply_table(const toml::key& name, const toml::node& node, const std::string& file, DeviceConfig* config,
                 std::string* error) {
  if (is_network_table(name.str())) return read_network_table(name, node, file, &config->network, error);
  if (name.str() == kFaultTable) return read_faults(name, node, file, config, error);
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

// There is one port per plane.
bool take_planes_of_ports(const toml::table& root, const std::string& file, DeviceConfig* config,
                          std::string* error) {
  const auto ports = static_cast<uint32_t>(config->network.ports.size());
  if (ports == 0) return true;
  const toml::node_view<const toml::node> planes = root["device"]["planes"];
  if (planes && config->planes != ports) {
    *error = at(file, planes.node()->source()) + quoted("planes") + " in [device] is " +
             std::to_string(config->planes) + ", but there are " + std::to_string(ports) +
             " [[port]] tables; leave it out";
    return false;
  }
  config->planes = ports;
  return true;
}

// Links between processes of one host push back by themselves. A network does not.
void choose_congestion_control(const toml::table& root, DeviceConfig* config) {
  constexpr uint64_t kLinkRateBps = 2'500'000'000;  // what software moves
  constexpr Nanoseconds kBaseRtt = 2 * kMillisecond;
  TransportConfig& transport = config->transport;
  if (!root["congestion"]["algorithm"] && !config->network.ports.empty())
    transport.congestion = CongestionAlgorithm::kNscc;
  if (transport.link_rate_bps == 0) transport.link_rate_bps = kLinkRateBps;
  if (transport.nscc.base_rtt == 0) transport.nscc.base_rtt = kBaseRtt;
  transport.nscc =
      nscc_defaults(transport.link_rate_bps, transport.nscc.base_rtt, kMtuMax, transport.nscc.trimming);
  if (root["transport"]["window_bytes"]) transport.nscc.max_cwnd = transport.window_bytes;
}

constexpr uint32_t kTraceEventsMax = 65536;

// A number in an environment variable; one that is not set changes nothing.
bool apply_number(const char* variable, uint32_t min, uint32_t max, uint32_t* number, std::string* error) {
  const char* text = secure_getenv(variable);
  if (text == nullptr || *text == '\0') return true;
  char* end = nullptr;
  const unsigned long value = std::strtoul(text, &end, 10);
  if (*end == '\0' && text[0] >= '0' && text[0] <= '9' && value >= min && value <= max) {
    *number = static_cast<uint32_t>(value);
    return true;
  }
  *error = std::string("mrc: ") + variable + "=" + text + " must be a whole number from " +
           std::to_string(min) + " to " + std::to_string(max);
  return false;
}

// MRC_PLANES changes nothing where the planes are real.
bool apply_planes(DeviceConfig* config, std::string* error) {
  return !config->network.ports.empty() || apply_number("MRC_PLANES", 1, kPlanesMax, &config->planes, error);
}

bool apply_transport(DeviceConfig* config, std::string* error) {
  const char* name = secure_getenv("MRC_TRANSPORT");
  if (name == nullptr || *name == '\0') return true;
  // Who says so in the environment means it, whatever the file has made of it.
  config->transport.strict = false;
  if (read_transport(name, config)) return true;
  *error = "mrc: MRC_TRANSPORT=" + std::string(name) + " must be " + kTransportsWanted;
  return false;
}

// A seed in the environment is a rule more: for a program that is to be tried once.
bool apply_disorder(DeviceConfig* config, std::string* error) {
  const char* seed = secure_getenv("MRC_DISORDER");
  if (seed == nullptr || *seed == '\0') return true;
  FaultRule rule;
  rule.kind = FaultKind::kDisorder;
  rule.id = static_cast<uint32_t>(config->faults.size()) + 1;
  std::string wanted;
  if (read_fault_field("seed", seed, &rule, &wanted)) {
    config->faults.push_back(rule);
    return true;
  }
  *error = std::string("mrc: MRC_DISORDER=") + seed + " must be a whole number, the seed";
  return false;
}

bool apply_environment(DeviceConfig* config, std::string* error) {
  return apply_planes(config, error) && apply_transport(config, error) && apply_disorder(config, error) &&
         apply_number("MRC_ENGINES", 1, DeviceConfig::kEnginesMax, &config->engines, error) &&
         apply_number("MRC_TRACE", 0, kTraceEventsMax, &config->trace_events, error);
}

constexpr size_t kFileBytesMax = 1 << 20;

// A path in a file is meant from where the file is.
std::string beside(const std::string& file, const std::string& path) {
  const size_t slash = file.rfind('/');
  return path.starts_with('/') || slash == std::string::npos ? path : file.substr(0, slash + 1) + path;
}

}  // namespace

namespace {

bool parse(const std::string& text, const std::string& file, toml::table* root, std::string* error) {
  try {
    *root = toml::parse(text);
    return true;
  } catch (const toml::parse_error& failure) {
    *error = at(file, failure.source()) + "not TOML: " + std::string(failure.description());
    return false;
  }
}

// What stands below [[device]] and not in the table itself is for this device alone: it takes the place of
// what the file says for all. Moved, not copied: nodes that are copied forget their lines.
toml::table table_of_device(toml::table root, size_t index) {
  toml::table device = std::move(*root["device"].as_array()->get(index)->as_table());
  root.erase("device");
  toml::table own;
  for (auto&& [key, node] : device) {
    const bool is_table = node.is_table() || node.is_array_of_tables();
    if (!is_table) {
      own.insert_or_assign(key, std::move(node));
    } else if (toml::table* common = root[key.str()].as_table(); common != nullptr && node.is_table()) {
      for (auto&& [name, value] : *node.as_table()) common->insert_or_assign(name, std::move(value));
    } else {
      root.insert_or_assign(key, std::move(node));
    }
  }
  root.insert_or_assign("device", std::move(own));
  return root;
}

bool read_device(const toml::table& root, const std::string& file, DeviceConfig* config, std::string* error) {
  for (const auto& [name, node] : root)
    if (!apply_table(name, node, file, config, error)) return false;
  std::string& hosts_file = config->network.hosts_file;
  if (!hosts_file.empty()) hosts_file = beside(file, hosts_file);
  if (!check_network(&config->network, error)) return false;
  if (!take_planes_of_ports(root, file, config, error)) return false;
  choose_congestion_control(root, config);
  config->mtu_is_given = static_cast<bool>(root["device"]["mtu"]);
  if (config->transport.probe_interval_max < config->transport.probe_interval) {
    const auto given = root["transport"]["probe_interval_max_us"];
    const auto other = root["transport"]["probe_interval_us"];
    *error = at(file, (given ? given : other).node()->source()) +
             "\"probe_interval_max_us\" in [transport] must not be less than \"probe_interval_us\"";
    return false;
  }
  return true;
}

// What two devices cannot share: a name, and an interface.
bool check_apart(const std::vector<DeviceConfig>& devices, const std::string& where, std::string* error) {
  const DeviceConfig& last = devices.back();
  for (const DeviceConfig& other : devices) {
    if (&other == &last) break;
    if (other.name == last.name) {
      *error = where + "two devices are called " + quoted(last.name) + "; give each [[device]] a name";
      return false;
    }
    for (const PortConfig& port : last.network.ports)
      for (const PortConfig& taken : other.network.ports)
        if (!port.interface.empty() && port.interface == taken.interface) {
          *error = "mrc: " + port.where + "the interface " + quoted(port.interface) + " is a port of " +
                   other.name + " already; each device has ports of its own: write [[device.port]]";
          return false;
        }
  }
  return true;
}

}  // namespace

bool parse_device_configs(const std::string& text, const std::string& file,
                          std::vector<DeviceConfig>* devices, std::string* error) {
  devices->clear();
  toml::table root;
  if (!parse(text, file, &root, error)) return false;
  const toml::array* several = root["device"].as_array();
  if (several == nullptr || !several->is_array_of_tables())
    return read_device(root, file, &devices->emplace_back(), error);
  if (several->size() > kDevicesMax) {
    *error = at(file, several->source()) + "there are more than 16 [[device]] tables";
    return false;
  }
  for (size_t i = 0; i < several->size(); ++i) {
    const std::string where = at(file, several->get(i)->source());
    DeviceConfig& device = devices->emplace_back();
    device.index = static_cast<uint32_t>(i);
    device.name = "mrc" + std::to_string(i);
    toml::table again;
    if (!parse(text, file, &again, error)) return false;
    if (!read_device(table_of_device(std::move(again), i), file, &device, error)) return false;
    if (!check_apart(*devices, where, error)) return false;
  }
  return true;
}

bool parse_device_config(const std::string& text, const std::string& file, DeviceConfig* config,
                         std::string* error) {
  std::vector<DeviceConfig> devices;
  if (!parse_device_configs(text, file, &devices, error)) return false;
  *config = std::move(devices.front());
  return true;
}

bool load_device_configs(std::vector<DeviceConfig>* devices, std::string* error) {
  devices->clear();
  error->clear();
  const char* given = secure_getenv("MRC_CONFIG");
  const bool is_given = given != nullptr && *given != '\0';
  const std::string file = is_given ? given : kSystemFile;
  std::string text;
  if (read_text_file(file, kFileBytesMax, &text, nullptr, error)) {
    if (!parse_device_configs(text, file, devices, error)) return false;
  } else if (is_given || !error->empty()) {
    if (error->empty()) *error = "mrc: " + file + ": no such file";
    *error += is_given ? "; set MRC_CONFIG to a file that can be read, or unset it for the defaults"
                       : "; make it readable or remove it for the defaults";
    return false;
  } else {
    devices->emplace_back();
  }
  for (DeviceConfig& device : *devices) {
    if (!device.network.hosts_file.empty() && !read_hosts_file(&device.network, error)) return false;
    if (!apply_environment(&device, error)) return false;
  }
  return true;
}

bool load_device_config(const std::string& name, DeviceConfig* config, std::string* error) {
  std::vector<DeviceConfig> devices;
  if (!load_device_configs(&devices, error)) return false;
  for (DeviceConfig& device : devices) {
    if (device.name != name) continue;
    *config = std::move(device);
    return true;
  }
  *config = std::move(devices.front());  // who shows a device under another name means this one
  config->name = name;
  return true;
}

bool load_device_config(DeviceConfig* config, std::string* error) {
  std::vector<DeviceConfig> devices;
  *config = DeviceConfig{};
  if (!load_device_configs(&devices, error)) return false;
  *config = std::move(devices.front());
  return true;
}

}  // namespace mrc
