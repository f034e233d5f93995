// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrcctl/map.h"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "examples/mrcctl/ev.h"
#include "examples/mrcctl/fabric_survey.h"
#include "examples/mrcctl/map_report.h"
#include "examples/mrcctl/option_words.h"

namespace mrc {
namespace {

struct MapOrder {
  bool json = false;
  bool apply = false;
  bool daemon = false;
  bool join = false;
  std::string denylist;
  double tolerated_percent = 1;
  double seconds = 8;
  double interval = 10;
  uint32_t count = 100;
  std::vector<std::string> files;
};

int read_map_words(const std::vector<std::string>& words, MapOrder* order) {
  const auto flag = [](bool* to) { return [to](const std::string&) { return *to = true; }; };
  const auto decimal = [](double* to, double least, double most) {
    return [=](const std::string& text) { return read_decimal(text, least, most, to); };
  };
  const int status = take_options(
      words,
      {{"--json", false, flag(&order->json)},
       {"--apply", false, flag(&order->apply)},
       {"--daemon", false, flag(&order->daemon)},
       {"--join", false, flag(&order->join)},
       {"--denylist", true, [order](const std::string& file) { return !(order->denylist = file).empty(); }},
       {"--tolerate", true, decimal(&order->tolerated_percent, 0.01, 50)},
       {"--seconds", true, decimal(&order->seconds, 0.5, 3600)},
       {"--interval", true, decimal(&order->interval, 0.1, 86400)},
       {"--count", true,
        [order](const std::string& text) { return read_number<uint32_t>(text, 8, 1000000, &order->count); }}},
      &order->files);
  if (status != 0) return status;
  if (!order->join && !order->files.empty()) return refuse_word("mrcctl", order->files[0]);
  if (!order->join) return 0;
  if (order->daemon) return refuse_word("mrcctl", "--daemon");
  if (order->apply) return refuse_word("mrcctl", "--apply");
  if (!order->files.empty()) return 0;
  std::fprintf(stderr, "mrcctl: map --join needs files that mrcctl map --json has written\n");
  return kCalledWrongly;
}

int map_failed(const std::string& what) {
  std::fprintf(stderr, "mrcctl: map: %s\n", what.c_str());
  return 1;
}

// Links of which nothing is known now are what they were found to be the last time.
void remember(const FabricVerdict& before, FabricVerdict* verdict) {
  const auto is_unknown = [&](const FabricLink& link) {
    if (link.other != 0) return verdict->unknown.contains(link);
    return std::any_of(verdict->unknown.begin(), verdict->unknown.end(), [&](const FabricLink& unknown) {
      return unknown.one == link.one || unknown.other == link.one;
    });
  };
  const auto is_named = [&](const FabricLink& link) {
    return std::any_of(verdict->bad.begin(), verdict->bad.end(),
                       [&](const BadLink& bad) { return bad.link == link; });
  };
  for (const BadLink& bad : before.bad)
    if (is_unknown(bad.link) && !is_named(bad.link)) verdict->bad.push_back(bad);
}

std::vector<FabricLink> links_of(const FabricVerdict& verdict) {
  std::vector<FabricLink> links;
  links.reserve(verdict.bad.size());
  for (const BadLink& bad : verdict.bad) links.push_back(bad.link);
  std::sort(links.begin(), links.end());
  return links;
}

void tell(const MapOrder& order, const FabricVerdict& verdict, const std::vector<RouteResult>& results,
          const FabricNames& names) {
  std::fputs(
      (order.json ? verdict_in_json(verdict, results, names) : verdict_in_words(verdict, names)).c_str(),
      stdout);
  std::fflush(stdout);
}

class Mapper {
 public:
  Mapper(OpenDevice& device, const MapOrder& order, const FabricNames& names)
      : device_(device), order_(order), names_(names) {}

  // One look at the fabric: 0, 1 if something is bad, or -1: it could not be done.
  int look() {
    FabricSurvey survey(
        device_, {order_.count, static_cast<Nanoseconds>(order_.seconds * static_cast<double>(kSecond))});
    if (!survey.has_routes()) {
      map_failed("the settings of " + device_.settings().name + " have no [srv6] and no port to a fabric");
      return -1;
    }
    if (const int error = survey.run(); error != 0) {
      device_failed("map", error);
      return -1;
    }
    const std::vector<RouteResult> results = survey.results();
    FabricVerdict verdict = judge_fabric(results, order_.tolerated_percent / 100);
    remember(before_, &verdict);
    const bool changed = first_ || links_of(verdict) != links_of(before_);
    if (!order_.daemon || changed || order_.json) tell(order_, verdict, results, names_);
    before_ = verdict;
    first_ = false;
    if (!act(verdict)) return -1;
    return verdict.bad.empty() ? 0 : 1;
  }

 private:
  bool act(const FabricVerdict& verdict) {
    std::string error;
    if (!order_.denylist.empty() && !write_denylist(order_.denylist, verdict, names_, &error)) {
      map_failed(error);
      return false;
    }
    if (!order_.apply) return true;
    const int why = deny_links(device_, MRCDV_LINKS_REPLACE, links_of(verdict));
    if (why != 0) device_failed("denied links", why);
    return why == 0;
  }

  OpenDevice& device_;
  const MapOrder& order_;
  const FabricNames& names_;
  FabricVerdict before_;
  bool first_ = true;
};

}  // namespace

int check_map_words(const std::vector<std::string>& words) {
  MapOrder order;
  return read_map_words(words, &order);
}

int map_command(OpenDevice& device, const std::vector<std::string>& words) {
  MapOrder order;
  FabricNames names;
  if (const int status = read_map_words(words, &order); status != 0) return status;
  if (!load_names(device.settings(), &names)) return 1;
  Mapper mapper(device, order, names);
  for (;;) {
    const int found = mapper.look();
    if (!order.daemon) return found < 0 ? 1 : found == 0 ? 0 : kFoundBad;
    const auto whole = static_cast<time_t>(order.interval);
    const timespec pause{whole, static_cast<long>((order.interval - static_cast<double>(whole)) * 1e9)};
    nanosleep(&pause, nullptr);
  }
}

bool joins_maps(const std::vector<std::string>& words) {
  return std::find(words.begin(), words.end(), "--join") != words.end();
}

int join_maps(const std::string& device_name, const std::vector<std::string>& words) {
  MapOrder order;
  FabricNames names;
  DeviceConfig settings;
  std::string error;
  if (const int status = read_map_words(words, &order); status != 0) return status;
  const bool loaded = device_name.empty() ? load_device_config(&settings, &error)
                                          : load_device_config(device_name, &settings, &error);
  if (!loaded) return map_failed(error);
  if (!load_names(settings, &names)) return 1;
  std::vector<RouteResult> results;
  for (const std::string& file : order.files) {
    std::ifstream from(file);
    const std::string text{std::istreambuf_iterator<char>(from), {}};
    if (!read_results(text, &results))
      return map_failed(file + ": is nothing that mrcctl map --json has written");
  }
  const FabricVerdict verdict = judge_fabric(results, order.tolerated_percent / 100);
  tell(order, verdict, results, names);
  if (!order.denylist.empty() && !write_denylist(order.denylist, verdict, names, &error))
    return map_failed(error);
  return verdict.bad.empty() ? 0 : kFoundBad;
}

}  // namespace mrc
