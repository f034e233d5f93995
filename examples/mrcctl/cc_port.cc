// SPDX-License-Identifier: BSD-2-Clause
// mrcctl cc and mrcctl port: CC profiles, and which ports the operator lets be used.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "examples/mrcctl/ev.h"
#include "examples/mrcctl/ev_profiles.h"
#include "examples/terminal/program_words.h"

namespace mrc {
namespace {

constexpr int kCongestionValues = MRC_CTL_CC_PROFILE_STATE | MRC_CTL_CC_PROFILE_ALGORITHM;

struct CongestionView {
  uint64_t id = 0;
  mrc_ctl_cc_profile_attr attributes{};
  mrc_ctl_cc_nscc_cfg config{};
};

int read_congestion_profiles(OpenDevice& device, std::vector<CongestionView>* profiles) {
  uint64_t ids[64];
  const int count = mrcdv_query_profiles(device.verbs(), MRCDV_PROFILE_CC, ids, std::size(ids));
  if (count < 0) return -count;
  for (int i = 0; i < std::min<int>(count, std::size(ids)); ++i) {
    CongestionView view;
    view.id = ids[i];
    view.attributes.cc_config = &view.config;
    if (mrc_ctl_query_cc_profile(device.control(), ids[i], &view.attributes,
                                 kCongestionValues | MRC_CTL_CC_PROFILE_CONFIG) != 0)
      return errno;
    profiles->push_back(view);
  }
  return 0;
}

nlohmann::ordered_json json_of(const mrc_ctl_cc_nscc_cfg& config) {
  return {{"disable_qa", config.disable_qa != 0},
          {"adjust_bytes_threshold", config.adjust_bytes_threshold},
          {"adjust_period_threshold_ns", config.adjust_period_threshold},
          {"base_rtt_ns", config.base_rtt},
          {"eta", config.eta},
          {"fi", config.fi},
          {"fi_scale", config.fi_scale},
          {"gamma", config.gamma},
          {"max_md_jump", config.max_md_jump},
          {"max_cwnd", config.max_cwnd},
          {"qa_gate", config.qa_gate},
          {"qa_threshold_ns", config.qa_threshold},
          {"target_delay_ns", config.target_delay}};
}

nlohmann::ordered_json json_of(const CongestionView& profile) {
  const char* algorithm = profile.attributes.algorithm;
  nlohmann::ordered_json told = {{"id", profile.id},
                                 {"state", word_of(profile.attributes.profile_state)},
                                 {"algorithm", algorithm != nullptr ? algorithm : "none"}};
  if (algorithm != nullptr) told["config"] = json_of(profile.config);
  return told;
}

void print_congestion(const CongestionView& profile) {
  const nlohmann::ordered_json told = json_of(profile);
  std::printf("profile %llu: %s, %s\n", static_cast<unsigned long long>(profile.id),
              told["state"].get<std::string>().c_str(), told["algorithm"].get<std::string>().c_str());
  if (!told.contains("config")) return;
  for (const auto& [name, value] : told["config"].items())
    std::printf("  %-26s %s\n", name.c_str(), value.dump().c_str());
}

// 0: it is none.
uint8_t port_in(const std::string& word, uint32_t planes) {
  uint32_t port = 0;
  const auto [end, wrong] = std::from_chars(word.data(), word.data() + word.size(), port);
  const bool whole = wrong == std::errc() && end == word.data() + word.size();
  return whole && port >= 1 && port <= planes ? static_cast<uint8_t>(port) : 0;
}

int show_ports(OpenDevice& device, bool json) {
  mrcdv_device_attr attributes{};
  if (const int error = mrcdv_query_device(device.verbs(), &attributes); error != 0)
    return device_failed(device.settings().name, error);
  nlohmann::ordered_json ports = nlohmann::ordered_json::array();
  for (uint32_t port = 1; port <= attributes.planes; ++port) {
    mrc_ctl_port_attr admin{};
    if (mrc_ctl_query_port(device.control(), static_cast<uint8_t>(port), &admin, MRC_CTL_PORT_ADMIN_STATE) !=
        0)
      return device_failed("port " + std::to_string(port), errno);
    ports.push_back({{"port", port},
                     {"plane", port - 1},
                     {"admin", admin.port_admin_state == MRC_CTL_PORT_ADMIN_ENABLED ? "up" : "down"}});
  }
  if (json) {
    std::printf("%s\n", nlohmann::ordered_json{{"ports", ports}}.dump(2).c_str());
    return 0;
  }
  for (const auto& port : ports)
    std::printf("port %u (plane %u): %s\n", port["port"].get<unsigned>(), port["plane"].get<unsigned>(),
                port["admin"] == "up" ? "up" : "down, by the operator");
  return 0;
}

}  // namespace

int check_cc_words(const std::vector<std::string>& words) {
  if (words.empty() || (words.size() == 1 && words[0] == "--json")) return 0;
  return refuse_word("mrcctl", words[words[0] == "--json" ? 1 : 0]);
}

int cc_command(OpenDevice& device, const std::vector<std::string>& words) {
  std::vector<CongestionView> profiles;
  if (const int error = read_congestion_profiles(device, &profiles); error != 0)
    return device_failed("CC profiles", error);
  if (!words.empty()) {
    nlohmann::ordered_json told = {{"profiles", nlohmann::ordered_json::array()}};
    for (const CongestionView& profile : profiles) told["profiles"].push_back(json_of(profile));
    std::printf("%s\n", told.dump(2).c_str());
    return 0;
  }
  for (const CongestionView& profile : profiles) print_congestion(profile);
  if (profiles.empty())
    std::printf("no controller has made a CC profile: queue pairs use what the settings say\n");
  return 0;
}

int check_port_words(const std::vector<std::string>& words) {
  if (words.empty() || (words.size() == 1 && words[0] == "--json")) return 0;
  if (port_in(words[0], UINT8_MAX) == 0)
    return refuse_word("mrcctl", words[0] == "--json" ? words[1] : words[0]);
  if (words.size() == 2 && (words[1] == "up" || words[1] == "down")) return 0;
  if (words.size() > 1) return refuse_word("mrcctl", words[words.size() > 2 ? 2 : 1]);
  std::fprintf(stderr, "mrcctl: port %s needs up or down\n", words[0].c_str());
  return kCalledWrongly;
}

int port_command(OpenDevice& device, const std::vector<std::string>& words) {
  if (words.size() < 2) return show_ports(device, !words.empty());
  const uint8_t port = port_in(words[0], device.settings().planes);
  if (port == 0) {
    std::fprintf(stderr, "mrcctl: port %s: %s has ports 1 to %u\n", words[0].c_str(),
                 device.settings().name.c_str(), device.settings().planes);
    return kCalledWrongly;
  }
  mrc_ctl_port_attr wanted{words[1] == "up" ? MRC_CTL_PORT_ADMIN_ENABLED : MRC_CTL_PORT_ADMIN_DISABLED};
  if (mrc_ctl_modify_port(device.control(), port, &wanted, MRC_CTL_PORT_ADMIN_STATE) == 0) return 0;
  return device_failed("port " + words[0], errno);
}

}  // namespace mrc
