// SPDX-License-Identifier: BSD-2-Clause
// Lists of hosts that nobody copies: ranges, and a file that all hosts share and that is read again when it
// changes.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "dpdk_io/settings/device_config.h"
#include "dpdk_io/settings/hosts_file.h"
#include "dpdk_io/wire/host_map.h"

namespace mrc {
namespace {

IpAddress ip(const std::string& text) {
  IpAddress address;
  uint8_t v4[4];
  if (inet_pton(AF_INET, text.c_str(), v4) == 1) return IpAddress::v4(v4[0], v4[1], v4[2], v4[3]);
  EXPECT_EQ(inet_pton(AF_INET6, text.c_str(), address.bytes.data()), 1) << text;
  return address;
}

std::string text_of(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(AF_INET6, address.bytes.data(), text, sizeof text);
  return text;
}

bool nothing_is_local(const IpAddress&) {
  return false;
}

constexpr const char* kPort = "[[port]]\nbackend = \"af_packet\"\ninterface = \"p0\"\n";
constexpr const char* kFabric =
    "[srv6]\nblock = \"fd00:4d52::/32\"\nspines = 32\nleaves_per_pod = 32\ncores_per_spine = 32\n"
    "host_usid = 0x0100\nplane_usids = 0\n";
constexpr const char* kRange =
    "[[hosts]]\ncount = 65536\ngids = [\"10.64.0.0\", \"fd77::\"]\nleaf = 0\nhosts_per_leaf = 32\n";

DeviceConfig parse(const std::string& text) {
  DeviceConfig config;
  std::string error;
  EXPECT_TRUE(parse_device_config(text, "f", &config, &error)) << error;
  return config;
}

std::string error_of(const std::string& text) {
  DeviceConfig config;
  std::string error;
  return parse_device_config(std::string(kPort) + text, "f", &config, &error) ? "no error" : error;
}

// tell_denied relies on it.
TEST(HostRanges, WhatArrivesIsWhatTheOtherSends) {
  const DeviceConfig config = parse(std::string(kPort) + kFabric + kRange);
  HostMap one(config.network, nothing_is_local);
  HostMap other(config.network, nothing_is_local);
  std::string error;
  ASSERT_TRUE(one.find_self({ip("10.64.0.40")}, &error)) << error;
  ASSERT_TRUE(other.find_self({ip("10.64.4.227")}, &error)) << error;
  const auto sent = one.paths_to(ip("10.64.4.227"));
  const auto arriving = other.paths_from(ip("10.64.0.40"));
  ASSERT_FALSE(sent.empty());
  ASSERT_EQ(sent.size(), arriving.size());
  for (size_t i = 0; i < sent.size(); ++i) {
    EXPECT_EQ(sent[i].entropy, arriving[i].entropy);
    EXPECT_EQ(sent[i].plane, arriving[i].plane);
    EXPECT_EQ(sent[i].outer_destination, arriving[i].outer_destination);
  }
  EXPECT_EQ(one.outer_source(0), other.peer_outer_source(ip("10.64.0.40"), 0));
  EXPECT_TRUE(other.paths_from(ip("10.99.0.1")).empty()) << "a stranger";
}

TEST(HostRanges, HostsAreFoundByArithmetic) {
  const DeviceConfig config = parse(std::string(kPort) + kFabric + kRange);
  const HostList list(config.network, FabricPlace{40, 7});
  EXPECT_EQ(list.place_of(ip("10.64.0.0")), (FabricPlace{0, 0}));
  EXPECT_EQ(list.place_of(ip("10.64.0.33")), (FabricPlace{1, 1}));
  EXPECT_EQ(list.place_of(ip("10.64.255.255")), (FabricPlace{2047, 31}));
  EXPECT_EQ(list.place_of(ip("fd77::ffff")), (FabricPlace{2047, 31}));
  EXPECT_EQ(list.place_of(ip("10.65.0.0")), std::nullopt) << "behind the last";
  EXPECT_EQ(list.place_of(ip("10.63.255.255")), std::nullopt) << "before the first";
  EXPECT_EQ(list.place_of(ip("fd77:0:0:1::1")), std::nullopt) << "another network";
  EXPECT_EQ(text_of(list.paths_to(ip("10.64.4.227"))->address(0, 3)), "fd00:4d52:2028:1023:2027:103::");
}

TEST(HostRanges, StepsAndAddresses) {
  const DeviceConfig config = parse(std::string(kPort) + kPort[0] + R"([port]]
backend = "af_packet"
interface = "p1"
[[hosts]]
count = 100
gids = ["10.0.0.4"]
gid_step = 256
addresses = ["10.1.0.4", "10.2.0.4"]
address_step = 2
)");
  const HostList list(config.network, std::nullopt);
  EXPECT_EQ(list.address_of(ip("10.0.7.4"), 1), ip("10.2.0.18"));
  EXPECT_EQ(list.address_of(ip("10.0.99.4"), 0), ip("10.1.0.202"));
  EXPECT_EQ(list.address_of(ip("10.0.100.4"), 0), std::nullopt);
  EXPECT_EQ(list.address_of(ip("10.0.7.5"), 0), std::nullopt) << "between two";
  EXPECT_EQ(list.paths_to(ip("10.0.7.4")), std::nullopt);
}

TEST(HostRanges, ASingleHostComesFirst) {
  const DeviceConfig config = parse(std::string(kPort) + kFabric + kRange +
                                    "[[host]]\ngids = [\"10.64.0.33\"]\nleaf = 9\nhost = 9\n");
  const HostList list(config.network, FabricPlace{});
  EXPECT_EQ(list.place_of(ip("10.64.0.33")), (FabricPlace{9, 9}));
  EXPECT_EQ(list.place_of(ip("10.64.0.34")), (FabricPlace{1, 2}));
}

TEST(HostRanges, ErrorsSayWhatAndWhere) {
  EXPECT_EQ(error_of("[[hosts]]\ngids = [\"10.0.0.1\"]\n"),
            "mrc: f:4: \"count\" is missing: how many hosts are there?");
  EXPECT_EQ(error_of("[[hosts]]\ncount = 3\n"), "mrc: f:4: \"gids\" is missing: those of the first host");
  EXPECT_EQ(error_of("[[hosts]]\ncount = 0\n"),
            "mrc: f:5: \"count\" in [[hosts]] must be a whole number from 1 to 1048576");
  EXPECT_EQ(error_of("[[hosts]]\ncount = 3\ngids = [\"10.0.0.1\"]\nleaf = 1\n"),
            "mrc: f:4: \"hosts_per_leaf\" is missing: it goes with \"leaf\"");
  EXPECT_EQ(error_of("[[hosts]]\ncount = 3\ngids = [\"10.0.0.1\"]\nhost = 1\n"),
            "mrc: f:7: \"host\" goes with \"leaf\" only");
  EXPECT_EQ(error_of("[[hosts]]\ncount = 3\ngids = [\"10.0.0.1\"]\nleaf = 1\nhosts_per_leaf = 1\n"),
            "mrc: f:4: a [[hosts]] has \"leaf\", but there is no [srv6]");
  EXPECT_EQ(error_of("[[hosts]]\ncount = 3\ngids = [\"255.255.255.254\"]\n"),
            "mrc: f:4: there are not so many addresses behind the first of \"gids\"");
  EXPECT_EQ(
      error_of("[[hosts]]\ncount = 3\ngids = [\"10.0.0.1\"]\naddresses = [\"10.1.0.1\", \"10.2.0.1\"]\n"),
      "mrc: f:4: \"addresses\" of a [[hosts]] must have one address per plane, that is 1");
  EXPECT_EQ(error_of("[[hosts]]\ncount = 3\ngids = [\"10.0.0.1\"]\naddress_step = 2\n"),
            "mrc: f:7: \"address_step\" goes with \"addresses\" only");
  EXPECT_EQ(error_of(std::string(kFabric) +
                     "[[hosts]]\ncount = 65536\ngids = [\"10.64.0.0\"]\nleaf = 0\nhosts_per_leaf = 8\n"),
            "mrc: f:11: there are uSIDs for 4096 leaves, and 8192 are needed; see \"leaf_usid\" and "
            "\"plane_usids\" in [srv6]");
  const std::string one = "[[hosts]]\ncount = 100\ngids = [\"10.0.0.1\"]\ngid_step = 2\n";
  EXPECT_EQ(error_of(one + "[[hosts]]\ncount = 100\ngids = [\"10.0.0.2\"]\ngid_step = 2\n"), "no error");
  EXPECT_EQ(error_of(one + "[[hosts]]\ncount = 2\ngids = [\"10.0.0.2\"]\ngid_step = 3\n"),
            "mrc: f:8: hosts of another [[hosts]], in f:4: have the same GIDs");
  EXPECT_EQ(error_of("[srv6]\nblock = \"fd00:4d52::/32\"\nleaf = 1\n"),
            "mrc: f:4: \"host\" is missing: \"leaf\" and \"host\" go together");
}

TEST(HostRanges, AHostFindsItselfInTheList) {
  const DeviceConfig config = parse(std::string(kPort) + kFabric + kRange);
  HostMap hosts(config.network, nothing_is_local);
  std::string error;
  EXPECT_FALSE(hosts.find_self({ip("127.0.0.1"), ip("fd00::1"), ip("127.0.0.1")}, &error));
  EXPECT_EQ(
      error,
      "mrc: f:4: [srv6] has no \"leaf\" and \"host\", and no [[host]] or [[hosts]] has an address of this "
      "host's as a GID: 127.0.0.1, fd00::1");
  ASSERT_TRUE(hosts.find_self({ip("127.0.0.1"), ip("10.64.5.7")}, &error)) << error;
  EXPECT_EQ(text_of(*hosts.outer_source(0)), "fd00:4d52:107::");
  EXPECT_EQ(text_of(hosts.paths_to(ip("10.64.4.227"))[3].outer_destination),
            "fd00:4d52:2028:1023:2027:103::");
}

class HostsFile : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/mrc_hosts_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    write("mrc.toml", std::string("[device]\nhosts_file = \"list.toml\"\n") + kPort);
    setenv("MRC_CONFIG", (directory_ + "/mrc.toml").c_str(), 1);
  }
  void TearDown() override {
    unsetenv("MRC_CONFIG");
    std::filesystem::remove_all(directory_);
  }
  // As one should: a new file takes the place of the old one.
  void write(const std::string& name, const std::string& text) const {
    const std::string file = directory_ + "/" + name;
    std::ofstream(file + ".new") << text;
    std::filesystem::rename(file + ".new", file);
  }
  std::string error_with(const std::string& list) const {
    write("list.toml", list);
    DeviceConfig config;
    std::string error;
    if (load_device_config(&config, &error)) return "no error";
    EXPECT_TRUE(error.starts_with("mrc: " + directory_ + "/")) << error;
    return error.substr(error.rfind('/') + 1);
  }

  std::string directory_;
};

TEST_F(HostsFile, HasTheFabricAndItsHosts) {
  write("list.toml", std::string(kFabric) + kRange + "[[host]]\ngids = [\"10.9.9.9\"]\nleaf = 1\nhost = 5\n");
  DeviceConfig config;
  std::string error;
  ASSERT_TRUE(load_device_config(&config, &error)) << error;
  EXPECT_EQ(config.network.hosts_file, directory_ + "/list.toml") << "beside the settings";
  EXPECT_EQ(config.network.hosts.size(), 1u);
  EXPECT_EQ(config.network.ranges.size(), 1u);
  EXPECT_EQ(config.network.srv6->shape.spines, 32u);
}

TEST_F(HostsFile, ErrorsSayWhatAndWhere) {
  DeviceConfig config;
  std::string error;
  EXPECT_FALSE(load_device_config(&config, &error));
  EXPECT_EQ(error, "mrc: " + directory_ + "/list.toml: no such file; \"hosts_file\" in [device] names it");
  EXPECT_EQ(
      error_with("[device]\nname = \"mrc1\"\n"),
      "list.toml:1: \"device\" does not belong here: a file of hosts has [srv6], [[host]] and [[hosts]]");
  EXPECT_NE(error_with(kPort).find("\"port\" does not belong here"), std::string::npos);
  EXPECT_EQ(error_with("[[host]]\ngids = [\"10.0.0.1\"]\nleef = 1\n"),
            "list.toml:3: unknown key \"leef\" in [[host]]; known keys: gids, leaf, host, addresses");
  EXPECT_NE(error_with("[[host]\n").find("list.toml:1: not TOML: "), std::string::npos);
  EXPECT_EQ(error_with("[[host]]\ngids = [\"10.0.0.1\"]\nleaf = 1\nhost = 1\n"),
            "list.toml:1: a [[host]] has \"leaf\", but there is no [srv6]");
  EXPECT_EQ(error_with("[[host]]\ngids = [\"10.0.0.1\"]\n[[host]]\ngids = [\"10.0.0.1\"]\n"),
            "list.toml:3: another [[host]] has the same GID");
  EXPECT_EQ(error_with(""), "no error");
  write("mrc.toml", std::string("[device]\nhosts_file = \"list.toml\"\n") + kPort +
                        "[srv6]\nblock = \"fd00:4d52::/32\"\nleaf = 0\nhost = 0\n");
  write("list.toml", kFabric);
  EXPECT_FALSE(load_device_config(&config, &error));
  EXPECT_EQ(error, "mrc: " + directory_ + "/list.toml:1: a second [srv6]; the first is in " + directory_ +
                       "/mrc.toml:6");
}

TEST_F(HostsFile, IsFollowed) {
  const std::string first = "[[hosts]]\ncount = 32\ngids = [\"10.64.0.0\"]\nleaf = 0\nhosts_per_leaf = 32\n";
  write("list.toml", kFabric + first);
  DeviceConfig config;
  std::string error;
  ASSERT_TRUE(load_device_config(&config, &error)) << error;
  HostMap hosts(config.network, nothing_is_local);
  ASSERT_TRUE(hosts.find_self({ip("10.64.0.7")}, &error)) << error;
  EXPECT_FALSE(hosts.follow_file()) << "nothing has changed";
  EXPECT_TRUE(hosts.paths_to(ip("10.64.0.40")).empty());
  const std::string second =
      "[[hosts]]\ncount = 32\ngids = [\"10.64.0.32\"]\nleaf = 1\nhosts_per_leaf = 32\n";
  write("list.toml", kFabric + first + second);
  EXPECT_TRUE(hosts.follow_file());
  EXPECT_EQ(hosts.paths_to(ip("10.64.0.40")).size(), 32u);
  EXPECT_FALSE(hosts.follow_file()) << "once";

  testing::internal::CaptureStderr();
  write("list.toml", kFabric + first + "[[hosts]]\n");
  EXPECT_FALSE(hosts.follow_file());
  EXPECT_FALSE(hosts.follow_file());
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "mrc: " + directory_ +
                "/list.toml:13: \"count\" is missing: how many hosts are there?; the hosts that were known "
                "before stay\n");
  EXPECT_EQ(hosts.paths_to(ip("10.64.0.40")).size(), 32u) << "as before";

  testing::internal::CaptureStderr();
  write("list.toml", "");
  EXPECT_FALSE(hosts.follow_file());
  EXPECT_NE(testing::internal::GetCapturedStderr().find("[srv6] cannot come or go while programs run"),
            std::string::npos);
  std::filesystem::remove(directory_ + "/list.toml");
  testing::internal::CaptureStderr();
  EXPECT_FALSE(hosts.follow_file());
  EXPECT_FALSE(hosts.follow_file());
  EXPECT_NE(testing::internal::GetCapturedStderr().find("no such file"), std::string::npos);

  // This host has moved, and so has another one.
  write("list.toml", std::string(kFabric) +
                         "[[hosts]]\ncount = 64\ngids = [\"10.64.0.0\"]\nleaf = 4\nhosts_per_leaf = 4\n");
  EXPECT_TRUE(hosts.follow_file());
  EXPECT_EQ(text_of(*hosts.outer_source(0)), "fd00:4d52:103::");
  EXPECT_EQ(text_of(hosts.paths_to(ip("10.64.0.40"))[0].outer_destination), "fd00:4d52:2005:1000:200e:100::");
}

// A list of single hosts may be long, too.
TEST_F(HostsFile, ManySingleHosts) {
  std::string list = kFabric;
  constexpr uint32_t kHosts = 20'000;
  for (uint32_t i = 0; i < kHosts; ++i)
    list += "[[host]]\ngids = [\"10.64." + std::to_string(i / 256) + "." + std::to_string(i % 256) +
            "\"]\nleaf = " + std::to_string(i / 32) + "\nhost = " + std::to_string(i % 32) + "\n";
  write("list.toml", list);
  DeviceConfig config;
  std::string error;
  ASSERT_TRUE(load_device_config(&config, &error)) << error;
  EXPECT_EQ(config.network.hosts.size(), kHosts);
  EXPECT_EQ(HostList(config.network, FabricPlace{}).place_of(ip("10.64.78.31")), (FabricPlace{624, 31}));
}

}  // namespace
}  // namespace mrc
