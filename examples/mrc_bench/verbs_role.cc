// SPDX-License-Identifier: BSD-2-Clause
#include "examples/mrc_bench/verbs_role.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "examples/shared/child_process.h"
#include "examples/shared/self_writer.h"

namespace mrc::bench {
namespace {

constexpr char kDevice[] = "mrc0";
constexpr size_t kRegionsUsed = 1000;

ibv_qp* make_pair(const OpenDevice& device, ibv_cq* queue) {
  ibv_qp_init_attr wanted{};
  wanted.qp_type = IBV_QPT_RC;
  wanted.send_cq = wanted.recv_cq = queue;
  wanted.cap = {4, 4, 1, 1, 0};
  ibv_qp* pair = ibv_create_qp(device.domain, &wanted);
  if (pair == nullptr) fail("ibv_create_qp");
  connect_to_self(device, pair);
  return pair;
}

ibv_cq* make_queue(const OpenDevice& device) {
  ibv_cq* queue = ibv_create_cq(device.context, 16, nullptr, nullptr, 0);
  if (queue == nullptr) fail("ibv_create_cq");
  return queue;
}

double setups_per_second(double seconds) {
  const OpenDevice device(kDevice);
  ibv_cq* queue = make_queue(device);
  const double since = seconds_now();
  uint64_t made = 0;
  for (; seconds_now() - since < seconds; ++made) ibv_destroy_qp(make_pair(device, queue));
  const double rate = static_cast<double>(made) / (seconds_now() - since);
  ibv_destroy_cq(queue);
  return rate;
}

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double all = 0;
  double resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double bytes_per_pair(size_t count) {
  const OpenDevice device(kDevice);
  ibv_cq* queue = make_queue(device);
  std::vector<ibv_qp*> pairs;
  pairs.reserve(count);
  const double before = resident_bytes();
  for (size_t i = 0; i < count; ++i) pairs.push_back(make_pair(device, queue));
  const double each = (resident_bytes() - before) / static_cast<double>(count);
  for (ibv_qp* pair : pairs) ibv_destroy_qp(pair);
  ibv_destroy_cq(queue);
  return each;
}

double registrations_per_second(size_t beside) {
  constexpr size_t kMeasured = 10'000;
  const OpenDevice device(kDevice);
  std::vector<uint8_t> memory(4096);
  const auto add = [&] {
    ibv_mr* region = ibv_reg_mr(device.domain, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
    if (region == nullptr) fail("ibv_reg_mr");
    return region;
  };
  std::vector<ibv_mr*> regions;
  regions.reserve(beside);
  for (size_t i = 0; i < beside; ++i) regions.push_back(add());
  const double since = seconds_now();
  for (size_t i = 0; i < kMeasured; ++i) ibv_dereg_mr(add());
  const double rate = kMeasured / (seconds_now() - since);
  for (ibv_mr* region : regions) ibv_dereg_mr(region);
  return rate;
}

}  // namespace

int run_verbs_role(int count, char** words) {
  const auto number = [&](int i) { return i < count ? std::atof(words[i]) : 0; };
  const auto whole = [&](int i) { return static_cast<size_t>(number(i)); };
  const std::string role = words[2];
  double result = 0;
  if (role == "threads")
    result = measure_threads(OpenDevice(kDevice), whole(3), whole(5), whole(4), number(6));
  else if (role == "setups")
    result = setups_per_second(number(3));
  else if (role == "pairs")
    result = bytes_per_pair(whole(3));
  else if (role == "regions")
    result = registrations_per_second(whole(3));
  else if (role == "lookups")
    result = measure_regions(OpenDevice(kDevice), whole(3), kRegionsUsed, number(4));
  else
    return -1;
  std::printf("%.6f\n", result);
  return 0;
}

}  // namespace mrc::bench
