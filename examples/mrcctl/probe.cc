// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrcctl/probe.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "dpdk_io/settings/host_list.h"
#include "examples/mrcctl/ask_ways.h"
#include "examples/mrcctl/ev.h"
#include "examples/mrcctl/fabric_routes.h"
#include "examples/mrcctl/option_words.h"
#include "libmrc/wire/srv6.h"

namespace mrc {
namespace {

struct ProbeOrder {
  std::string peer;
  bool json = false;
  bool answers = false;  // those of others
  std::optional<uint32_t> plane;
  std::optional<uint32_t> spine;
  std::optional<uint32_t> ev;
  std::vector<uint16_t> route;
  uint32_t count = 4;
  uint32_t interval_ms = 100;
  uint32_t timeout_ms = 500;
};

// 2000:1002:2001:9001
bool read_route(const std::string& text, std::vector<uint16_t>* route) {
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(':', at), text.size());
    uint16_t usid = 0;
    if (!read_number<uint16_t>(text.substr(at, end - at), 1, UINT16_MAX, &usid, 16)) return false;
    route->push_back(usid);
    at = end + 1;
  }
  return route->size() <= kUsidsMax;
}

int read_probe_words(const std::vector<std::string>& words, ProbeOrder* order) {
  const auto number = [](std::optional<uint32_t>* to, uint32_t most) {
    return
        [to, most](const std::string& text) { return read_number<uint32_t>(text, 0, most, &to->emplace()); };
  };
  const auto time_ms = [](uint32_t* to, uint32_t least) {
    return [to, least](const std::string& text) { return read_number<uint32_t>(text, least, 4000, to); };
  };
  std::vector<std::string> rest;
  const int status = take_options(
      words,
      {{"--json", false, [order](const std::string&) { return order->json = true; }},
       {"--answer", false, [order](const std::string&) { return order->answers = true; }},
       {"--plane", true, number(&order->plane, kPlanesMax - 1)},
       {"--spine", true, number(&order->spine, 255)},
       {"--route", true, [order](const std::string& text) { return read_route(text, &order->route); }},
       {"--ev", true,
        [order](const std::string& text) {
          return text.starts_with("0x") &&
                 read_number<uint32_t>(text.substr(2), 0, UINT32_MAX, &order->ev.emplace(), 16);
        }},
       {"--count", true,
        [order](const std::string& text) { return read_number<uint32_t>(text, 1, 1000000, &order->count); }},
       {"--interval", true, time_ms(&order->interval_ms, 0)},
       {"--timeout", true, time_ms(&order->timeout_ms, 1)}},
      &rest);
  if (status != 0) return status;
  if (rest.size() > (order->answers ? 0 : 1)) return refuse_word("mrcctl", rest.back());
  if (order->answers) return 0;
  if (!rest.empty()) {
    order->peer = rest[0];
    return 0;
  }
  std::fprintf(stderr, "mrcctl: probe needs a peer\n");
  return kCalledWrongly;
}

std::optional<IpAddress> address_of_host(const std::string& name) {
  addrinfo* found = nullptr;
  if (getaddrinfo(name.c_str(), nullptr, nullptr, &found) != 0) return std::nullopt;
  std::optional<IpAddress> address;
  for (const addrinfo* each = found; each != nullptr && !address; each = each->ai_next) {
    if (each->ai_family == AF_INET) {
      const auto* bytes =
          reinterpret_cast<const uint8_t*>(&reinterpret_cast<const sockaddr_in*>(each->ai_addr)->sin_addr);
      address = IpAddress::v4(bytes[0], bytes[1], bytes[2], bytes[3]);
    } else if (each->ai_family == AF_INET6) {
      std::memcpy(address.emplace().bytes.data(),
                  &reinterpret_cast<const sockaddr_in6*>(each->ai_addr)->sin6_addr, 16);
    }
  }
  freeaddrinfo(found);
  return address;
}

struct ProbedWay {
  ProbeWay way;
  std::string name;
  uint32_t sent = 0;
  std::vector<Nanoseconds> rtts;
};

std::string route_text(const IpAddress& route) {
  std::string text;
  char usid[8];
  for (size_t i = 0; i < kUsidsMax && usid_at(route, i) != 0; ++i) {
    std::snprintf(usid, sizeof usid, "%s%04x", i == 0 ? "" : ":", usid_at(route, i));
    text += usid;
  }
  return text;
}

// Source-routed to a host that the settings place in the fabric.
void add_fabric_ways(const NetworkConfig& network, const ProbeOrder& order, const IpAddress& own,
                     const IpAddress& peer, std::vector<ProbeWay>* ways) {
  const auto paths = HostList(network, own_place(network, own)).paths_to(peer);
  if (!paths) return;
  for (const PortConfig& port : network.ports)
    for (uint32_t spine = 0; port.is_real() && spine < paths->uplinks(); ++spine)
      if (order.plane.value_or(port.plane) == port.plane && order.spine.value_or(spine) == spine)
        ways->push_back({own, peer, port.plane, paths->address(port.plane, spine), 0});
}

std::vector<ProbeWay> ways_to(const DeviceConfig& settings, const ProbeOrder& order, const IpAddress& own,
                              const IpAddress& peer) {
  const NetworkConfig& network = settings.network;
  std::vector<ProbeWay> ways;
  if (!order.route.empty()) {
    const FabricShape shape = network.srv6 ? network.srv6->shape : FabricShape{};
    const auto plane = static_cast<Plane>(order.plane.value_or(shape.usids.plane_of(order.route[0])));
    return {{own, peer, plane, make_usid_address(shape.block, order.route), 0}};
  }
  if (network.srv6 && !order.ev) add_fabric_ways(network, order, own, peer, &ways);
  if (!ways.empty()) return ways;
  for (uint32_t plane = 0; plane < settings.planes; ++plane)
    if (order.plane.value_or(plane) == plane)
      ways.push_back({own, peer, static_cast<Plane>(plane), std::nullopt,
                      order.ev.value_or(static_cast<uint32_t>(make_entropy(static_cast<Plane>(plane), 0)))});
  return ways;
}

std::string name_of(const ProbeWay& way) {
  char text[32];
  if (way.route) return "plane " + std::to_string(way.plane) + " route " + route_text(*way.route);
  std::snprintf(text, sizeof text, "plane %u EV 0x%08x", way.plane, way.ev);
  return text;
}

double mean_of(const std::vector<Nanoseconds>& times) {
  double sum = 0;
  for (const Nanoseconds time : times) sum += static_cast<double>(time);
  return times.empty() ? 0 : sum / static_cast<double>(times.size());
}

void print_probes(const ProbeOrder& order, const std::vector<ProbedWay>& ways) {
  for (const ProbedWay& way : ways) {
    std::printf("%s %s: %zu of %u answered", order.peer.c_str(), way.name.c_str(), way.rtts.size(), way.sent);
    if (!way.rtts.empty())
      std::printf(", round trip %.1f/%.1f/%.1f us (least, mean, most)",
                  static_cast<double>(*std::min_element(way.rtts.begin(), way.rtts.end())) / 1e3,
                  mean_of(way.rtts) / 1e3,
                  static_cast<double>(*std::max_element(way.rtts.begin(), way.rtts.end())) / 1e3);
    std::printf("\n");
  }
}

void print_probes_json(const ProbeOrder& order, const std::vector<ProbedWay>& ways) {
  nlohmann::ordered_json told = {{"peer", order.peer}, {"paths", nlohmann::ordered_json::array()}};
  for (const ProbedWay& way : ways) {
    nlohmann::ordered_json path = {{"plane", way.way.plane}};
    if (way.way.route)
      path["route"] = route_text(*way.way.route);
    else
      path["ev"] = way.way.ev;
    path["sent"] = way.sent;
    path["answered"] = way.rtts.size();
    path["rtt_ns"] = nullptr;
    if (!way.rtts.empty())
      path["rtt_ns"] = {{"min", *std::min_element(way.rtts.begin(), way.rtts.end())},
                        {"mean", static_cast<uint64_t>(mean_of(way.rtts))},
                        {"max", *std::max_element(way.rtts.begin(), way.rtts.end())}};
    told["paths"].push_back(path);
  }
  std::printf("%s\n", told.dump(2).c_str());
}

// Until a signal comes. A device answers while it runs, and the first question makes it run.
int answer_others(OpenDevice& device) {
  const auto own = own_address(device);
  if (!own) return device_failed(device.settings().name + " has no address", EADDRNOTAVAIL);
  std::vector<std::optional<Nanoseconds>> answers;
  const ProbeWay way{*own, *own, 0, std::nullopt, static_cast<uint32_t>(make_entropy(0, 0))};
  if (const int error = ask_ways(device, {way}, kMillisecond, &answers); error != 0)
    return device_failed(device.settings().name, error);
  std::printf("answering\n");
  std::fflush(stdout);
  for (;;) pause();
}

// 0 or an errno.
int ask_all_ways(OpenDevice& device, const ProbeOrder& order, std::vector<ProbedWay>* probed) {
  std::vector<ProbeWay> ways;
  ways.reserve(probed->size());
  for (const ProbedWay& each : *probed) ways.push_back(each.way);
  for (uint32_t turn = 0; turn < order.count; ++turn) {
    const timespec pause{order.interval_ms / 1000, static_cast<long>(order.interval_ms % 1000) * 1'000'000};
    if (turn > 0) nanosleep(&pause, nullptr);
    std::vector<std::optional<Nanoseconds>> answers;
    if (const int error = ask_ways(device, ways, order.timeout_ms * kMillisecond, &answers); error != 0)
      return error;
    for (size_t i = 0; i < ways.size(); ++i) {
      ++(*probed)[i].sent;
      if (answers[i]) (*probed)[i].rtts.push_back(*answers[i]);
    }
  }
  return 0;
}

}  // namespace

int check_probe_words(const std::vector<std::string>& words) {
  ProbeOrder order;
  return read_probe_words(words, &order);
}

int probe_command(OpenDevice& device, const std::vector<std::string>& words) {
  ProbeOrder order;
  if (const int status = read_probe_words(words, &order); status != 0) return status;
  if (order.answers) return answer_others(device);
  const auto peer = address_of_host(order.peer);
  if (!peer) {
    std::fprintf(stderr, "mrcctl: %s: no such host\n", order.peer.c_str());
    return 1;
  }
  const auto own = own_address_for(device, *peer);
  if (!own)
    return device_failed(device.settings().name + " has no address of the kind of " + order.peer,
                         EAFNOSUPPORT);
  std::vector<ProbedWay> probed;
  for (const ProbeWay& way : ways_to(device.settings(), order, *own, *peer))
    probed.push_back({way, name_of(way), 0, {}});
  if (probed.empty()) {
    std::fprintf(stderr, "mrcctl: there is no such path to %s\n", order.peer.c_str());
    return 1;
  }
  if (const int error = ask_all_ways(device, order, &probed); error != 0)
    return device_failed("probes to " + order.peer, error);
  order.json ? print_probes_json(order, probed) : print_probes(order, probed);
  const auto whole = [](const ProbedWay& way) { return way.rtts.size() == way.sent; };
  return std::all_of(probed.begin(), probed.end(), whole) ? 0 : 1;
}

}  // namespace mrc
