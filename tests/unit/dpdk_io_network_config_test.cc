// SPDX-License-Identifier: BSD-2-Clause
// The settings of ports, SRv6 and other hosts: what is taken, what errors say, and what follows for paths.
#include <arpa/inet.h>
#include <gtest/gtest.h>

#include "dpdk_io/settings/device_config.h"
#include "dpdk_io/wire/host_map.h"
#include "dpdk_io/wire/interface_mtu.h"

namespace mrc {
namespace {

std::string error_of(const std::string& text) {
  DeviceConfig config;
  std::string error;
  return parse_device_config(text, "/x/mrc.toml", &config, &error) ? "no error" : error;
}

DeviceConfig parse(const std::string& text) {
  DeviceConfig config;
  std::string error;
  EXPECT_TRUE(parse_device_config(text, "f", &config, &error)) << error;
  return config;
}

IpAddress ip(const char* text) {
  IpAddress address;
  uint8_t v4[4];
  if (inet_pton(AF_INET, text, v4) == 1) return IpAddress::v4(v4[0], v4[1], v4[2], v4[3]);
  EXPECT_EQ(inet_pton(AF_INET6, text, address.bytes.data()), 1);
  return address;
}

std::string text_of(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(AF_INET6, address.bytes.data(), text, sizeof text);
  return text;
}

constexpr const char* kTwoPlanes = R"(
[device]
gids = ["10.77.0.1", "fd77::1"]
[srv6]
block = "fd00:4d52::/32"
leaf = 3
host = 1
spines = 2
[[port]]
plane = 1
backend = "af_packet"
interface = "p1"
gateway = "fd00:0:1::ff"
[[port]]
plane = 0
backend = "ethdev"
device = "net_pcap0,iface=p0"
interface = "p0"
[[host]]
gids = ["10.77.0.1"]
leaf = 3
host = 1
[[host]]
gids = ["10.77.0.2", "fd77::2"]
leaf = 4
host = 0x1F
[[host]]
gids = ["10.77.0.3"]
leaf = 3
host = 2
[[host]]
gids = ["10.77.0.4"]
addresses = ["10.1.0.4", "10.2.0.4"]
)";

TEST(NetworkConfigTest, EveryKeyIsTaken) {
  const DeviceConfig config = parse(kTwoPlanes);
  EXPECT_EQ(config.planes, 2u);
  ASSERT_EQ(config.gids.size(), 2u);
  EXPECT_EQ(config.gids[0], ip("10.77.0.1"));
  const NetworkConfig& network = config.network;
  ASSERT_EQ(network.ports.size(), 2u);
  EXPECT_EQ(network.ports[0].backend, PortBackend::kEthdev);
  EXPECT_EQ(network.ports[0].driver, "net_pcap");
  EXPECT_EQ(network.ports[0].device, "net_pcap0,iface=p0");
  EXPECT_EQ(network.ports[1].backend, PortBackend::kAfPacket);
  EXPECT_EQ(network.ports[1].interface, "p1");
  EXPECT_EQ(network.ports[1].gateway, ip("fd00:0:1::ff"));
  ASSERT_TRUE(network.srv6.has_value());
  EXPECT_EQ(network.srv6->shape.block, 0xFD004D52u);
  EXPECT_EQ(network.srv6->shape.spines, 2u);
  EXPECT_EQ(network.srv6->place, (FabricPlace{3, 1}));
  ASSERT_EQ(network.hosts.size(), 4u);
  EXPECT_EQ(network.hosts[1].host, 0x1Fu);
}

TEST(NetworkConfigTest, PortsWithoutPlaneCountUp) {
  const DeviceConfig config = parse("[[port]]\n[[port]]\nbackend = \"af_packet\"\ninterface = \"x\"\n");
  EXPECT_EQ(config.planes, 2u);
  EXPECT_EQ(config.network.ports[0].backend, PortBackend::kLink);
  EXPECT_EQ(config.network.ports[1].plane, 1);
}

TEST(NetworkConfigTest, PortsThatMrcdShares) {
  const std::string port = "[[port]]\nbackend = \"af_packet\"\ninterface = \"x\"\n";
  const DeviceConfig config =
      parse(port + "share = \"mrcd\"\n[[port]]\n[mrcd]\nusers = [\"alice\", \"1001\"]\n");
  EXPECT_EQ(config.network.shared_planes(), 1u);
  EXPECT_TRUE(config.network.has_real_ports());
  EXPECT_FALSE(config.network.any_port(&PortConfig::is_own));
  EXPECT_FALSE(config.share_users.all);
  EXPECT_EQ(config.share_users.names, (std::vector<std::string>{"alice", "1001"}));
  EXPECT_TRUE(parse("[mrcd]\nusers = \"all\"\n").share_users.all);
  EXPECT_EQ(config.share_threads, 1u);
  EXPECT_EQ(parse("[mrcd]\nthreads = 3\n").share_threads, 3u);
  EXPECT_NE(error_of("[mrcd]\nthreads = 0\n").find("\"threads\" in [mrcd] must be"), std::string::npos);
  EXPECT_TRUE(parse(port).network.any_port(&PortConfig::is_own));
  EXPECT_NE(error_of(port + "share = true\n").find("/x/mrc.toml:4: \"share\" in [[port]] must be \"mrcd\""),
            std::string::npos);
  EXPECT_NE(error_of("[[port]]\nshare = \"mrcd\"\n").find("has no meaning with backend \"link\""),
            std::string::npos);
  for (const char* users : {"\"alice\"", "1", "[1]", "[\"\"]"})
    EXPECT_NE(error_of(std::string("[mrcd]\nusers = ") + users).find("\"users\" in [mrcd] must be"),
              std::string::npos)
        << users;
}

TEST(NetworkConfigTest, ErrorsNameLineAndKey) {
  EXPECT_EQ(error_of("[[port]]\nbackend = \"af_xdp\"\n"),
            "mrc: /x/mrc.toml:2: \"backend\" in [[port]] must be \"link\", \"af_packet\" or \"ethdev\"");
  EXPECT_EQ(error_of("[[port]]\nbackend = \"af_packet\"\n"),
            "mrc: /x/mrc.toml:1: \"interface\" is missing: backend \"af_packet\" needs a network interface");
  EXPECT_EQ(error_of("[[port]]\ninterface = \"p0\"\n"),
            "mrc: /x/mrc.toml:2: \"interface\" has no meaning with backend \"link\"");
  EXPECT_EQ(error_of("[[port]]\nplan = 1\n"),
            "mrc: /x/mrc.toml:2: unknown key \"plan\" in [[port]]; known keys: plane, backend, interface, "
            "gateway, device, driver, gateway_mac, share");
  EXPECT_EQ(error_of("[[port]]\nplane = 16\n"),
            "mrc: /x/mrc.toml:2: \"plane\" in [[port]] must be a whole number from 0 to 15");
  EXPECT_EQ(error_of("[[port]]\nplane = 0\n[[port]]\nplane = 0\n"),
            "mrc: /x/mrc.toml:3: a second [[port]] of plane 0");
  EXPECT_EQ(error_of("[[port]]\nplane = 1\n"), "mrc: /x/mrc.toml:1: there is no [[port]] of plane 0");
  EXPECT_EQ(error_of("[port]\nplane = 1\n"),
            "mrc: /x/mrc.toml:1: \"port\" must be written as [[port]] on a line of its own");
  EXPECT_EQ(error_of("[[port]]\nbackend = \"ethdev\"\ndevice = \"0000:01:00.0\"\ninterface = \"p0\"\n"),
            "mrc: /x/mrc.toml:1: \"driver\" is missing: for a PCI device the driver must be named");
  EXPECT_EQ(
      error_of("[[port]]\nbackend = \"ethdev\"\ndevice = \"net_ring0\"\n"),
      "mrc: /x/mrc.toml:1: \"gateway_mac\" is missing: without \"interface\" the next hop must be given");
  EXPECT_EQ(error_of("[device]\nplanes = 4\n[[port]]\n"),
            "mrc: /x/mrc.toml:2: \"planes\" in [device] is 4, but there are 1 [[port]] tables; leave it out");
  EXPECT_EQ(error_of("[device]\ngids = [\"10.0.0.256\"]\n"),
            "mrc: /x/mrc.toml:2: \"gids\" in [device] must be a list of IPv4 or IPv6 addresses: "
            "[\"10.0.0.1\", ...]");
}

TEST(NetworkConfigTest, ThereAreNoMorePortsThanPlanes) {
  std::string ports;
  for (int i = 0; i < kPlanesMax; ++i) ports += "[[port]]\n";
  EXPECT_EQ(parse(ports).planes, kPlanesMax);
  EXPECT_EQ(error_of(ports + "[[port]]\n"), "mrc: /x/mrc.toml:17: more than 16 [[port]] tables");
}

TEST(NetworkConfigTest, NothingIsLostBehindAZeroByte) {
  EXPECT_NE(error_of("[device]\ngids = [\"10.0.0.1\\u0000\"]\n"), "no error");
  EXPECT_NE(error_of("[[port]]\nbackend = \"af_packet\"\ninterface = \"p0\\u0000\"\n"), "no error");
}

TEST(NetworkConfigTest, MacAddressesAreWrittenInOneWay) {
  const auto with = [](const std::string& mac) {
    return "[[port]]\nbackend = \"ethdev\"\ndevice = \"net_ring0\"\ngateway_mac = \"" + mac + "\"\n";
  };
  EXPECT_EQ(parse(with("02:00:00:00:0a:FF")).network.ports[0].gateway_mac,
            (MacAddress{{2, 0, 0, 0, 10, 255}}));
  for (const char* wrong :
       {"02:00:00:00:0a:+1", "02: 0:00:00:00:01", "02-00-00-00-00-01", "02:00:00:00:00:0x"})
    EXPECT_NE(error_of(with(wrong)), "no error") << wrong;
}

TEST(NetworkConfigTest, ErrorsOfSrv6AndHosts) {
  const std::string port = "[[port]]\nbackend = \"af_packet\"\ninterface = \"p0\"\n";
  EXPECT_EQ(error_of(port + "[srv6]\nleaf = 1\nhost = 1\n"),
            "mrc: /x/mrc.toml:4: \"block\" is missing: [srv6] needs it");
  EXPECT_EQ(error_of(port + "[srv6]\nblock = \"fd00:1:2::/48\"\nleaf = 1\nhost = 1\n"),
            "mrc: /x/mrc.toml:5: \"block\" in [srv6] must be a prefix of 32 bits in quotes, such as "
            "\"fd00:4d52::/32\"");
  EXPECT_EQ(error_of(port + "[[host]]\ngids = [\"10.0.0.1\"]\nleaf = 1\n"),
            "mrc: /x/mrc.toml:4: \"host\" is missing: \"leaf\" and \"host\" go together");
  EXPECT_EQ(error_of(port + "[[host]]\ngids = [\"10.0.0.1\"]\nleaf = 1\nhost = 1\n"),
            "mrc: /x/mrc.toml:4: a [[host]] has \"leaf\", but there is no [srv6]");
  EXPECT_EQ(error_of(port + "[[host]]\ngids = [\"10.0.0.1\"]\naddresses = [\"10.0.0.1\", \"10.0.1.1\"]\n"),
            "mrc: /x/mrc.toml:4: \"addresses\" of a [[host]] must have one address per plane, that is 1");
  EXPECT_EQ(error_of(port + "[[host]]\ngids = [\"10.0.0.1\"]\n[[host]]\ngids = [\"10.0.0.1\"]\n"),
            "mrc: /x/mrc.toml:6: another [[host]] has the same GID");
  EXPECT_EQ(
      error_of("[[host]]\ngids = [\"10.0.0.1\"]\n"),
      "mrc: /x/mrc.toml:1: [srv6] and [[host]] need a [[port]] with backend \"af_packet\" or \"ethdev\"");
}

TEST(NetworkConfigTest, PathsToOtherHosts) {
  const DeviceConfig config = parse(kTwoPlanes);
  HostMap hosts(config.network, [](const IpAddress& address) { return address == ip("10.77.0.1"); });
  const auto paths = hosts.paths_to(ip("fd77::2"));
  ASSERT_EQ(paths.size(), 4u);
  EXPECT_EQ(text_of(paths[0].outer_destination), "fd00:4d52:2003:1000:2004:901f::");
  EXPECT_EQ(text_of(paths[3].outer_destination), "fd00:4d52:2103:1101:2104:911f::");
  EXPECT_EQ(paths[3].plane, 1);
  const auto near = hosts.paths_to(ip("10.77.0.3"));
  ASSERT_EQ(near.size(), 2u);
  EXPECT_EQ(text_of(near[1].outer_destination), "fd00:4d52:2103:9102::");
  EXPECT_TRUE(hosts.paths_to(ip("10.77.0.1")).empty());  // this host
  EXPECT_TRUE(hosts.paths_to(ip("10.77.0.4")).empty());  // not source-routed
  EXPECT_EQ(text_of(*hosts.outer_source(1)), "fd00:4d52:9101::");
  const auto back = hosts.path_back(ip("10.77.0.2"), 1, make_entropy(1, 1));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(text_of(back->outer_destination), "fd00:4d52:2103:1101:2104:911f::");
}

constexpr const char* kPods = R"(
[[port]]
backend = "af_packet"
interface = "p0"
[[port]]
backend = "af_packet"
interface = "p1"
[srv6]
block = "fd00:4d52::/32"
leaf = 40
host = 7
spines = 32
leaves_per_pod = 32
cores_per_spine = 32
spine_usid = 0x1000
leaf_usid = 0x2000
core_usid = 0x3000
host_usid = 0x0100
plane_usids = 0
[[host]]
gids = ["10.0.0.1"]
leaf = 2047
host = 31
[[host]]
gids = ["10.0.0.2"]
leaf = 63
host = 2
)";

TEST(NetworkConfigTest, ThreeTiersOfSixtyFiveThousandHosts) {
  const DeviceConfig config = parse(kPods);
  HostMap hosts(config.network, [](const IpAddress&) { return false; });
  const auto far = hosts.paths_to(ip("10.0.0.1"));
  ASSERT_EQ(far.size(), 2 * 512u);
  // Pod 1 to pod 63, by a core that the same spine of both pods has a link to.
  const IpAddress way = far[1].outer_destination;
  const uint32_t group = usid_at(way, 1) - 0x1000u - 32;
  EXPECT_EQ(usid_at(way, 0), 0x2000 + 40);
  EXPECT_LT(group, 32u);
  EXPECT_EQ((usid_at(way, 2) - 0x3000u) / 32, group);
  EXPECT_EQ(usid_at(way, 3), 0x1000 + 63 * 32 + group);
  EXPECT_EQ(usid_at(way, 4), 0x2000 + 2047);
  EXPECT_EQ(usid_at(way, 5), 0x0100 + 31);
  const auto near = hosts.paths_to(ip("10.0.0.2"));
  ASSERT_EQ(near.size(), 2 * 32u);
  EXPECT_EQ(text_of(near[33].outer_destination), "fd00:4d52:2028:1021:203f:102::");
  EXPECT_EQ(text_of(*hosts.outer_source(1)), "fd00:4d52:107::");
}

TEST(NetworkConfigTest, EveryNumberNeedsItsUsid) {
  const std::string port = "[[port]]\nbackend = \"af_packet\"\ninterface = \"p0\"\n";
  const std::string srv6 = "[srv6]\nblock = \"fd00:4d52::/32\"\nhost = 1\n";
  EXPECT_EQ(error_of(port + srv6 + "leaf = 256\n"),
            "mrc: /x/mrc.toml:4: there are uSIDs for 256 leaves, and 257 are needed; see \"leaf_usid\" and "
            "\"plane_usids\" in [srv6]");
  EXPECT_EQ(error_of(port + srv6 + "leaf = 256\nplane_usids = 0\n"), "no error");
  EXPECT_EQ(error_of(port + srv6 + "leaf = 1\nspines = 257\n"),
            "mrc: /x/mrc.toml:4: there are uSIDs for 256 spines, and 257 are needed; see \"spine_usid\" and "
            "\"plane_usids\" in [srv6]");
  EXPECT_EQ(error_of(port + srv6 + "leaf = 1\n[[host]]\ngids = [\"10.0.0.1\"]\nleaf = 2\nhost = 256\n"),
            "mrc: /x/mrc.toml:8: there are uSIDs for 256 hosts, and 257 are needed; see \"host_usid\" and "
            "\"plane_usids\" in [srv6]");
  // Pod 32 has the spines 256 to 263.
  const std::string pods = srv6 + "spines = 8\nleaves_per_pod = 4\n";
  EXPECT_EQ(error_of(port + pods + "leaf = 127\n"), "no error");
  EXPECT_NE(error_of(port + pods + "leaf = 128\n").find("uSIDs for 256 spines, and 264 are needed"),
            std::string::npos);
  EXPECT_NE(error_of(port + pods + "leaf = 1\ncores_per_spine = 33\n").find("256 cores, and 264 are needed"),
            std::string::npos);
  EXPECT_EQ(error_of(port + srv6 + "leaf = 1\ncores_per_spine = 2\n"),
            "mrc: /x/mrc.toml:8: \"cores_per_spine\" goes with \"leaves_per_pod\", which makes three tiers, "
            "only");
  EXPECT_EQ(error_of(port + srv6 + "leaf = 1\nleaf_usid = 0\n"),
            "mrc: /x/mrc.toml:8: \"leaf_usid\" in [srv6] must be a uSID from 1 to 65535, such as 0x2000");
  EXPECT_NE(error_of(port + srv6 + "leaf = 1\nleaf_usid = 0x1000\n").find("uSIDs for 0 leaves"),
            std::string::npos)
      << "spines begin there";
}

TEST(NetworkConfigTest, NextHopsAreLookedUpByTheRightAddress) {
  const DeviceConfig config = parse(kTwoPlanes);
  const HostMap hosts(config.network, [](const IpAddress&) { return false; });
  EXPECT_EQ(text_of(hosts.first_target(ip("10.77.0.2"), 1)), "fd00:4d52:2103:1100:2104:911f::");
  EXPECT_EQ(hosts.first_target(ip("10.77.0.4"), 1), ip("10.2.0.4"));
  EXPECT_EQ(hosts.first_target(ip("10.9.9.9"), 1), ip("10.9.9.9"));
}

TEST(NetworkConfigTest, TheMtuOfAnInterfaceHoldsTheHeaders) {
  DeviceConfig config = parse(kTwoPlanes);
  EXPECT_EQ(needed_interface_mtu(config, 4096), 4232u);
  config.network.srv6.reset();
  EXPECT_EQ(needed_interface_mtu(config, 4096), 4192u);
}

}  // namespace
}  // namespace mrc
