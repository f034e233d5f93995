// SPDX-License-Identifier: BSD-2-Clause
// mrcctl ev: EV profiles, denied EVs and denied links.
#include "examples/mrcctl/ev.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "examples/mrcctl/ev_profiles.h"
#include "examples/terminal/program_words.h"

namespace mrc {
namespace {

// What a word of a denylist means: a link, a switch or an EV of a profile.
struct Denials {
  std::vector<FabricLink> links;
  std::map<uint64_t, std::vector<mrc_ctl_ev>> evs;  // by profile
};

class DenialReader {
 public:
  DenialReader(const FabricNames& names, const std::vector<EvProfileView>& profiles)
      : names_(names), profiles_(profiles) {}

  // LINK, SWITCH or PROFILE/PORT/EV. False: it is none that is known here.
  bool read(const std::string& word, Denials* denials) const {
    if (const auto link = names_.find(word)) {
      denials->links.push_back(*link);
      return true;
    }
    uint64_t id = 0;
    const auto [end, wrong] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (wrong != std::errc() || end == word.data() + word.size() || *end != '/') return false;
    for (const EvProfileView& profile : profiles_) {
      if (profile.id != id) continue;
      const auto ev = ev_in(profile.format, word.substr(static_cast<size_t>(end - word.data()) + 1));
      if (!ev) return false;
      denials->evs[id].push_back(*ev);
      return true;
    }
    return false;
  }

  // One word in a line; what follows a # does not count. Empty, or what is wrong.
  std::string read_file(const std::string& file, Denials* denials) const {
    std::ifstream lines(file);
    if (!lines) return file + ": cannot be read";
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
      std::istringstream words(line.substr(0, line.find('#')));
      std::string word;
      std::string more;
      if (!(words >> word)) continue;
      if (words >> more || !read(word, denials)) return wrong_line(file, number, line);
    }
    return {};
  }

 private:
  static std::string wrong_line(const std::string& file, int number, const std::string& line) {
    return file + ":" + std::to_string(number) + ": " + line + ": no link, no switch and no EV of a profile";
  }

  const FabricNames& names_;
  const std::vector<EvProfileView>& profiles_;
};

nlohmann::ordered_json json_of(const EvProfileView& profile) {
  const auto& attributes = profile.attributes;
  nlohmann::ordered_json evs = nlohmann::ordered_json::array();
  for (const mrc_ctl_ev_op_entry& entry : profile.evs)
    evs.push_back({{"port", entry.ev.port},
                   {"ev", ev_text(profile.format, entry.ev)},
                   {"state", word_of(entry.state)}});
  return {{"id", profile.id},
          {"state", word_of(attributes.profile_state)},
          {"mode", word_of(attributes.ev_mode)},
          {"format", word_of(profile.format)},
          {"format_id", attributes.ev_fmt_profile_id},
          {"count", attributes.ev_count},
          {"min_active", attributes.ev_min_active},
          {"evs", evs}};
}

void print_profile(const EvProfileView& profile) {
  const auto& attributes = profile.attributes;
  std::printf("profile %llu: %s, %s, %s, %u EVs, at least %u active\n",
              static_cast<unsigned long long>(profile.id), word_of(attributes.profile_state),
              word_of(attributes.ev_mode), word_of(profile.format), attributes.ev_count,
              attributes.ev_min_active);
  for (const mrc_ctl_ev_op_entry& entry : profile.evs)
    std::printf("  %llu/%u/%s %s\n", static_cast<unsigned long long>(profile.id), entry.ev.port,
                ev_text(profile.format, entry.ev).c_str(), word_of(entry.state));
}

int show_evs(const std::vector<EvProfileView>& profiles, const std::vector<FabricLink>& links,
             const FabricNames& names, bool json) {
  if (!json) {
    for (const EvProfileView& profile : profiles) print_profile(profile);
    if (profiles.empty())
      std::printf("no controller has made an EV profile: queue pairs use the device's own\n");
    for (const FabricLink& link : links) std::printf("denied: %s\n", names.name(link).c_str());
    return 0;
  }
  nlohmann::ordered_json told = {{"profiles", nlohmann::ordered_json::array()},
                                 {"denied_links", nlohmann::ordered_json::array()}};
  for (const EvProfileView& profile : profiles) told["profiles"].push_back(json_of(profile));
  for (const FabricLink& link : links) told["denied_links"].push_back(names.name(link));
  std::printf("%s\n", told.dump(2).c_str());
  return 0;
}

int change_denials(OpenDevice& device, const Denials& denials, mrcdv_links_op op, mrc_ctl_ev_state state) {
  if (!denials.links.empty() || op == MRCDV_LINKS_REPLACE)
    if (const int error = deny_links(device, op, denials.links); error != 0)
      return device_failed("denied links", error);
  for (const auto& [profile, evs] : denials.evs) {
    const int error = set_ev_states(device, profile, evs, state);
    if (error == EBUSY)
      return device_failed("profile " + std::to_string(profile) + ": fewer EVs than it needs would be left",
                           error);
    if (error != 0) return device_failed("profile " + std::to_string(profile), error);
  }
  return 0;
}

// Nothing is denied any more.
int allow_all(OpenDevice& device, const std::vector<EvProfileView>& profiles) {
  Denials denials;
  for (const EvProfileView& profile : profiles)
    for (const mrc_ctl_ev_op_entry& entry : profile.evs)
      if (entry.state == MRC_CTL_EV_DENIED) denials.evs[profile.id].push_back(entry.ev);
  return change_denials(device, denials, MRCDV_LINKS_REPLACE, MRC_CTL_EV_GOOD);
}

}  // namespace

bool load_names(const DeviceConfig& settings, FabricNames* names) {
  const auto& srv6 = settings.network.srv6;
  std::string error;
  if (srv6) *names = FabricNames(srv6->shape.usids);
  if (!srv6 || srv6->names.empty() || names->load(srv6->names, &error)) return true;
  std::fprintf(stderr, "mrcctl: %s\n", error.c_str());
  return false;
}

int deny_links(OpenDevice& device, mrcdv_links_op op, const std::vector<FabricLink>& links) {
  std::vector<mrcdv_link> wanted;
  wanted.reserve(links.size());
  for (const FabricLink& link : links) wanted.push_back({link.one, link.other});
  return mrcdv_modify_denied_links(device.verbs(), op, wanted.data(), static_cast<int>(wanted.size()));
}

std::vector<FabricLink> denied_links(OpenDevice& device) {
  std::vector<mrcdv_link> found(1024);
  const int count = mrcdv_query_denied_links(device.verbs(), found.data(), static_cast<int>(found.size()));
  std::vector<FabricLink> links;
  links.reserve(found.size());
  for (int i = 0; i < count; ++i)
    links.push_back(
        FabricLink::between(found[static_cast<size_t>(i)].usid, found[static_cast<size_t>(i)].other));
  return links;
}

int check_ev_words(const std::vector<std::string>& words) {
  const std::string what = words.empty() ? "" : words[0];
  if (what.empty() || what == "--json" || what == "clear")
    return words.size() > 1 ? refuse_word("mrcctl", words[1]) : 0;
  if (what != "deny" && what != "allow" && what != "load") return refuse_word("mrcctl", what);
  if (what == "load" && words.size() > 2) return refuse_word("mrcctl", words[2]);
  if (words.size() > 1) return 0;
  std::fprintf(stderr, "mrcctl: ev %s needs %s\n", what.c_str(),
               what == "load" ? "a file" : "links, switches or EVs (PROFILE/PORT/EV)");
  return kCalledWrongly;
}

int ev_command(OpenDevice& device, const std::vector<std::string>& words) {
  FabricNames names;
  std::vector<EvProfileView> profiles;
  if (!load_names(device.settings(), &names)) return 1;
  if (const int error = read_ev_profiles(device, &profiles); error != 0)
    return device_failed("EV profiles", error);
  const std::string what = words.empty() ? "" : words[0];
  if (what.empty() || what == "--json") return show_evs(profiles, denied_links(device), names, !what.empty());
  if (what == "clear") return allow_all(device, profiles);
  const DenialReader reader(names, profiles);
  Denials denials;
  if (what == "load") {
    if (const std::string wrong = reader.read_file(words[1], &denials); !wrong.empty()) {
      std::fprintf(stderr, "mrcctl: %s\n", wrong.c_str());
      return kCalledWrongly;
    }
    return change_denials(device, denials, MRCDV_LINKS_REPLACE, MRC_CTL_EV_DENIED);
  }
  for (size_t i = 1; i < words.size(); ++i)
    if (!reader.read(words[i], &denials)) return refuse_word("mrcctl", words[i]);
  const bool denies = what == "deny";
  return change_denials(device, denials, denies ? MRCDV_LINKS_ADD : MRCDV_LINKS_REMOVE,
                        denies ? MRC_CTL_EV_DENIED : MRC_CTL_EV_GOOD);
}

}  // namespace mrc
