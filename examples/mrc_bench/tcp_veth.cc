// SPDX-License-Identifier: BSD-2-Clause
#include <net/if.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "examples/mrc_bench/tcp.h"
#include "examples/shared/child_process.h"

namespace mrc::bench {
namespace {

// Nobody else sees them: the namespaces end with their programs.
constexpr char kInterface[] = "wire";
constexpr uint32_t kSender = 0x0A000001;  // 10.0.0.1
constexpr uint32_t kReceiver = kSender + 1;
constexpr double kPatience = 15;

using Words = std::vector<std::string>;

bool run_ip(const Words& words) {
  Words command = {"ip"};
  command.insert(command.end(), words.begin(), words.end());
  Process process(command, -1, kPatience);
  const std::string said = process.read_all();
  if (process.wait() == 0) return true;
  std::fprintf(stderr, "mrc_bench: ip %s: %s\n", words[0].c_str(), said.c_str());
  return false;
}

bool set_up(uint32_t address) {
  const std::string text = "10.0.0." + std::to_string(address & 0xFF) + "/24";
  return run_ip({"address", "add", text, "dev", kInterface}) && run_ip({"link", "set", kInterface, "up"});
}

int veth_receive() {
  std::printf("%d\n", getpid());
  std::fflush(stdout);
  for (const double until = seconds_now() + kPatience; if_nametoindex(kInterface) == 0;) {
    if (seconds_now() > until) return 1;
    usleep(1000);
  }
  return set_up(kReceiver) ? tcp_receive(kReceiver) : 1;
}

int veth_send(const std::string& program, double seconds) {
  Process receiver({"unshare", "--net", program, "--role", "veth-receive"}, -1, seconds + 2 * kPatience);
  std::string pid, port;
  if (!receiver.read_line(&pid) ||
      !run_ip({"link", "add", kInterface, "type", "veth", "peer", "name", kInterface, "netns", pid}) ||
      !set_up(kSender) || !receiver.read_line(&port))
    return 1;
  return tcp_send(kReceiver, static_cast<uint16_t>(std::atoi(port.c_str())), seconds);
}

}  // namespace

double tcp_veth_gigabits(const std::string& program, double seconds) {
  Words command = {"unshare", "--net", program, "--role", "veth", std::to_string(seconds)};
  // Who is not root is it in a user namespace, where the kernel lets him.
  if (geteuid() != 0) command.insert(command.begin() + 1, "--map-root-user");
  Process process(command, -1, seconds + 4 * kPatience);
  const std::string output = process.read_all();
  if (process.wait() == 0) return std::atof(output.c_str());
  std::fprintf(stderr, "mrc_bench: TCP over a veth failed: %s\n", output.c_str());
  return 0;
}

int run_veth_role(int count, char** words) {
  const std::string role = words[2];
  if (role == "veth-receive") return veth_receive();
  if (role == "veth" && count > 3) return veth_send(words[0], std::atof(words[3]));
  return -1;
}

}  // namespace mrc::bench
