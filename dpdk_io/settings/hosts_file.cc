// SPDX-License-Identifier: BSD-2-Clause
#include "dpdk_io/settings/hosts_file.h"

#include <utility>

#include "dpdk_io/settings/config_text.h"
#include "dpdk_io/settings/network_check.h"
#include "dpdk_io/settings/network_config_reader.h"
#include "dpdk_io/settings/text_file.h"
#include "dpdk_io/settings/toml.h"

namespace mrc {
namespace {

constexpr size_t kHostsBytesMax = 16 << 20;

bool read_tables(const toml::table& root, NetworkConfig* network, std::string* error) {
  const std::string& file = network->hosts_file;
  for (const auto& [name, node] : root) {
    if (name.str() == "port" || !is_network_table(name.str())) {
      *error = config_text::at(file, name.source()) + config_text::quoted(name.str()) +
               " does not belong here: a file of hosts has [srv6], [[host]] and [[hosts]]";
      return false;
    }
    if (name.str() == "srv6" && network->srv6) {
      *error = config_text::at(file, name.source()) + "a second [srv6]; the first is in " +
               network->srv6->where.substr(0, network->srv6->where.size() - 2);
      return false;
    }
    if (!read_network_table(name, node, file, network, error)) return false;
  }
  return true;
}

}  // namespace

bool read_hosts_file(NetworkConfig* network, std::string* error) {
  const std::string& file = network->hosts_file;
  network->own = {network->hosts.size(), network->ranges.size(), network->srv6.has_value()};
  std::string text;
  network->hosts_stamp = {};
  if (!read_text_file(file, kHostsBytesMax, &text, &network->hosts_stamp, error)) {
    if (error->empty()) *error = "mrc: " + file + ": no such file; \"hosts_file\" in [device] names it";
    return false;
  }
  try {
    return read_tables(toml::parse(text), network, error) && check_hosts(network, error);
  } catch (const toml::parse_error& failure) {
    *error = config_text::at(file, failure.source()) + "not TOML: " + std::string(failure.description());
    return false;
  }
}

bool hosts_file_changed(const NetworkConfig& network) {
  return !network.hosts_file.empty() && stamp_of(network.hosts_file) != network.hosts_stamp;
}

bool reread_hosts_file(NetworkConfig* network, std::string* error) {
  NetworkConfig anew = *network;
  anew.hosts.resize(network->own.hosts);
  anew.ranges.resize(network->own.ranges);
  if (!network->own.srv6) anew.srv6.reset();
  bool good = read_hosts_file(&anew, error);
  // MTUs and sockets were chosen with it, or without.
  if (good && anew.srv6.has_value() != network->srv6.has_value()) {
    *error = "mrc: " + network->hosts_file + ": [srv6] cannot come or go while programs run";
    good = false;
  }
  if (good)
    *network = std::move(anew);
  else
    network->hosts_stamp = anew.hosts_stamp;  // said once
  return good;
}

}  // namespace mrc
