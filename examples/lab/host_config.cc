// SPDX-License-Identifier: BSD-2-Clause
#include "examples/lab/host_config.h"

#include <cstdint>
#include <cstdio>

namespace mrc::lab {
namespace {

std::string line(const char* key, const std::string& value) {
  return std::string(key) + " = " + value + "\n";
}
std::string line(const char* key, uint32_t value) {
  return line(key, std::to_string(value));
}
std::string quoted(const std::string& text) {
  return "\"" + text + "\"";
}

}  // namespace

// The host's GID is its address on the management network: it stays whatever happens to the planes.
std::string host_config(const Topology& topology, uint32_t host, const std::string& names) {
  const Shape& shape = topology.shape();
  std::string text = "# Settings of mrc0 on h" + std::to_string(host) + ", written by mrc_lab.\n[device]\n";
  text += line("gids", "[" + quoted(management_address(host)) + "]");
  text += line("hosts_file", quoted("../hosts.toml"));
  text += "\n[transport]\n# What a switch of the lab may trim, first and again.\n";
  text += line("dscp_data", 4) + line("dscp_retransmission", 8);
  text += "# Links of a lab come back soon.\n" + line("probe_interval_max_us", 100'000);
  // Hosts and switches share CPUs: queueing of milliseconds is usual and no reason to slow down.
  text += "\n[congestion]\n" + line("algorithm", quoted("nscc")) + line("link_rate_mbps", 560);
  text += line("base_rtt_us", 10'000) + line("trimming", "true");
  text += "\n[srv6]\n" + line("block", quoted(std::string(kBlock) + "::/32"));
  text += line("spines", shape.spines) + line("names", quoted(names));
  for (uint32_t plane = 1; plane <= shape.planes; ++plane) {
    text += "\n[[port]]\n" + line("plane", plane - 1) + line("backend", quoted("af_packet"));
    text += line("interface", quoted("p" + std::to_string(plane)));
    text += line("gateway", quoted(gateway_address(plane, host)));
  }
  return text;
}

std::string hosts_config(const Topology& topology) {
  std::string text = "# The hosts of the lab, for all of them, written by mrc_lab.\n";
  for (uint32_t host = 1; host <= topology.shape().hosts; ++host) {
    text += "\n[[host]]\n" + line("gids", "[" + quoted(management_address(host)) + "]");
    text += line("leaf", topology.leaf_of_host(host) - 1) + line("host", host - 1);
  }
  return text;
}

std::string fabric_names(const Topology& topology) {
  std::string text;
  const auto add = [&](const Node& node, uint32_t plane) {
    char usid_text[8];
    std::snprintf(usid_text, sizeof usid_text, "%04x ", usid(node.kind, plane, node.index));
    text += usid_text + node.name + "\n";
  };
  for (const Node& node : topology.nodes()) {
    if (node.kind == Kind::kManagement) continue;
    if (node.kind != Kind::kHost) {
      add(node, node.plane);
      continue;
    }
    for (uint32_t plane = 1; plane <= topology.shape().planes; ++plane) add(node, plane);
  }
  return text;
}

}  // namespace mrc::lab
