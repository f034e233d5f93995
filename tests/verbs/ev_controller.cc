// SPDX-License-Identifier: BSD-2-Clause
// A controller that writes one explicit SRv6 profile and ends; the profile stays.
//   ev_controller PROFILE PORT=ADDRESS...
#include <arpa/inet.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/verbs/api_controller.h"

namespace {

mrc_context* open_first() {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  ibv_context* verbs = count > 0 ? ibv_open_device(devices[0]) : nullptr;
  return verbs != nullptr ? mrc_create_context(verbs, nullptr) : nullptr;
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) {
    std::fprintf(stderr, "usage: ev_controller PROFILE PORT=ADDRESS...\n");
    return 2;
  }
  std::vector<mrc_ctl_ev> evs;
  for (int i = 2; i < count; ++i) {
    mrc_ctl_ev ev{};
    char* rest = nullptr;
    ev.port = static_cast<uint8_t>(std::strtoul(words[i], &rest, 10));
    if (*rest != '=' || inet_pton(AF_INET6, rest + 1, ev.val) != 1) {
      std::fprintf(stderr, "ev_controller: %s is not PORT=ADDRESS\n", words[i]);
      return 2;
    }
    evs.push_back(ev);
  }
  const uint64_t id = std::strtoull(words[1], nullptr, 10);
  mrc_context* context = open_first();
  if (context == nullptr ||
      api_test::make_format(context, id, MRC_CTL_EV_FMT_MODE_SRV6, {{128}, {128}}) != 0 ||
      api_test::make_explicit(context, id, id, evs, 1) != 0) {
    std::perror("ev_controller");
    return 1;
  }
  std::printf("profile %s has %zu EVs\n", words[1], evs.size());
  return 0;
}
