// SPDX-License-Identifier: BSD-2-Clause
// The device's settings: what is taken, and what errors say.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "dpdk_io/settings/device_config.h"

namespace mrc {
namespace {

std::string error_of(const std::string& text) {
  DeviceConfig config;
  std::string error;
  return parse_device_config(text, "/x/mrc.toml", &config, &error) ? "no error" : error;
}

TEST(DeviceConfigTest, EmptyTextLeavesTheDefaults) {
  DeviceConfig config;
  std::string error;
  ASSERT_TRUE(parse_device_config("", "f", &config, &error)) << error;
  EXPECT_EQ(config.name, "mrc0");
  EXPECT_EQ(config.planes, 4u);
  EXPECT_EQ(config.mtu, 4096u);
  EXPECT_EQ(config.transport.backups_for(32), 4u);
  EXPECT_EQ(config.transport.backups_for(7), 0u);
}

TEST(DeviceConfigTest, BackupsAreANumberOrAuto) {
  DeviceConfig config;
  std::string error;
  ASSERT_TRUE(parse_device_config("[transport]\nbackups_per_plane = 3", "f", &config, &error)) << error;
  EXPECT_EQ(config.transport.backups_for(32), 3u);
  ASSERT_TRUE(parse_device_config("[transport]\nbackups_per_plane = \"auto\"", "f", &config, &error))
      << error;
  EXPECT_EQ(config.transport.backups_for(32), 4u);
  for (const std::string wrong : {"\"many\"", "257", "-1", "true"})
    EXPECT_NE(error_of("[transport]\nbackups_per_plane = " + wrong).find("from 0 to 256, or auto in quotes"),
              std::string::npos)
        << wrong;
}

TEST(DeviceConfigTest, EveryKeyIsTaken) {
  DeviceConfig config;
  std::string error;
  const char* text = R"(
    [device]
    name = "mrc-a_1"
    planes = 8
    mtu = 1024
    [transport]
    paths_per_plane = 64
    backups_per_plane = 8
    paths_min_active = 2
    mark_skip_turns_max = 4
    trim_skip_turns = 2
    window_bytes = 2_097_152
    window_packets = 2048
    tell_denied = true
    dynamic_mpr = true
    full_windows = 20
    spare_copies = false
    sack_threshold_bytes = 8192
    immediates_max = 64
    reorder_window_min_us = 30
    probe_interval_us = 500
    probe_interval_max_us = 250_000
    coarse_timestamps = false
    dscp_data = 10
    dscp_retransmission = 11
    dscp_probe = 14
    dscp_control = 48
    dscp_trimmed = 13
    dscp_trimmed_last_hop = 17
    silence_min_us = 200
    strict = true
    [interop]
    udp_port = 4971
    partition_key = 0x8001
    check_partition_key = true
    echo = "port-high"
    pad = false
    response_operation = "bits-5-4"
    out_of_window = "drop"
    [limits]
    mbufs = 8192
  )";
  ASSERT_TRUE(parse_device_config(text, "f", &config, &error)) << error;
  EXPECT_EQ(config.name, "mrc-a_1");
  EXPECT_EQ(config.planes, 8u);
  EXPECT_EQ(config.mtu, 1024u);
  EXPECT_EQ(config.transport.paths_per_plane, 64u);
  EXPECT_EQ(config.transport.backups_per_plane, 8u);
  EXPECT_EQ(config.transport.paths_min_active, 2u);
  EXPECT_EQ(config.transport.mark_skip_turns_max, 4u);
  EXPECT_EQ(config.transport.trim_skip_turns, 2u);
  EXPECT_EQ(config.transport.window_bytes, 2u << 20);
  EXPECT_EQ(config.transport.window_packets, 2048u);
  EXPECT_TRUE(config.transport.tell_denied);
  EXPECT_TRUE(config.transport.dynamic_mpr);
  EXPECT_EQ(config.transport.full_windows, 20u);
  EXPECT_FALSE(config.transport.spare_copies);
  EXPECT_EQ(config.transport.sack_threshold_bytes, 8192u);
  EXPECT_EQ(config.transport.immediates_max, 64u);
  EXPECT_EQ(config.transport.reorder_window_min, 30 * kMicrosecond);
  EXPECT_EQ(config.transport.probe_interval, 500 * kMicrosecond);
  EXPECT_EQ(config.transport.probe_interval_max, 250 * kMillisecond);
  EXPECT_FALSE(config.transport.coarse_timestamps);
  EXPECT_EQ(config.transport.dscp_data, 10);
  EXPECT_EQ(config.transport.dscp_retransmission, 11);
  EXPECT_EQ(config.transport.dscp_probe, 14);
  EXPECT_EQ(config.transport.dscp_control, 48);
  EXPECT_EQ(config.transport.dscp_trimmed, 13);
  EXPECT_EQ(config.transport.dscp_trimmed_last_hop, 17);
  EXPECT_EQ(config.transport.silence_min, 200 * kMicrosecond);
  EXPECT_TRUE(config.transport.strict);
  const InteropConfig& interop = config.transport.interop;
  EXPECT_EQ(interop.udp_port, 4971);
  EXPECT_EQ(interop.partition_key, 0x8001);
  EXPECT_TRUE(interop.check_partition_key);
  EXPECT_TRUE(interop.echo_port_first);
  EXPECT_FALSE(interop.pad);
  EXPECT_TRUE(interop.response_operation_high);
  EXPECT_FALSE(interop.nack_out_of_window);
  EXPECT_EQ(config.mbufs, 8192u);
}

TEST(DeviceConfigTest, ErrorsNameFileLineAndKey) {
  EXPECT_EQ(
      error_of("\n[device]\nplans = 4\n"),
      "mrc: /x/mrc.toml:3: unknown key \"plans\" in [device]; known keys: name, planes, engines, mtu, gids, "
      "hosts_file, transport, icrc");
  EXPECT_EQ(error_of("[device]\nplanes = 17\n"),
            "mrc: /x/mrc.toml:2: \"planes\" in [device] must be a whole number from 1 to 16");
  EXPECT_EQ(error_of("[device]\nplanes = \"4\"\n"),
            "mrc: /x/mrc.toml:2: \"planes\" in [device] must be a whole number from 1 to 16");
  EXPECT_EQ(error_of("[device]\nplanes = -1\n"),
            "mrc: /x/mrc.toml:2: \"planes\" in [device] must be a whole number from 1 to 16");
  EXPECT_EQ(error_of("[device]\nmtu = 1500\n"),
            "mrc: /x/mrc.toml:2: \"mtu\" in [device] must be a power of two from 256 to 4096");
  EXPECT_EQ(error_of("[device]\nname = \"a b\"\n"),
            "mrc: /x/mrc.toml:2: \"name\" in [device] must be a name of 1 to 15 letters, digits, - and _ in "
            "quotes");
  EXPECT_EQ(error_of("[transport]\ncoarse_timestamps = 1\n"),
            "mrc: /x/mrc.toml:2: \"coarse_timestamps\" in [transport] must be true or false");
  EXPECT_EQ(error_of("[interop]\nudp_port = 4800\n"),
            "mrc: /x/mrc.toml:2: \"udp_port\" in [interop] must be 4791 or 4971");
  EXPECT_EQ(error_of("[interop]\necho = \"both\"\n"),
            "mrc: /x/mrc.toml:2: \"echo\" in [interop] must be port-low or port-high in quotes");
  EXPECT_EQ(error_of("[devise]\n"),
            "mrc: /x/mrc.toml:1: unknown table [devise]; known tables: [device], [transport], [congestion], "
            "[interop], [limits], [mrcd], [[fault]], [[port]], [srv6], [[host]], [[hosts]]");
  EXPECT_EQ(error_of("planes = 4\n"),
            "mrc: /x/mrc.toml:1: key \"planes\" stands outside of a table; known tables: [device], "
            "[transport], [congestion], "
            "[interop], [limits], [mrcd], [[fault]], [[port]], [srv6], [[host]], [[hosts]]");
  EXPECT_EQ(error_of("device = 4\n"),
            "mrc: /x/mrc.toml:1: \"device\" must be a table: write [device] on a line of its own");
  EXPECT_EQ(error_of("[device]\nplanes = = 4\n").rfind("mrc: /x/mrc.toml:2: not TOML: ", 0), 0u);
  EXPECT_EQ(error_of("[!]\n").rfind("mrc: /x/mrc.toml:1: not TOML: ", 0), 0u);
  EXPECT_EQ(error_of("# \u00e9\n[device]\nplanes = \u00e9\n").rfind("mrc: /x/mrc.toml:3: not TOML: ", 0), 0u);
  EXPECT_EQ(error_of("[device]\nname = \"\\\"\u00e9\"\n").rfind("mrc: /x/mrc.toml:2: \"name\"", 0), 0u);
  EXPECT_NE(error_of("[transport]\nprobe_interval_us = 2000000\n").find("probe_interval_max_us"),
            std::string::npos);
}

TEST(DeviceConfigTest, CongestionControl) {
  const auto read = [](const std::string& text) {
    DeviceConfig config;
    std::string error;
    EXPECT_TRUE(parse_device_config(text, "/x/mrc.toml", &config, &error)) << error;
    return config.transport;
  };
  const std::string port = "[[port]]\nplane = 0\nbackend = \"af_packet\"\ninterface = \"eth0\"\n";
  // On one host nothing is needed; a network gets MRC's controller unless told otherwise.
  EXPECT_EQ(read("[device]\nplanes = 2\n").congestion, CongestionAlgorithm::kNone);
  EXPECT_EQ(read(port).congestion, CongestionAlgorithm::kNscc);
  EXPECT_EQ(read(port + "[congestion]\nalgorithm = \"none\"\n").congestion, CongestionAlgorithm::kNone);
  // 1.5 x 2.5 Gb/s x 2 ms.
  EXPECT_EQ(read(port).nscc.max_cwnd, 937'500u);
  const TransportConfig aware = read(
      "[congestion]\nalgorithm = \"receiver-aware\"\nlink_rate_mbps = 400\nbase_rtt_us = 2000\ntrimming = "
      "true\nexpected_senders = 7\nreceiver_penalty = true\n");
  EXPECT_EQ(aware.congestion, CongestionAlgorithm::kReceiverAware);
  EXPECT_EQ(aware.link_rate_bps, 400'000'000u);
  EXPECT_EQ(aware.expected_senders, 7u);
  EXPECT_TRUE(aware.receiver_penalty);
  EXPECT_EQ(aware.nscc.base_rtt, 2 * kMillisecond);
  EXPECT_EQ(aware.nscc.target_delay, 1500 * kMicrosecond);
  EXPECT_EQ(aware.nscc.max_cwnd, 150'000u);
  EXPECT_EQ(read("[congestion]\nalgorithm = \"nscc\"\n[transport]\nwindow_bytes = 65536\n").nscc.max_cwnd,
            65536u);
  EXPECT_EQ(
      error_of("[congestion]\nalgorithm = \"reno\"\n"),
      "mrc: /x/mrc.toml:2: \"algorithm\" in [congestion] must be none, nscc or receiver-aware in quotes");
}

class DeviceConfigEnvironmentTest : public testing::Test {
 protected:
  void TearDown() override {
    unsetenv("MRC_CONFIG");
    unsetenv("MRC_PLANES");
    unsetenv("MRC_TRANSPORT");
    unsetenv("MRC_TRACE");
    unlink(kFile);
  }
  static constexpr const char* kFile = "config_test.toml";
  DeviceConfig config;
  std::string error;
};

TEST_F(DeviceConfigEnvironmentTest, FileAndPlanesAreTaken) {
  FILE* file = std::fopen(kFile, "w");
  std::fputs("[device]\nplanes = 2\nmtu = 2048\n", file);
  std::fclose(file);
  setenv("MRC_CONFIG", kFile, 1);
  ASSERT_TRUE(load_device_config(&config, &error)) << error;
  EXPECT_EQ(config.planes, 2u);
  EXPECT_EQ(config.mtu, 2048u);
  setenv("MRC_PLANES", "8", 1);
  ASSERT_TRUE(load_device_config(&config, &error)) << error;
  EXPECT_EQ(config.planes, 8u);
}

TEST_F(DeviceConfigEnvironmentTest, TheTransportIsChosenByFileOrEnvironment) {
  FILE* file = std::fopen(kFile, "w");
  std::fputs("[device]\ntransport = \"rc\"\n", file);
  std::fclose(file);
  setenv("MRC_CONFIG", kFile, 1);
  ASSERT_TRUE(load_device_config(&config, &error)) << error;
  EXPECT_EQ(config.transport.default_transport(), Transport::kRc);
  setenv("MRC_TRANSPORT", "mrc-strict", 1);
  ASSERT_TRUE(load_device_config(&config, &error)) << error;
  EXPECT_EQ(config.transport.default_transport(), Transport::kMrcStrict);
  setenv("MRC_TRANSPORT", "mrc", 1);
  ASSERT_TRUE(load_device_config(&config, &error)) << error;
  EXPECT_EQ(config.transport.default_transport(), Transport::kMrc);
  setenv("MRC_TRANSPORT", "tcp", 1);
  EXPECT_FALSE(load_device_config(&config, &error));
  EXPECT_EQ(error, "mrc: MRC_TRANSPORT=tcp must be mrc, mrc-strict or rc");
  unsetenv("MRC_TRANSPORT");
  file = std::fopen(kFile, "w");
  std::fputs("[device]\ntransport = 4\n", file);
  std::fclose(file);
  EXPECT_FALSE(load_device_config(&config, &error));
  EXPECT_NE(error.find("\"transport\" in [device] must be mrc, mrc-strict or rc"), std::string::npos)
      << error;
}

TEST_F(DeviceConfigEnvironmentTest, EventsAreKeptOnRequest) {
  ASSERT_TRUE(load_device_config(&config, &error)) << error;
  EXPECT_EQ(config.trace_events, 0u);
  setenv("MRC_TRACE", "100", 1);
  ASSERT_TRUE(load_device_config(&config, &error)) << error;
  EXPECT_EQ(config.trace_events, 100u);
  for (const char* events : {"yes", "-1", "65537"}) {
    setenv("MRC_TRACE", events, 1);
    EXPECT_FALSE(load_device_config(&config, &error)) << events;
    EXPECT_EQ(error, "mrc: MRC_TRACE=" + std::string(events) + " must be a whole number from 0 to 65536");
  }
}

TEST_F(DeviceConfigEnvironmentTest, MissingFileIsAnError) {
  setenv("MRC_CONFIG", "no/such/file.toml", 1);
  EXPECT_FALSE(load_device_config(&config, &error));
  EXPECT_EQ(
      error,
      "mrc: no/such/file.toml: no such file; set MRC_CONFIG to a file that can be read, or unset it for the "
      "defaults");
}

TEST_F(DeviceConfigEnvironmentTest, DirectoryIsAnError) {
  setenv("MRC_CONFIG", ".", 1);
  EXPECT_FALSE(load_device_config(&config, &error));
}

TEST_F(DeviceConfigEnvironmentTest, BadPlanesAreAnError) {
  for (const char* planes : {"0", "17", "four", "4x", "-1", " 4"}) {
    setenv("MRC_PLANES", planes, 1);
    EXPECT_FALSE(load_device_config(&config, &error)) << planes;
    EXPECT_EQ(error, "mrc: MRC_PLANES=" + std::string(planes) + " must be a whole number from 1 to 16");
  }
}

TEST(DeviceConfigTest, Faults) {
  DeviceConfig config;
  std::string error;
  ASSERT_TRUE(
      parse_device_config("[[fault]]\nkind = \"drop\"\nrate = 0.25\nplane = [0, 2]\nseed = 7\n"
                          "[[fault]]\nkind = \"delay\"\ndelay_us = 100\nopcode = \"sack\"\n",
                          "/x", &config, &error))
      << error;
  ASSERT_EQ(config.faults.size(), 2u);
  EXPECT_EQ(config.faults[0].kind, FaultKind::kDrop);
  EXPECT_EQ(config.faults[0].rate, FaultRule::kAlways / 4);
  EXPECT_EQ(config.faults[0].planes, 5u);
  EXPECT_EQ(config.faults[0].seed, 7u);
  EXPECT_EQ(config.faults[1].delay_ns, 100'000u);
  EXPECT_TRUE(config.faults[1].takes_opcode(0xDC));
  EXPECT_FALSE(config.faults[1].takes_opcode(0xDD));
  const auto refused = [&](const char* text) {
    return parse_device_config(text, "/x", &config, &error) ? "taken" : error;
  };
  EXPECT_EQ(refused("[[fault]]\nkind = \"drop\"\nrate = 2\n"),
            "mrc: /x:3: in [[fault]]: rate must be a chance above 0 and up to 1");
  EXPECT_EQ(refused("[[fault]]\nkind = \"delay\"\n"), "mrc: /x:1: in [[fault]]: delay needs delay_us");
  EXPECT_EQ(
      refused("[[fault]]\nrate = 0.5\n").rfind("mrc: /x:1: \"kind\" in [[fault]] must be one of drop, ", 0),
      0u);
  EXPECT_EQ(refused("[fault]\nkind = \"drop\"\n").rfind("mrc: /x:1: [[fault]] is a list of tables", 0), 0u);
}

TEST(DeviceConfigTest, SeveralDevices) {
  std::vector<DeviceConfig> devices;
  std::string error;
  const auto parse = [&](const std::string& text) {
    return parse_device_configs(text, "/x", &devices, &error);
  };
  ASSERT_TRUE(
      parse("[transport]\npaths_per_plane = 8\nwindow_packets = 512\n"
            "[[device]]\nplanes = 2\n"
            "[[device]]\nname = \"mrc_b\"\n[device.transport]\npaths_per_plane = 4\n"
            "[[device.fault]]\nkind = \"drop\"\n"
            "[[device.port]]\nplane = 0\nbackend = \"af_packet\"\ninterface = \"eth7\"\n"
            "[[device]]\n"))
      << error;
  ASSERT_EQ(devices.size(), 3u);
  EXPECT_EQ(devices[0].name, "mrc0");
  EXPECT_EQ(devices[1].name, "mrc_b");
  EXPECT_EQ(devices[2].name, "mrc2");
  EXPECT_EQ(devices[0].planes, 2u);
  EXPECT_EQ(devices[1].planes, 1u) << "it has one port";
  EXPECT_EQ(devices[0].transport.paths_per_plane, 8u);
  EXPECT_EQ(devices[1].transport.paths_per_plane, 4u);
  EXPECT_EQ(devices[1].transport.window_packets, 512u) << "what is said for all";
  EXPECT_EQ(devices[1].faults.size(), 1u);
  EXPECT_TRUE(devices[2].faults.empty());
  EXPECT_EQ(devices[2].index, 2u);
  EXPECT_EQ(page_suffix(devices[0]), "");
  EXPECT_EQ(page_suffix(devices[1]), ".mrc_b");

  ASSERT_TRUE(parse("[device]\nname = \"mrc5\"\n")) << error;
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].name, "mrc5");
  ASSERT_TRUE(parse("")) << error;
  EXPECT_EQ(devices.at(0).name, "mrc0");

  const auto refused = [&](const std::string& text) { return parse(text) ? "taken" : error; };
  EXPECT_EQ(refused("[[device]]\n[[device]]\nname = \"mrc0\"\n"),
            "mrc: /x:2: two devices are called \"mrc0\"; give each [[device]] a name");
  EXPECT_EQ(refused("[[device]]\n[[device]]\n\nplanes = 99\n"),
            "mrc: /x:4: \"planes\" in [device] must be a whole number from 1 to 16");
  EXPECT_EQ(
      refused("[[port]]\nplane = 0\nbackend = \"af_packet\"\ninterface = \"e0\"\n[[device]]\n[[device]]\n"),
      "mrc: /x:1: the interface \"e0\" is a port of mrc0 already; each device has ports of its own: write "
      "[[device.port]]");
  EXPECT_EQ(refused("[[device]]\n[device.sauce]\nx = 1\n").rfind("mrc: /x:2: unknown table [sauce]", 0), 0u);
  std::string many;
  for (int i = 0; i < 17; ++i) many += "[[device]]\n";
  EXPECT_NE(refused(many).find("more than 16"), std::string::npos);
}

}  // namespace
}  // namespace mrc
