// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/settings/network_config_reader.h"

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "dpdk_io/settings/config_text.h"

namespace mrc {
namespace {

using config_text::at;
using config_text::quoted;

template <typename Table>
struct Key {
  std::string_view name;
  std::string_view wanted;  // "must be ..."
  std::function<bool(const toml::node&, Table*)> set;
};

// Puts what `read` makes of a node into a member.
template <typename Table, typename Member, typename Read>
Key<Table> key(std::string_view name, std::string_view wanted, Member Table::*member, Read read) {
  return {name, wanted, [=](const toml::node& node, Table* table) {
            const auto value = read(node);
            if (!value) return false;
            table->*member = static_cast<Member>(*value);
            return true;
          }};
}

// --- values ---

auto number_of(int64_t least, int64_t most) {
  return [=](const toml::node& node) { return config_text::number(node, least, most); };
}

std::optional<std::string> text(const toml::node& node) {
  const auto* value = node.as_string();
  // TOML can write a zero byte, and everything behind it would be lost on the way to the kernel or DPDK.
  if (value == nullptr || value->get().empty() || value->get().find('\0') != std::string::npos)
    return std::nullopt;
  return value->get();
}

std::optional<std::string> interface_name(const toml::node& node) {
  auto name = text(node);
  if (!name || name->size() > 15 || name->find_first_of(" /,") != std::string::npos) return std::nullopt;
  return name;
}

std::optional<PortBackend> backend(const toml::node& node) {
  const auto name = text(node);
  if (name == "link") return PortBackend::kLink;
  if (name == "af_packet") return PortBackend::kAfPacket;
  if (name == "ethdev") return PortBackend::kEthdev;
  return std::nullopt;
}

std::optional<bool> shared_by(const toml::node& node) {
  return text(node) == "mrcd" ? std::optional(true) : std::nullopt;
}

std::optional<uint32_t> block(const toml::node& node) {
  static constexpr std::string_view kLength = "::/32";
  auto value = text(node);
  if (!value || !value->ends_with(kLength)) return std::nullopt;
  const auto parsed = config_text::address(toml::value<std::string>(value->substr(0, value->size() - 3)));
  if (!parsed) return std::nullopt;
  for (size_t i = 4; i < parsed->bytes.size(); ++i)
    if (parsed->bytes[i] != 0) return std::nullopt;
  const auto& b = parsed->bytes;
  return uint32_t{b[0]} << 24 | uint32_t{b[1]} << 16 | uint32_t{b[2]} << 8 | b[3];
}

std::optional<std::vector<IpAddress>> addresses(const toml::node& node) {
  const toml::array* array = node.as_array();
  if (array == nullptr || array->empty()) return std::nullopt;
  std::vector<IpAddress> all;
  for (const toml::node& element : *array) {
    const auto address = config_text::address(element);
    if (!address) return std::nullopt;
    all.push_back(*address);
  }
  return all;
}

// Which numbers there are uSIDs for shows when all is read.
constexpr int64_t kNumberMax = 65534;
constexpr std::string_view kNumberWanted = "a whole number from 0 to 65534";
constexpr std::string_view kCountWanted = "a whole number from 1 to 65535";
constexpr int64_t kStepMax = int64_t{1} << 48;
constexpr std::string_view kStepWanted = "a whole number from 1 to 281474976710656";
constexpr std::string_view kUsidWanted = "a uSID from 1 to 65535, such as 0x2000";
constexpr std::string_view kAddressWanted = "an IPv4 or IPv6 address in quotes";
constexpr std::string_view kAddressesWanted = "a list of IPv4 or IPv6 addresses: [\"10.0.0.1\", ...]";

// --- tables ---

const std::vector<Key<PortConfig>>& port_keys() {
  static const std::vector<Key<PortConfig>> keys = {
      key("plane", "a whole number from 0 to 15", &PortConfig::plane, number_of(0, kPlanesMax - 1)),
      key("backend", "\"link\", \"af_packet\" or \"ethdev\"", &PortConfig::backend, backend),
      key("interface", "the name of a network interface in quotes", &PortConfig::interface, interface_name),
      key("gateway", kAddressWanted, &PortConfig::gateway, config_text::address),
      key("device", "a DPDK device in quotes, such as \"net_pcap0,iface=eth1\"", &PortConfig::device, text),
      key("driver", "a DPDK driver in quotes, such as \"net_pcap\"", &PortConfig::driver, interface_name),
      key("gateway_mac", "a MAC address in quotes: \"02:00:00:00:00:01\"", &PortConfig::gateway_mac,
          config_text::mac_address),
      key("share", "\"mrcd\", or left out", &PortConfig::shared, shared_by),
  };
  return keys;
}

template <typename Member, typename Read>
Key<Srv6Config> shape_key(std::string_view name, std::string_view wanted, Member FabricShape::*member,
                          Read read) {
  return {name, wanted, [=](const toml::node& node, Srv6Config* table) {
            const auto value = read(node);
            if (value) table->shape.*member = static_cast<Member>(*value);
            return value.has_value();
          }};
}

Key<Srv6Config> place_key(std::string_view name, uint32_t FabricPlace::*member) {
  return {name, kNumberWanted, [=](const toml::node& node, Srv6Config* table) {
            const auto value = config_text::number(node, 0, kNumberMax);
            if (!value) return false;
            if (!table->place) table->place.emplace();
            (*table->place).*member = static_cast<uint32_t>(*value);
            return true;
          }};
}

Key<Srv6Config> usid_key(std::string_view name, UsidKind kind) {
  return {name, kUsidWanted, [=](const toml::node& node, Srv6Config* table) {
            const auto value = config_text::number(node, 1, 65535);
            if (value) table->shape.usids.first[static_cast<size_t>(kind)] = static_cast<uint16_t>(*value);
            return value.has_value();
          }};
}

Key<Srv6Config> plane_step_key(std::string_view name) {
  return {name, kNumberWanted, [](const toml::node& node, Srv6Config* table) {
            const auto value = config_text::number(node, 0, kNumberMax);
            if (value) table->shape.usids.plane_step = static_cast<uint16_t>(*value);
            return value.has_value();
          }};
}

const std::vector<Key<Srv6Config>>& srv6_keys() {
  const auto count = number_of(1, 65535);
  static const std::vector<Key<Srv6Config>> keys = {
      shape_key("block", "a prefix of 32 bits in quotes, such as \"fd00:4d52::/32\"", &FabricShape::block,
                block),
      place_key("leaf", &FabricPlace::leaf),
      place_key("host", &FabricPlace::host),
      shape_key("spines", kCountWanted, &FabricShape::spines, count),
      shape_key("leaves_per_pod", kCountWanted, &FabricShape::leaves_per_pod, count),
      shape_key("cores_per_spine", kCountWanted, &FabricShape::cores_per_spine, count),
      usid_key("spine_usid", UsidKind::kSpine),
      usid_key("leaf_usid", UsidKind::kLeaf),
      usid_key("core_usid", UsidKind::kCore),
      usid_key("host_usid", UsidKind::kHost),
      plane_step_key("plane_usids"),
      key("names", "a file in quotes, such as \"/etc/mrc/names\"", &Srv6Config::names, text),
  };
  return keys;
}

const std::vector<Key<HostConfig>>& host_keys() {
  static const std::vector<Key<HostConfig>> keys = {
      key("gids", kAddressesWanted, &HostConfig::gids, addresses),
      key("leaf", kNumberWanted, &HostConfig::leaf, number_of(0, kNumberMax)),
      key("host", kNumberWanted, &HostConfig::host, number_of(0, kNumberMax)),
      key("addresses", kAddressesWanted, &HostConfig::addresses, addresses),
  };
  return keys;
}

const std::vector<Key<HostRange>>& range_keys() {
  static const std::vector<Key<HostRange>> keys = {
      key("count", "a whole number from 1 to 1048576", &HostRange::count, number_of(1, 1 << 20)),
      key("gids", kAddressesWanted, &HostRange::gids, addresses),
      key("gid_step", kStepWanted, &HostRange::gid_step, number_of(1, kStepMax)),
      key("leaf", kNumberWanted, &HostRange::leaf, number_of(0, kNumberMax)),
      key("host", kNumberWanted, &HostRange::host, number_of(0, kNumberMax)),
      key("hosts_per_leaf", kCountWanted, &HostRange::hosts_per_leaf, number_of(1, 65535)),
      key("addresses", kAddressesWanted, &HostRange::addresses, addresses),
      key("address_step", kStepWanted, &HostRange::address_step, number_of(1, kStepMax)),
  };
  return keys;
}

template <typename Table>
bool read_keys(const std::vector<Key<Table>>& keys, const std::string& title, const toml::table& from,
               const std::string& file, Table* to, std::string* error) {
  for (const auto& [name, node] : from) {
    const std::string_view wanted = name.str();
    const auto known =
        std::find_if(keys.begin(), keys.end(), [&](const Key<Table>& key) { return key.name == wanted; });
    if (known != keys.end()) {
      if (known->set(node, to)) continue;
      *error = at(file, node.source()) + quoted(name.str()) + " in " + title + " must be " +
               std::string(known->wanted);
      return false;
    }
    std::string names;
    for (const Key<Table>& key : keys) names.append(names.empty() ? "" : ", ").append(key.name);
    *error = at(file, name.source()) + "unknown key " + quoted(name.str());
    error->append(" in ").append(title).append("; known keys: ").append(names);
    return false;
  }
  return true;
}

bool needs(const toml::table& table, std::string_view key, const std::string& why, const std::string& file,
           std::string* error) {
  if (table.contains(key)) return true;
  *error = at(file, table.source()) + quoted(key) + " is missing: " + why;
  return false;
}

bool forbids(const toml::table& table, std::string_view key, const std::string& why, const std::string& file,
             std::string* error) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return true;
  *error = at(file, node->source()) + quoted(key) + " " + why;
  return false;
}

// For errors that show only when all is read.
std::string where_is(const toml::table& table, const std::string& file) {
  return file + ":" + std::to_string(table.source().begin.line) + ": ";
}

// "net_pcap0,iface=p0" -> "net_pcap"
std::string driver_of(const std::string& device) {
  std::string name = device.substr(0, device.find(','));
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.pop_back();
  return name;
}

bool check_port(const toml::table& table, const std::string& file, PortConfig* port, std::string* error) {
  switch (port->backend) {
    case PortBackend::kLink:
      for (const std::string_view key : {"interface", "gateway", "device", "driver", "gateway_mac", "share"})
        if (!forbids(table, key, "has no meaning with backend \"link\"", file, error)) return false;
      return true;
    case PortBackend::kAfPacket:
      for (const std::string_view key : {"device", "driver", "gateway_mac"})
        if (!forbids(table, key, "goes with backend \"ethdev\" only", file, error)) return false;
      return needs(table, "interface", "backend \"af_packet\" needs a network interface", file, error);
    case PortBackend::kEthdev:
      break;
  }
  if (!needs(table, "device", "backend \"ethdev\" needs a DPDK device", file, error)) return false;
  const bool is_vdev = port->device.starts_with("net_") || port->device.starts_with("eth_");
  if (!is_vdev && !needs(table, "driver", "for a PCI device the driver must be named", file, error))
    return false;
  if (port->driver.empty()) port->driver = driver_of(port->device);
  if (port->interface.empty())
    return needs(table, "gateway_mac", "without \"interface\" the next hop must be given", file, error) &&
           forbids(table, "gateway", "needs \"interface\", whose neighbours the kernel knows", file, error);
  return forbids(table, "gateway_mac", "goes without \"interface\" only", file, error);
}

bool read_port(const toml::table& table, const std::string& file, NetworkConfig* config, std::string* error) {
  if (config->ports.size() == kPlanesMax) {
    *error = at(file, table.source()) + "more than " + std::to_string(kPlanesMax) + " [[port]] tables";
    return false;
  }
  PortConfig port;
  port.plane = static_cast<Plane>(config->ports.size());
  port.where = where_is(table, file);
  if (!read_keys(port_keys(), "[[port]]", table, file, &port, error)) return false;
  if (!check_port(table, file, &port, error)) return false;
  for (const PortConfig& other : config->ports) {
    if (other.plane != port.plane) continue;
    *error = at(file, table.source()) + "a second [[port]] of plane " + std::to_string(port.plane);
    return false;
  }
  config->ports.push_back(std::move(port));
  return true;
}

bool read_srv6(const toml::table& table, const std::string& file, NetworkConfig* config, std::string* error) {
  config->srv6.emplace().where = where_is(table, file);
  if (!needs(table, "block", "[srv6] needs it", file, error)) return false;
  if (table.contains("leaf") != table.contains("host")) {
    const std::string_view missing = table.contains("leaf") ? "host" : "leaf";
    return needs(table, missing, "\"leaf\" and \"host\" go together", file, error);
  }
  if (!read_keys(srv6_keys(), "[srv6]", table, file, &*config->srv6, error)) return false;
  FabricShape& shape = config->srv6->shape;
  if (shape.leaves_per_pod != 0) return true;
  shape.usids.first[static_cast<size_t>(UsidKind::kCore)] = 0;
  for (const std::string_view key : {"cores_per_spine", "core_usid"})
    if (!forbids(table, key, "goes with \"leaves_per_pod\", which makes three tiers, only", file, error))
      return false;
  return true;
}

bool read_host(const toml::table& table, const std::string& file, NetworkConfig* config, std::string* error) {
  HostConfig host;
  host.where = where_is(table, file);
  if (!read_keys(host_keys(), "[[host]]", table, file, &host, error)) return false;
  if (!needs(table, "gids", "a [[host]] is known by its GIDs", file, error)) return false;
  if (host.leaf.has_value() != host.host.has_value()) {
    const std::string_view missing = host.leaf ? "host" : "leaf";
    return needs(table, missing, "\"leaf\" and \"host\" go together", file, error);
  }
  config->hosts.push_back(std::move(host));
  return true;
}

bool read_range(const toml::table& table, const std::string& file, NetworkConfig* config,
                std::string* error) {
  HostRange range;
  range.where = where_is(table, file);
  if (!read_keys(range_keys(), "[[hosts]]", table, file, &range, error)) return false;
  if (!needs(table, "count", "how many hosts are there?", file, error)) return false;
  if (!needs(table, "gids", "those of the first host", file, error)) return false;
  if (range.leaf) {
    if (!needs(table, "hosts_per_leaf", "it goes with \"leaf\"", file, error)) return false;
  } else {
    for (const std::string_view key : {"host", "hosts_per_leaf"})
      if (!forbids(table, key, "goes with \"leaf\" only", file, error)) return false;
  }
  if (range.addresses.empty() && !forbids(table, "address_step", "goes with \"addresses\" only", file, error))
    return false;
  config->ranges.push_back(std::move(range));
  return true;
}

// [name] or [[name]]; nullptr: `error` is set.
template <typename Wanted>
const Wanted* as(const toml::key& name, const toml::node& node, const std::string& example,
                 const std::string& file, std::string* error) {
  const auto* table = node.as<Wanted>();
  if (table == nullptr)
    *error = at(file, name.source()) + quoted(name.str()) + " must be written as " + example +
             " on a line of its own";
  return table;
}

using ReadTable = bool (*)(const toml::table&, const std::string&, NetworkConfig*, std::string*);

bool read_each(const toml::key& name, const toml::node& node, ReadTable read, const std::string& file,
               NetworkConfig* config, std::string* error) {
  const std::string example = "[[" + std::string(name.str()) + "]]";
  const auto* array = as<toml::array>(name, node, example, file, error);
  if (array == nullptr) return false;
  for (const toml::node& element : *array) {
    const auto* table = as<toml::table>(name, element, example, file, error);
    if (table == nullptr || !read(*table, file, config, error)) return false;
  }
  return true;
}

}  // namespace

bool is_network_table(std::string_view name) {
  return name == "port" || name == "srv6" || name == "host" || name == "hosts";
}

bool read_network_table(const toml::key& name, const toml::node& node, const std::string& file,
                        NetworkConfig* config, std::string* error) {
  if (name.str() == "port") return read_each(name, node, read_port, file, config, error);
  if (name.str() == "host") return read_each(name, node, read_host, file, config, error);
  if (name.str() == "hosts") return read_each(name, node, read_range, file, config, error);
  const auto* table = as<toml::table>(name, node, "[srv6]", file, error);
  return table != nullptr && read_srv6(*table, file, config, error);
}

}  // namespace mrc
